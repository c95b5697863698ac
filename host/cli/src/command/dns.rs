//! `host dns`: serves the names of BOSH DNS to a deployment's pods, and in a pod that has its own server.

use super::signals::termination;
use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::ExitError;
use boson_dns::server::{self, PodSettings, Settings};
use boson_dns::upcheck;
use boson_manifest::dns::LINK_LOCAL;
use clap::{Args, Subcommand};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// BOSH DNS in pods.
#[derive(Subcommand, Debug)]
pub enum DnsCommand {
    /// Serve the names of a deployment: instances, queries and aliases, as BOSH DNS does; forward all other names
    Serve(ServeArguments),
    /// Serve DNS within a pod, at the addresses of BOSH DNS on a VM: ask the servers that the jobs' `dns/handlers.json`
    /// name for a domain, and the servers of the pod about all other names
    Pod(PodArguments),
    /// Check that a DNS server of Boson answers
    Check(CheckArguments),
}

/// Options of the DNS server of a pod
#[derive(Args, Debug)]
pub struct PodArguments {
    /// Directory with the rendered jobs
    #[arg(long, value_name = "DIR", default_value = "/var/vcap/jobs")]
    jobs: PathBuf,
    /// Add this address to the pod, and answer there; repeat it for several
    #[arg(long, value_name = "IP", default_values = LINK_LOCAL)]
    address: Vec<Ipv4Addr>,
    /// Port of the server
    #[arg(long, value_name = "PORT", default_value_t = 53)]
    port: u16,
    /// Ask the servers in this file, except the one of the pod, about all other names
    #[arg(long, value_name = "FILE", default_value = "/etc/resolv.conf")]
    resolv_conf: PathBuf,
}

/// The server to check
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Address of the server
    #[arg(value_name = "IP:PORT")]
    server: SocketAddr,
}

/// Options of the DNS server of a deployment
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// Read `zone.json` and alias files of jobs from this directory, and again when they change
    #[arg(long, value_name = "DIR", env = "BOSON_DNS_CONFIG", default_value = "/etc/boson/dns")]
    config: PathBuf,
    /// Address that serves DNS over UDP and TCP
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "BOSON_DNS_LISTEN",
        default_value = "0.0.0.0:5353"
    )]
    listen: SocketAddr,
    /// Address that serves /live, /ready and /metrics
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "BOSON_DNS_PROBE",
        default_value = "0.0.0.0:8080"
    )]
    probe: SocketAddr,
    /// Forward all other names to the servers in this file
    #[arg(long, value_name = "FILE", default_value = "/etc/resolv.conf")]
    resolv_conf: PathBuf,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub fn run(command: &DnsCommand) -> Result<(), ExitError> {
    match command {
        DnsCommand::Serve(arguments) => serve(arguments),
        DnsCommand::Pod(arguments) => serve_pod(arguments),
        DnsCommand::Check(arguments) => Ok(upcheck::wait(arguments.server, Duration::ZERO)?),
    }
}

fn serve_pod(arguments: &PodArguments) -> Result<(), ExitError> {
    let settings = PodSettings {
        jobs: arguments.jobs.clone(),
        addresses: arguments.address.clone(),
        port: arguments.port,
        resolv_conf: arguments.resolv_conf.clone(),
    };
    until_stopped(async { Ok(server::serve_pod(settings).await?) })
}

fn serve(arguments: &ServeArguments) -> Result<(), ExitError> {
    let settings = Settings {
        config: arguments.config.clone(),
        listen: arguments.listen,
        probe: arguments.probe,
        resolv_conf: arguments.resolv_conf.clone(),
    };
    until_stopped(async {
        let client = arguments.connection.client().await?;
        Ok(server::serve(settings, client).await?)
    })
}

fn until_stopped(server: impl Future<Output = anyhow::Result<()>>) -> Result<(), ExitError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = server => ended,
            () = termination() => Ok(()),
        }
    });
    runtime.shutdown_background();
    ended.map_err(|error| {
        tracing::error!("{error:#}");
        ExitError::Input
    })
}

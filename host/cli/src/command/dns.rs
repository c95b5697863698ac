//! `host dns serve`: serves the names of BOSH DNS to a deployment's pods.

use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::ExitError;
use boson_dns::server::{self, Settings};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// BOSH DNS in pods.
#[derive(Subcommand, Debug)]
pub enum DnsCommand {
    /// Serve the names of a deployment: instances, queries and aliases, as BOSH DNS does; forward all other names
    Serve(ServeArguments),
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
    let DnsCommand::Serve(arguments) = command;
    let settings = Settings {
        config: arguments.config.clone(),
        listen: arguments.listen,
        probe: arguments.probe,
        resolv_conf: arguments.resolv_conf.clone(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let ended: anyhow::Result<()> = runtime.block_on(async {
        let client = arguments.connection.client().await?;
        tokio::select! {
            ended = server::serve(settings, client) => Ok(ended?),
            () = termination() => Ok(()),
        }
    });
    runtime.shutdown_background();
    ended.map_err(|error| {
        tracing::error!("{error:#}");
        ExitError::Input
    })
}

/// SIGTERM from the kubelet, or ctrl-C.
async fn termination() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut term) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

//! `host dns serve`: answers questions about BOSH DNS names for a deployment's pods.

use crate::exit::Failed;
use boson_cluster::client::{Connection, connect};
use boson_dns::server::{self, Settings};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// BOSH DNS in pods.
#[derive(Subcommand, Debug)]
pub enum DnsCommand {
    /// Answer the names of a deployment: instances, queries and aliases, as BOSH DNS does; all others are forwarded
    Serve(ServeArguments),
}

/// What the Deployment `<deployment>-dns` runs
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// Directory with `zone.json`, and alias files of jobs; read again when they change
    #[arg(long, value_name = "DIR", env = "BOSON_DNS_CONFIG", default_value = "/etc/boson/dns")]
    config: PathBuf,
    /// Answer questions here, over UDP and TCP
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "BOSON_DNS_LISTEN",
        default_value = "0.0.0.0:5353"
    )]
    listen: SocketAddr,
    /// Answer /live, /ready and /metrics here
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "BOSON_DNS_PROBE",
        default_value = "0.0.0.0:8080"
    )]
    probe: SocketAddr,
    /// File that names the servers for all other names
    #[arg(long, value_name = "FILE", default_value = "/etc/resolv.conf")]
    resolv_conf: PathBuf,
    /// Kubeconfig [default: as kubectl finds it, or the pod's own account]
    #[arg(long, value_name = "FILE", env = "BOSON_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", env = "BOSON_CONTEXT", requires = "kubeconfig")]
    context: Option<String>,
}

pub fn run(command: &DnsCommand) -> Result<(), Failed> {
    let DnsCommand::Serve(arguments) = command;
    let settings = Settings {
        config: arguments.config.clone(),
        listen: arguments.listen,
        probe: arguments.probe,
        resolv_conf: arguments.resolv_conf.clone(),
    };
    let connection = match &arguments.kubeconfig {
        None => Connection::Default,
        Some(path) => Connection::File {
            path: path.clone(),
            context: arguments.context.clone(),
        },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let ended: anyhow::Result<()> = runtime.block_on(async {
        let client = connect(&connection).await.map_err(anyhow::Error::msg)?;
        tokio::select! {
            ended = server::serve(settings, client) => Ok(ended?),
            () = termination() => Ok(()),
        }
    });
    runtime.shutdown_background();
    ended.map_err(|error| {
        tracing::error!("{error:#}");
        Failed::Input
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

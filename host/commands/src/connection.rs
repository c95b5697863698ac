//! The connection to the API server, for all commands that need one.

use anyhow::Context;
use boson_cluster::client::{Client, Cluster, Connection, connect};
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the credentials come from.
#[derive(Args, Clone, Debug)]
pub struct ConnectionArguments {
    /// Kubeconfig [default: as kubectl finds it, or the pod's own account]
    #[arg(long, value_name = "FILE", env = "BOSON_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", env = "BOSON_CONTEXT")]
    context: Option<String>,
}

// === impl ConnectionArguments ===

impl ConnectionArguments {
    /// A client of that API server. Sends no request yet.
    pub async fn client(&self) -> anyhow::Result<Client> {
        let connection = match (&self.kubeconfig, &self.context) {
            (None, None) => Connection::Default,
            (path, context) => Connection::File {
                path: path.clone(),
                context: context.clone(),
            },
        };
        let client = connect(&connection).await.map_err(anyhow::Error::msg);
        client.context("cannot configure the connection to the API server")
    }

    /// The cluster, and the namespace in it: this one, or that of the kubeconfig's context.
    pub async fn cluster(&self, namespace: Option<&str>) -> anyhow::Result<(Cluster, String)> {
        let client = self.client().await?;
        let namespace = namespace.unwrap_or(client.default_namespace()).to_string();
        Ok((Cluster::new(client, Arc::default()), namespace))
    }
}

//! The way to the API server.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::PathBuf;

/// Where the credentials come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// As kubectl finds them, or as a pod of the cluster has them.
    #[default]
    Default,
    /// A kubeconfig, and the context in it that is not the current one.
    File {
        /// Its path.
        path: PathBuf,
        /// Name of the context.
        context: Option<String>,
    },
}

/// A client that repeats nothing by itself.
///
/// # Errors
/// No credentials, or a kubeconfig that cannot be read. Nothing is asked of the server yet.
pub async fn connect(connection: &Connection) -> Result<Client, String> {
    let mut config = match connection {
        Connection::Default => Config::infer().await.map_err(|error| error.to_string())?,
        Connection::File { path, context } => {
            let file = Kubeconfig::read_from(path).map_err(|error| error.to_string())?;
            let options = KubeConfigOptions {
                context: context.clone(),
                ..KubeConfigOptions::default()
            };
            let config = Config::from_custom_kubeconfig(file, &options).await;
            config.map_err(|error| error.to_string())?
        }
    };
    // kube would repeat 15 times, creates too, for minutes that no reconcile sees.
    config.default_retry = false;
    Client::try_from(config).map_err(|error| error.to_string())
}

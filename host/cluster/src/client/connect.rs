//! The connection to the API server.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::PathBuf;
use std::time::Duration;

/// Longest silence on a connection. The server ends a silent watch after 290 s, so this is longer; calls have their own
/// limit.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// Where the credentials come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// The default: like kubectl, or from the service account of the pod.
    #[default]
    Default,
    /// A kubeconfig, or another context than the current one.
    File {
        /// Its path. `None`: as kubectl finds it.
        path: Option<PathBuf>,
        context: Option<String>,
    },
}

/// A client without automatic retries.
///
/// # Errors
/// No credentials, or a kubeconfig that cannot be read. The server is not called yet.
pub async fn connect(connection: &Connection) -> Result<Client, String> {
    Client::try_from(config(connection).await?).map_err(|error| error.to_string())
}

async fn config(connection: &Connection) -> Result<Config, String> {
    let mut config = match connection {
        Connection::Default => Config::infer().await.map_err(|error| error.to_string())?,
        Connection::File { path, context } => {
            let file = match path {
                Some(path) => Kubeconfig::read_from(path),
                None => Kubeconfig::read(),
            };
            let file = file.map_err(|error| error.to_string())?;
            let options = KubeConfigOptions {
                context: context.clone(),
                ..KubeConfigOptions::default()
            };
            let config = Config::from_custom_kubeconfig(file, &options).await;
            config.map_err(|error| error.to_string())?
        }
    };
    // kube would retry 15 times, even creates, for minutes without a sign to the reconcile.
    config.default_retry = false;
    // Lists and first responses of watches have no other limit: on a dead connection they would wait for ever.
    config.read_timeout = Some(READ_TIMEOUT);
    // Else the idle time of a connection would count.
    config.reset_reader_on_write = true;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const FILE: &str = r"
{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {}}],
  clusters: [{name: a, cluster: {server: 'http://localhost'}}]}
";

    #[tokio::test]
    async fn nothing_waits_for_ever() {
        let path = std::env::temp_dir().join(format!("boson-connect-{}", std::process::id()));
        fs::write(&path, FILE).unwrap();
        let connection = Connection::File {
            path: Some(path.clone()),
            context: None,
        };
        let config = config(&connection).await;
        fs::remove_file(&path).unwrap();
        let config = config.unwrap();
        assert!(config.connect_timeout.is_some() && config.write_timeout.is_some());
        let watch = Duration::from_secs(290 + 5);
        assert!(
            config.read_timeout.is_some_and(|limit| limit > watch),
            "it would cut off quiet watches"
        );
        assert!(config.reset_reader_on_write && !config.default_retry);
    }
}

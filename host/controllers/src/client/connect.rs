//! The way to the API server.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::PathBuf;
use std::time::Duration;

/// Longest silence on a connection. Longer than a watch may be silent, whose server ends it after 290 s; calls have a limit of their own.
const SILENCE: Duration = Duration::from_secs(300);

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
    Client::try_from(config(connection).await?).map_err(|error| error.to_string())
}

async fn config(connection: &Connection) -> Result<Config, String> {
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
    // Lists of watchers, and what begins a watch, have no other limit: on a connection that died they would wait for ever.
    config.read_timeout = Some(SILENCE);
    // Else the time that a connection lay idle would count.
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
            path: path.clone(),
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

//! A client of the API server for tests that wait: it keeps its connection open.

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::PathBuf;
use std::sync::LazyLock;
use tokio::runtime::Runtime;

/// In the audit log, tests tell by it whether a request is of the operator or theirs.
const USER_AGENT: &str = "kubectl/tests";

static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
});

pub(super) async fn connect(kubeconfig: PathBuf) -> Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config
        .headers
        .push((http::header::USER_AGENT, http::HeaderValue::from_static(USER_AGENT)));
    // What fails is to fail in the test.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

/// A second time if there was no answer: the server may have ended the connection, for example because it restarted.
pub(super) fn twice<T, F>(ask: impl Fn() -> F) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = kube::Result<T>> + Send + 'static,
{
    let once = || {
        let answer = ask();
        finish(async move { Ok(answer.await) })
    };
    Ok(match once()? {
        Err(error) if !matches!(error, kube::Error::Api(_)) => once()??,
        answer => answer?,
    })
}

/// Also for tests that have a runtime, in which another one cannot be waited for.
pub(super) fn finish<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let runtime = RUNTIME.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    let (sender, receiver) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        let _ = sender.send(work.await);
    });
    receiver.recv().context("the request was ended")?
}

//! A client of the API server for tests that wait: it keeps its connection open.

use crate::runtime::finish;
use anyhow::Result;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::PathBuf;

/// In the audit log, tests tell by it whether a request is of the operator or theirs.
const USER_AGENT: &str = "kubectl/tests";

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

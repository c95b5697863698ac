//! The runtime of requests that tests make.

use anyhow::{Context, Result};
use std::sync::LazyLock;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
});

/// Also for tests that have a runtime, in which another one cannot be waited for.
pub(crate) fn finish<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let runtime = RUNTIME.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    let (sender, receiver) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        let _ = sender.send(work.await);
    });
    receiver.recv().context("the request was ended")?
}

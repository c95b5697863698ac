//! A task of the runtime that is cancelled when its future is dropped.

use std::panic::resume_unwind;
use tokio::task::JoinSet;

/// The result of work that runs as a task.
pub async fn spawned<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let mut tasks = JoinSet::new();
    tasks.spawn(work);
    match tasks.join_next().await {
        Some(Ok(result)) => result,
        Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
        // It is cancelled only on drop, or by the runtime, which drops this future, too.
        _ => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::oneshot;
    use tokio::time::{sleep, timeout};

    #[tokio::test]
    async fn a_dropped_task_ends() {
        assert_eq!(spawned(async { 7 }).await, 7);
        let (sender, receiver) = oneshot::channel::<()>();
        let work = spawned(async move {
            sleep(Duration::from_secs(3600)).await;
            drop(sender);
        });
        assert!(timeout(Duration::from_millis(10), work).await.is_err());
        assert!(receiver.await.is_err());
    }
}

//! A task of the runtime that is cancelled when its handle is dropped.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::task::JoinHandle;

#[derive(Debug)]
pub struct Spawned<T>(JoinHandle<T>);

// === impl Spawned ===

impl<T: Send + 'static> Spawned<T> {
    pub fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl<T> Future for Spawned<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match Pin::new(&mut self.0).poll(context) {
            Poll::Ready(Ok(result)) => Poll::Ready(result),
            Poll::Ready(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // It is cancelled only on drop, or by the runtime, which drops the handle, too.
                Err(_) => Poll::Pending,
            },
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn a_dropped_task_ends() {
        assert_eq!(Spawned::new(async { 7 }).await, 7);
        let (sender, receiver) = oneshot::channel::<()>();
        drop(Spawned::new(async move {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            drop(sender);
        }));
        assert!(receiver.await.is_err());
    }
}

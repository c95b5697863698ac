//! Tells followers that something has changed; what it is now they read themselves.

use futures::{Stream, stream};
use std::sync::Arc;
use tokio::sync::watch;

/// Changes of one thing. Clones are of the same thing.
#[derive(Clone, Debug, Default)]
pub struct Changes(Arc<watch::Sender<()>>);

// === impl Changes ===

impl Changes {
    pub fn notify(&self) {
        self.0.send_replace(());
    }

    /// An item at once, and one after each change. Changes in quick succession may be one item.
    ///
    /// # Guarantees
    /// No change is missed, even if it came before: who follows late would else wait for the next one.
    pub fn follow(&self) -> impl Stream<Item = ()> + Send + Sync + use<> {
        let mut receiver = self.0.subscribe();
        receiver.mark_changed();
        stream::unfold(receiver, |mut receiver| async move {
            receiver.changed().await.ok().map(|()| ((), receiver))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, StreamExt};
    use std::pin::pin;

    #[test]
    fn a_change_before_it_was_followed_is_not_missed() {
        let changes = Changes::default();
        changes.notify();
        let mut followed = pin!(changes.follow());
        assert_eq!(followed.next().now_or_never(), Some(Some(())));
        assert_eq!(followed.next().now_or_never(), None);
        changes.notify();
        changes.clone().notify();
        assert_eq!(followed.next().now_or_never(), Some(Some(())));
        assert_eq!(followed.next().now_or_never(), None);
    }
}

//! Keys that are made before anybody asks for them: of all that a first deployment waits for, they take longest.

use boson_credentials::{KeySize, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The size of certificates that ask for none.
const SIZE: KeySize = KeySize::Rsa3072;
/// Whoever took one has work for all cores.
const QUIET: Duration = Duration::from_secs(20);

/// Where new keys come from.
#[derive(Debug)]
pub(super) struct Keys {
    source: System,
    /// So many are kept ready.
    spare: usize,
    /// Some are being made.
    filling: AtomicBool,
}

// === impl Keys ===

impl Keys {
    pub fn new(spare: usize) -> Self {
        Self {
            source: System::new(),
            spare,
            filling: AtomicBool::new(false),
        }
    }

    pub fn source(&self) -> &System {
        &self.source
    }

    /// Makes what is missing, one after the other, beside everything else.
    pub fn fill(self: &Arc<Self>) {
        self.fill_after(Duration::ZERO);
    }

    /// The same when the work is done for which some were taken.
    pub fn refill(self: &Arc<Self>) {
        self.fill_after(QUIET);
    }

    fn fill_after(self: &Arc<Self>, pause: Duration) {
        if !self.lacks() || self.filling.swap(true, Ordering::Relaxed) {
            return;
        }
        let keys = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            while keys.lacks() {
                let making = keys.clone();
                let made = tokio::task::spawn_blocking(move || making.source.prepare(&[SIZE])).await;
                if !matches!(made, Ok(Ok(()))) {
                    // Then each is made when it is asked for, and what is wrong is told there.
                    break;
                }
            }
            keys.filling.store(false, Ordering::Relaxed);
        });
    }

    fn lacks(&self) -> bool {
        self.source.spare(SIZE) < self.spare
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_credentials::Source;
    use std::collections::BTreeSet;

    #[tokio::test]
    async fn each_is_handed_out_once_and_replaced() {
        let keys = Arc::new(Keys::new(1));
        let ready = async || {
            while keys.lacks() || keys.filling.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
        };
        let mut observed = BTreeSet::new();
        for _ in 0..2 {
            keys.fill();
            ready().await;
            observed.insert(keys.source().key(SIZE).unwrap().private_pem());
        }
        assert_eq!(observed.len(), 2);
        let none = Arc::new(Keys::new(0));
        none.fill();
        assert_eq!((none.lacks(), none.source.spare(SIZE)), (false, 0));
    }
}

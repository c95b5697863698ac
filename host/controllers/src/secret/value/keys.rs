//! Keys that are generated in advance: a first deployment would wait longest for them.

use boson_credentials::{KeySize, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The default key size of certificates.
const SPARE_KEY_SIZE: KeySize = KeySize::Rsa3072;
/// Pause after the start and after a key was taken: what the operator does at these times uses all cores. Many
/// operators of tests end before it is over.
pub const KEY_GENERATION_DELAY: Duration = Duration::from_secs(60);

/// Where new keys come from.
#[derive(Debug)]
pub struct Keys {
    pub source: System,
    /// How many keys are kept ready.
    spare: usize,
    /// Whether keys are being generated.
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

    /// Generates missing keys in the background after a pause, one after the other.
    pub fn fill_after(self: &Arc<Self>, pause: Duration) {
        if !self.lacks() || self.filling.swap(true, Ordering::Relaxed) {
            return;
        }
        let keys = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            while keys.lacks() {
                let making = keys.clone();
                let made = tokio::task::spawn_blocking(move || making.source.prepare(&[SPARE_KEY_SIZE])).await;
                if !matches!(made, Ok(Ok(()))) {
                    // Keys are then generated on demand, which reports the error.
                    break;
                }
            }
            keys.filling.store(false, Ordering::Relaxed);
        });
    }

    fn lacks(&self) -> bool {
        self.source.spare_keys(SPARE_KEY_SIZE) < self.spare
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_credentials::Source;
    use std::collections::BTreeSet;

    #[tokio::test]
    async fn each_key_is_given_out_once_and_replaced() {
        let keys = Arc::new(Keys::new(1));
        let ready = async || {
            while keys.lacks() || keys.filling.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
        };
        let mut observed = BTreeSet::new();
        for _ in 0..2 {
            keys.fill_after(Duration::ZERO);
            ready().await;
            observed.insert(keys.source.key(SPARE_KEY_SIZE).unwrap().private_pem());
        }
        assert_eq!(observed.len(), 2);
        let none = Arc::new(Keys::new(0));
        none.fill_after(Duration::ZERO);
        assert_eq!((none.lacks(), none.source.spare_keys(SPARE_KEY_SIZE)), (false, 0));
    }
}

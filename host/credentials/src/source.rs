//! Sources of time, randomness and new keys.

use crate::{ErrorKind, KeySize, RsaKey};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::SystemTime;

/// Clock, randomness and new keys.
pub trait Source {
    fn now(&self) -> SystemTime;
    /// Fills the bytes with randomness fit for secrets.
    ///
    /// # Errors
    /// [`ErrorKind::Entropy`].
    fn fill(&self, bytes: &mut [u8]) -> Result<(), ErrorKind>;
    /// A key that is returned only once.
    ///
    /// # Errors
    /// [`ErrorKind::Key`].
    fn key(&self, size: KeySize) -> Result<RsaKey, ErrorKind>;
}

/// The machine's clock and generator, with keys that may have been made ahead of time.
#[derive(Debug, Default)]
pub struct System {
    ready: Mutex<HashMap<KeySize, Vec<RsaKey>>>,
}

// === impl System ===

impl System {
    /// Creates a source without prepared keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many keys of this size are made ahead.
    pub fn spare_keys(&self, size: KeySize) -> usize {
        let ready = self.ready.lock();
        ready.get(&size).map_or(0, Vec::len)
    }

    /// Makes keys ahead, on as many threads as the machine has cores. Each is handed out once.
    ///
    /// # Errors
    /// [`ErrorKind::Key`].
    pub fn prepare(&self, demand: &[KeySize]) -> Result<(), ErrorKind> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let keys = prepare_keys(demand, threads)?;
        let mut ready = self.ready.lock();
        for key in keys {
            ready.entry(key.size()).or_default().push(key);
        }
        Ok(())
    }
}

impl Source for System {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<(), ErrorKind> {
        aws_lc_rs::rand::fill(bytes).map_err(|_| ErrorKind::Entropy)
    }

    fn key(&self, size: KeySize) -> Result<RsaKey, ErrorKind> {
        let ready = self.ready.lock().get_mut(&size).and_then(Vec::pop);
        ready.map_or_else(|| RsaKey::generate(size), Ok)
    }
}

/// Makes these keys on that many threads; in no particular order.
///
/// # Errors
/// [`ErrorKind::Key`].
pub fn prepare_keys(demand: &[KeySize], threads: usize) -> Result<Vec<RsaKey>, ErrorKind> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<RsaKey>, ErrorKind> {
        let mut keys = Vec::new();
        while let Some(size) = demand.get(next.fetch_add(1, Ordering::Relaxed)) {
            keys.push(RsaKey::generate(*size)?);
        }
        Ok(keys)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(demand.len())).map(|_| scope.spawn(work)).collect();
        let mut keys = Vec::with_capacity(demand.len());
        for worker in workers {
            keys.extend(worker.join().map_err(|_| ErrorKind::Key("a thread died"))??);
        }
        Ok(keys)
    })
}

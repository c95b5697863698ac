//! A counting lock in front of the instance pool: an exhausted pool is an error, a busy one only a wait.

use std::sync::{Condvar, Mutex, PoisonError};

/// Free places.
pub(crate) struct Slots {
    free: Mutex<u32>,
    freed: Condvar,
}

/// A place held; given back on drop.
pub(crate) struct Slot<'s>(&'s Slots);

// === impl Slots ===

impl Slots {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            free: Mutex::new(count),
            freed: Condvar::new(),
        }
    }

    /// Waits for a place.
    pub(crate) fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self
            .freed
            .wait_while(free, |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }
}

// === impl Slot ===

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

//! The budget for threads, which wait for shares and return them.

use crate::class::Class;
use crate::container;
use crate::ledger::Ledger;
use crate::plan::{Plan, Sharing};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::fmt;
use std::sync::Arc;

/// The budget of a process. Copies share it.
#[derive(Clone)]
pub struct Budget(Arc<Inner>);

struct Inner {
    ledger: Mutex<Ledger>,
    changed: Condvar,
}

/// A part of the budget; returned on drop.
#[must_use = "it is given back at once"]
pub struct Share {
    budget: Budget,
    class: Class,
    holder: Arc<str>,
    bytes: u64,
}

/// A request for more than a holder may ever have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} bytes are needed, and there are at most {most}")]
pub struct Error {
    /// The request, in bytes.
    pub wanted: u64,
    /// The maximum, in bytes.
    pub most: u64,
}

// === impl Budget ===

impl Budget {
    /// Creates the budget of a command of one user, who may use `memory` bytes.
    pub fn of_one(memory: u64) -> Self {
        Self::new(Plan::new(memory, 1, Sharing::One))
    }

    /// Creates the budget of a process that serves many namespaces on this many cores. No namespace gets more than half
    /// of a class.
    pub fn of_many(memory: u64, cores: usize) -> Self {
        Self::new(Plan::new(memory, cores, Sharing::Namespaces))
    }

    fn new(plan: Plan) -> Self {
        Self(Arc::new(Inner {
            ledger: Mutex::new(Ledger::new(plan)),
            changed: Condvar::new(),
        }))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock()
    }

    /// Waits for a share. Blocks the thread.
    ///
    /// # Errors
    /// It is more than `holder` may ever have of this class.
    pub fn hold(&self, class: Class, holder: &Arc<str>, bytes: u64) -> Result<Share, Error> {
        let most = self.holder_limit(class);
        if bytes > most {
            return Err(Error { wanted: bytes, most });
        }
        let mut ledger = self.ledger();
        let ticket = ledger.ask(class, holder, bytes);
        while !ledger.take(ticket) {
            self.0.changed.wait(&mut ledger);
        }
        drop(ledger);
        Ok(self.share(class, holder, bytes))
    }

    /// A share, if it is available now. For data without a known lifetime, for which waiting could take forever.
    pub fn try_hold(&self, class: Class, holder: &Arc<str>, bytes: u64) -> Option<Share> {
        let taken = self.ledger().try_take(class, holder, bytes);
        taken.then(|| self.share(class, holder, bytes))
    }

    /// A share that the ledger has counted.
    fn share(&self, class: Class, holder: &Arc<str>, bytes: u64) -> Share {
        Share {
            budget: self.clone(),
            class,
            holder: holder.clone(),
            bytes,
        }
    }

    /// Bytes of a class that one holder may have.
    pub fn holder_limit(&self, class: Class) -> u64 {
        self.ledger().plan().holder_limit(class)
    }

    /// Bytes that one call of a plugin may have.
    pub fn largest_call(&self) -> u64 {
        self.ledger().plan().largest_call()
    }

    /// Calls that may run at a time.
    pub fn places(&self) -> u32 {
        self.ledger().plan().places
    }

    /// All of it, in bytes.
    pub fn bytes(&self) -> u64 {
        self.ledger().plan().bytes
    }

    /// Bytes that are held now.
    pub fn held(&self) -> u64 {
        self.ledger().total()
    }
}

impl Default for Budget {
    /// The budget of a command of one user, from the container's limit.
    fn default() -> Self {
        Self::of_one(container::memory())
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Budget({} of {} bytes held)", self.held(), self.bytes())
    }
}

// === impl Share ===

impl Share {
    /// Bytes that it holds.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Grows the share, if memory is available now. It never waits, because it would wait while it holds a share.
    pub fn grow(&mut self, bytes: u64) -> bool {
        let grown = self.budget.ledger().grow(self.class, &self.holder, bytes);
        if grown {
            self.bytes += bytes;
        }
        grown
    }

    /// Returns all but `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        let Some(less) = self.bytes.checked_sub(bytes) else {
            return;
        };
        self.bytes = bytes;
        self.budget.ledger().shrink(self.class, &self.holder, less);
        self.budget.0.changed.notify_all();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.ledger().give_back(self.class, &self.holder, self.bytes);
        self.budget.0.changed.notify_all();
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Share({:?}, {} bytes)", self.class, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::MIB;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    #[test]
    fn threads_never_hold_more_than_there_is() {
        let budget = Budget::of_many(1 << 30, 8);
        let held = AtomicU64::new(0);
        thread::scope(|scope| {
            for nth in 0..24_u64 {
                let (budget, held) = (budget.clone(), &held);
                scope.spawn(move || {
                    let holder: Arc<str> = format!("n{}", nth % 4).into();
                    for _ in 0..50 {
                        let mut share = budget.hold(Class::Call, &holder, (1 + nth) * MIB).unwrap();
                        let now = held.fetch_add(share.bytes(), Ordering::SeqCst) + share.bytes();
                        assert!(now <= budget.bytes());
                        if share.grow(MIB) {
                            held.fetch_add(MIB, Ordering::SeqCst);
                        }
                        held.fetch_sub(share.bytes(), Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn what_can_never_be_had_is_refused_at_once() {
        let budget = Budget::of_many(2 << 30, 2);
        let holder: Arc<str> = "n".into();
        let most = budget.holder_limit(Class::Documents);
        let excess = budget.hold(Class::Documents, &holder, most + 1).unwrap_err();
        assert_eq!((excess.wanted, excess.most), (most + 1, most));
        let mut share = budget.hold(Class::Documents, &holder, most).unwrap();
        assert!(!share.grow(1));
        share.shrink_to(MIB);
        assert!(share.grow(MIB));
        assert_eq!(budget.held(), 2 * MIB);
    }
}

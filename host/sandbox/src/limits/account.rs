//! The fuel account of a conversion: its holder, and the fuel that all its calls may use together.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The account of a conversion or a command. Its calls may run on several threads.
#[derive(Debug)]
pub struct Account {
    pub(crate) holder: Arc<str>,
    pub(crate) fuel: u64,
    spent: AtomicU64,
    /// Time of all calls together, after which no call begins.
    time: Duration,
    /// Microseconds of all calls so far.
    took: AtomicU64,
}

thread_local! {
    /// Fuel of all calls that this thread has made.
    static THREAD_FUEL: Cell<u64> = const { Cell::new(0) };
}

// === impl Account ===

impl Account {
    /// Creates the account of `holder`, a namespace, whose calls may use this many units of fuel together.
    pub fn new(holder: &str, fuel: u64) -> Self {
        Self {
            holder: holder.into(),
            fuel,
            spent: AtomicU64::new(0),
            time: Duration::MAX,
            took: AtomicU64::new(0),
        }
    }

    /// Lets no call begin after the calls before have taken this time together.
    #[must_use]
    pub fn with_timeout(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Creates an account for single calls, each with its own limit only.
    pub fn unbounded() -> Self {
        Self::new("", u64::MAX)
    }

    /// Whether no fuel or no time is left.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed) > self.fuel
            || Duration::from_micros(self.took.load(Ordering::Relaxed)) > self.time
    }

    /// Records the time of a call.
    pub(crate) fn take(&self, elapsed: Duration) {
        let elapsed = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.took.fetch_add(elapsed, Ordering::Relaxed);
    }

    /// Records the fuel of a call; false if the account is exceeded. So a conversion fails if and only if its calls use
    /// more than the limit, in whatever order they run.
    pub(crate) fn spend(&self, fuel: u64) -> bool {
        THREAD_FUEL.set(THREAD_FUEL.get().saturating_add(fuel));
        let before = self.spent.fetch_add(fuel, Ordering::Relaxed);
        before.saturating_add(fuel) <= self.fuel
    }
}

/// Fuel of all calls that this thread has made: the difference is the cost of a part of a conversion.
pub(crate) fn spent_here() -> u64 {
    THREAD_FUEL.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_in_any_order_is_too_much_or_not() {
        let account = Account::new("n", 10);
        let before = spent_here();
        assert!(account.spend(4) && account.spend(6) && !account.is_spent());
        assert!(!account.spend(1) && account.is_spent());
        assert_eq!(spent_here() - before, 11);
        assert!(Account::unbounded().spend(u64::MAX - 1));
        let limited = Account::new("n", 10).with_timeout(Duration::from_secs(1));
        limited.take(Duration::from_secs(1));
        assert!(!limited.is_spent());
        limited.take(Duration::from_millis(1));
        assert!(limited.is_spent());
    }
}

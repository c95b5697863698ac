//! Slots for converting or reviewing deployments, shared fairly between namespaces. No namespace holds all of them, and
//! of the namespaces that wait, the one with fewer slots is next. So a namespace with many deployments does not delay
//! the others.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A namespace that asked and got no slot counts as waiting for this long. It asks again at shorter intervals, unless
/// its deployment is deleted.
const WAITER_TIMEOUT: Duration = Duration::from_secs(3);
/// Between two attempts to get a slot.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Slots that namespaces share. Clones share them, too.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    total: usize,
    per_namespace: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Slots by namespace; each holds at least one.
    held: BTreeMap<String, usize>,
    /// When a namespace last got none.
    waiting: BTreeMap<String, Instant>,
}

/// A slot; released on drop.
#[derive(Debug)]
#[must_use = "it is released at once"]
pub(crate) struct Slot {
    slots: Slots,
    namespace: String,
}

// === impl Slots ===

impl Slots {
    /// At most half of the slots for a namespace, and at least one.
    pub(crate) fn shared(total: usize) -> Self {
        Self::new(total, total / 2)
    }

    /// All slots for the only namespace.
    pub(crate) fn of_one(total: usize) -> Self {
        Self::new(total, total)
    }

    fn new(total: usize, per_namespace: usize) -> Self {
        Self {
            total: total.max(1),
            per_namespace: per_namespace.max(1),
            state: Arc::default(),
        }
    }

    /// A slot for this namespace, unless it holds its share already, none is free, or another namespace with fewer
    /// slots waits.
    pub(crate) fn acquire(&self, namespace: &str, now: Instant) -> Option<Slot> {
        let mut state = self.state.lock();
        let held = state.held_by(namespace);
        if held >= self.per_namespace {
            return None;
        }
        state
            .waiting
            .retain(|_, since| now.saturating_duration_since(*since) < WAITER_TIMEOUT);
        let is_full = state.held.values().sum::<usize>() >= self.total;
        if is_full || state.waiting.keys().any(|other| state.held_by(other) < held) {
            state.waiting.insert(namespace.to_string(), now);
            return None;
        }
        state.waiting.remove(namespace);
        *state.held.entry(namespace.to_string()).or_default() += 1;
        Some(Slot {
            slots: self.clone(),
            namespace: namespace.to_string(),
        })
    }

    /// The next slot for this namespace. The caller limits the time.
    pub(crate) async fn next(&self, namespace: &str) -> Slot {
        loop {
            match self.acquire(namespace, Instant::now()) {
                Some(slot) => return slot,
                None => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
}

// === impl State ===

impl State {
    fn held_by(&self, namespace: &str) -> usize {
        self.held.get(namespace).copied().unwrap_or_default()
    }
}

// === impl Slot ===

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.slots.state.lock();
        if let Some(count) = state.held.get_mut(&self.namespace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                state.held.remove(&self.namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_half_of_the_slots() {
        let (slots, now) = (Slots::shared(4), Instant::now());
        let held = [slots.acquire("a", now), slots.acquire("a", now)];
        assert!(held.iter().all(Option::is_some));
        assert!(slots.acquire("a", now).is_none(), "the other half is for others");
        let other = slots.acquire("b", now);
        assert!(other.is_some());
        drop(held);
        assert!(slots.acquire("a", now).is_some());
        drop(other);
        assert!(
            slots.state.lock().held.is_empty(),
            "an ended conversion still holds a slot"
        );
        assert!(Slots::shared(1).acquire("a", now).is_some());
    }

    #[test]
    fn all_namespaces_together_have_no_more_than_the_slots() {
        let (slots, now) = (Slots::shared(2), Instant::now());
        let (one, other) = (slots.acquire("a", now), slots.acquire("b", now));
        assert!(one.is_some() && other.is_some());
        assert!(slots.acquire("c", now).is_none());
        let all = Slots::of_one(2);
        let both = [all.acquire("a", now), all.acquire("a", now)];
        assert!(both.iter().all(Option::is_some) && all.acquire("a", now).is_none());
    }

    #[test]
    fn the_waiting_namespace_with_fewer_slots_is_next() {
        let (slots, now) = (Slots::shared(4), Instant::now());
        let mut held: Vec<Option<Slot>> = ["a", "a", "b", "b"].map(|name| slots.acquire(name, now)).into();
        assert!(slots.acquire("c", now).is_none());
        held.pop();
        assert!(slots.acquire("b", now).is_none(), "it would overtake");
        assert!(slots.acquire("c", now).is_some());
    }

    #[test]
    fn a_namespace_that_no_longer_asks_delays_no_other() {
        let (slots, now) = (Slots::shared(4), Instant::now());
        let mut held: Vec<Option<Slot>> = ["a", "a", "b", "b"].map(|name| slots.acquire(name, now)).into();
        assert!(slots.acquire("c", now).is_none());
        held.pop();
        assert!(slots.acquire("b", now + WAITER_TIMEOUT).is_some());
    }
}

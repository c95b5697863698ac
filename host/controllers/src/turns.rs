//! Fair shares of the places in which deployments are converted or reviewed. A namespace never holds all of them, and
//! of those that wait, the one that holds fewer places is next, so a namespace with many deployments does not delay the
//! others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A namespace that asked and got no place counts as waiting for this long. It asks again at shorter intervals, unless
/// its deployment is deleted.
const WAITS: Duration = Duration::from_secs(3);

/// Places, shared by namespaces. Copies share them, too.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    places: usize,
    places_of_one: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Places that a namespace holds; more than none.
    held: BTreeMap<String, usize>,
    /// When a namespace last asked in vain.
    waiting: BTreeMap<String, Instant>,
}

/// A place; given back on drop.
#[derive(Debug)]
#[must_use = "it is given back at once"]
pub(crate) struct Turn {
    turns: Turns,
    namespace: String,
}

// === impl Turns ===

impl Turns {
    /// Half of the places for each namespace; at least one.
    pub(crate) fn shared(places: usize) -> Self {
        Self::new(places, places / 2)
    }

    /// All places for the only namespace.
    pub(crate) fn of_one(places: usize) -> Self {
        Self::new(places, places)
    }

    fn new(places: usize, places_of_one: usize) -> Self {
        Self {
            places: places.max(1),
            places_of_one: places_of_one.max(1),
            state: Arc::default(),
        }
    }

    /// A place for this namespace, unless it holds its share already, no place is free, or another namespace with fewer
    /// places waits.
    pub(crate) fn take(&self, namespace: &str, now: Instant) -> Option<Turn> {
        let mut state = self.state();
        let held = state.held_by(namespace);
        if held >= self.places_of_one {
            return None;
        }
        state
            .waiting
            .retain(|_, since| now.saturating_duration_since(*since) < WAITS);
        let is_full = state.held.values().sum::<usize>() >= self.places;
        if is_full || state.waiting.keys().any(|other| state.held_by(other) < held) {
            state.waiting.insert(namespace.to_string(), now);
            return None;
        }
        state.waiting.remove(namespace);
        *state.held.entry(namespace.to_string()).or_default() += 1;
        Some(Turn {
            turns: self.clone(),
            namespace: namespace.to_string(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn held_by(&self, namespace: &str) -> usize {
        self.held.get(namespace).copied().unwrap_or_default()
    }
}

// === impl Turn ===

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.state();
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
    fn a_namespace_has_half_of_the_places() {
        let (turns, now) = (Turns::shared(4), Instant::now());
        let held = [turns.take("a", now), turns.take("a", now)];
        assert!(held.iter().all(Option::is_some));
        assert!(turns.take("a", now).is_none(), "the other half is for others");
        let other = turns.take("b", now);
        assert!(other.is_some());
        drop(held);
        assert!(turns.take("a", now).is_some());
        drop(other);
        assert!(turns.state().held.is_empty(), "an ended conversion still holds a place");
        assert!(Turns::shared(1).take("a", now).is_some());
    }

    #[test]
    fn all_namespaces_together_have_no_more_than_the_places() {
        let (turns, now) = (Turns::shared(2), Instant::now());
        let (one, other) = (turns.take("a", now), turns.take("b", now));
        assert!(one.is_some() && other.is_some());
        assert!(turns.take("c", now).is_none());
        let all = Turns::of_one(2);
        let both = [all.take("a", now), all.take("a", now)];
        assert!(both.iter().all(Option::is_some) && all.take("a", now).is_none());
    }

    #[test]
    fn the_waiting_namespace_with_fewer_places_is_next() {
        let (turns, now) = (Turns::shared(4), Instant::now());
        let mut held: Vec<Option<Turn>> = ["a", "a", "b", "b"].map(|name| turns.take(name, now)).into();
        assert!(turns.take("c", now).is_none());
        held.pop();
        assert!(turns.take("b", now).is_none(), "it would overtake");
        assert!(turns.take("c", now).is_some());
    }

    #[test]
    fn a_namespace_that_no_longer_asks_delays_no_other() {
        let (turns, now) = (Turns::shared(4), Instant::now());
        let mut held: Vec<Option<Turn>> = ["a", "a", "b", "b"].map(|name| turns.take(name, now)).into();
        assert!(turns.take("c", now).is_none());
        held.pop();
        assert!(turns.take("b", now + WAITS).is_some());
    }
}

//! Shares that are held, waiting requests, and their order. Pure: no threads, no clock.
//!
//! Documents and releases are held for a whole conversion, calls for a short time. A conversion that holds its
//! documents waits for calls, and a call never waits while it holds a share. So memory for documents is promised as
//! soon as it is available in their class, calls cannot use promised memory, and neither can starve the other.

use crate::class::Class;
use crate::plan::Plan;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) type Ticket = u64;

#[derive(Debug)]
struct Request {
    ticket: Ticket,
    class: Class,
    holder: Arc<str>,
    bytes: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// Counted for its class; waits for calls to end.
    Promised,
    Granted,
}

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    bytes: u64,
    shares: u32,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    plan: Plan,
    /// Usage of each class, including promised memory.
    classes: BTreeMap<Class, Used>,
    holders: BTreeMap<(Class, Arc<str>), Used>,
    /// Promised and not granted yet.
    promised: u64,
    /// In order of arrival.
    requests: Vec<Request>,
    next: Ticket,
}

// === impl Used ===

impl Used {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.shares += 1;
    }

    fn remove(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.shares = self.shares.saturating_sub(1);
    }
}

// === impl Ledger ===

impl Ledger {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            classes: BTreeMap::new(),
            holders: BTreeMap::new(),
            promised: 0,
            requests: Vec::new(),
            next: 0,
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Adds a request; see [`Self::take`]. One for more than a holder may have is never granted: check it first.
    pub fn ask(&mut self, class: Class, holder: &Arc<str>, bytes: u64) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        self.requests.push(Request {
            ticket,
            class,
            holder: holder.clone(),
            bytes,
            state: State::Waiting,
        });
        self.dispatch();
        ticket
    }

    /// Takes the requested share, once it is granted.
    pub fn take(&mut self, ticket: Ticket) -> bool {
        let granted = |one: &mut Request| one.ticket == ticket && one.state == State::Granted;
        self.requests.extract_if(.., granted).next().is_some()
    }

    /// Takes a share, if it is available now.
    pub fn try_take(&mut self, class: Class, holder: &Arc<str>, bytes: u64) -> bool {
        let taken = self.grow(class, holder, bytes);
        if taken {
            self.classes.entry(class).or_default().shares += 1;
            self.holders.entry((class, holder.clone())).or_default().shares += 1;
        }
        taken
    }

    /// Grows a share, if memory is available now. Takes precedence over waiting requests: a call that can grow ends
    /// sooner.
    pub fn grow(&mut self, class: Class, holder: &Arc<str>, bytes: u64) -> bool {
        let fits = self.fits_holder(class, holder, bytes)
            && self.used(class).saturating_add(bytes) <= self.plan.limit(class)
            && self.total().saturating_add(bytes) <= self.plan.bytes;
        if fits {
            self.classes.entry(class).or_default().bytes += bytes;
            self.holders.entry((class, holder.clone())).or_default().bytes += bytes;
        }
        fits
    }

    /// Takes a part of a share back.
    pub fn shrink(&mut self, class: Class, holder: &Arc<str>, bytes: u64) {
        for used in [
            self.classes.entry(class).or_default(),
            self.holders.entry((class, holder.clone())).or_default(),
        ] {
            used.bytes = used.bytes.saturating_sub(bytes);
        }
        self.dispatch();
    }

    /// Takes a whole share back.
    pub fn give_back(&mut self, class: Class, holder: &Arc<str>, bytes: u64) {
        self.classes.entry(class).or_default().remove(bytes);
        let key = (class, holder.clone());
        let used = self.holders.entry(key.clone()).or_default();
        used.remove(bytes);
        if used.shares == 0 {
            self.holders.remove(&key);
        }
        self.dispatch();
    }

    /// Bytes that are held or promised.
    pub fn total(&self) -> u64 {
        self.classes.values().map(|used| used.bytes).sum()
    }

    fn used(&self, class: Class) -> u64 {
        self.classes.get(&class).map_or(0, |used| used.bytes)
    }

    fn of_holder(&self, class: Class, holder: &Arc<str>) -> Used {
        self.holders.get(&(class, holder.clone())).copied().unwrap_or_default()
    }

    fn fits_holder(&self, class: Class, holder: &Arc<str>, bytes: u64) -> bool {
        self.of_holder(class, holder).bytes.saturating_add(bytes) <= self.plan.holder_limit(class)
    }

    // --- who is next ---

    fn dispatch(&mut self) {
        self.promise_memory();
        self.grant_promised();
        self.grant_calls();
        self.grant_compiling();
    }

    /// Waiting requests and their places, sorted by the shares that their holders have, then in order of arrival.
    fn waiting(&self, class: Class) -> Vec<(usize, &Request)> {
        let waits = |one: &Request| one.state == State::Waiting && one.class == class;
        let all = self.requests.iter().enumerate();
        let mut found: Vec<(usize, &Request)> = all.filter(|(_, one)| waits(one)).collect();
        found.sort_by_key(|(_, one)| (self.of_holder(class, &one.holder).shares, one.ticket));
        found
    }

    fn count(&mut self, at: usize, state: State) {
        let Some(one) = self.requests.get_mut(at) else { return };
        one.state = state;
        self.classes.entry(one.class).or_default().add(one.bytes);
        self.holders
            .entry((one.class, one.holder.clone()))
            .or_default()
            .add(one.bytes);
    }

    /// Documents and releases are counted as soon as they fit into their class, regardless of what calls hold.
    fn promise_memory(&mut self) {
        for class in [Class::Reading, Class::Documents, Class::Releases] {
            while let Some(at) = self.next_grantable(class) {
                self.promised += self.requests.get(at).map_or(0, |one| one.bytes);
                self.count(at, State::Promised);
            }
        }
    }

    /// The next one of this class: the first that its holder may have, if it fits. A request larger than the available
    /// memory blocks later ones.
    fn next_grantable(&self, class: Class) -> Option<usize> {
        let mut next = self.waiting(class).into_iter();
        let (at, one) = next.find(|(_, one)| self.fits_holder(class, &one.holder, one.bytes))?;
        (self.used(class).saturating_add(one.bytes) <= self.plan.limit(class)).then_some(at)
    }

    fn grant_promised(&mut self) {
        for one in self.requests.iter_mut().filter(|one| one.state == State::Promised) {
            let held = self.classes.values().map(|used| used.bytes).sum::<u64>() - self.promised;
            if held.saturating_add(one.bytes) > self.plan.bytes {
                return;
            }
            self.promised -= one.bytes;
            one.state = State::Granted;
        }
    }

    fn grant_calls(&mut self) {
        while let Some(at) = self.next_call() {
            self.count(at, State::Granted);
        }
    }

    /// The next call: the first whose holder may have one more, if memory and a slot are available.
    fn next_call(&self) -> Option<usize> {
        let running = self.classes.get(&Class::Call).map_or(0, |used| used.shares);
        if running >= self.plan.places {
            return None;
        }
        let may = |one: &Request| {
            self.of_holder(Class::Call, &one.holder).shares < self.plan.places_of_one()
                && self.fits_holder(Class::Call, &one.holder, one.bytes)
        };
        let (at, one) = self.waiting(Class::Call).into_iter().find(|(_, one)| may(one))?;
        // A request larger than the available memory blocks later ones: otherwise small calls could overtake it
        // forever.
        (self.total().saturating_add(one.bytes) <= self.plan.bytes).then_some(at)
    }

    fn grant_compiling(&mut self) {
        let waiting = self.waiting(Class::Compiling).into_iter();
        for (at, bytes) in waiting.map(|(at, one)| (at, one.bytes)).collect::<Vec<_>>() {
            let fits = self.used(Class::Compiling).saturating_add(bytes) <= self.plan.limit(Class::Compiling);
            if fits && self.total().saturating_add(bytes) <= self.plan.bytes {
                self.count(at, State::Granted);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{MIB, Sharing};

    /// 1280 MiB, four places.
    fn ledger() -> Ledger {
        Ledger::new(Plan::new(2 << 30, 2, Sharing::Namespaces))
    }

    fn holder(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn a_namespace_has_half_of_the_places_and_the_other_half_is_free_for_others() {
        let mut ledger = ledger();
        let greedy: Vec<Ticket> = (0..20).map(|_| ledger.ask(Class::Call, &holder("a"), MIB)).collect();
        let running = greedy.iter().filter(|ticket| ledger.take(**ticket)).count();
        assert_eq!(running, 2);
        let other = ledger.ask(Class::Call, &holder("b"), MIB);
        assert!(ledger.take(other), "there is a place for another holder");
        ledger.give_back(Class::Call, &holder("a"), MIB);
        let running = greedy.iter().filter(|ticket| ledger.take(**ticket)).count();
        assert_eq!(running, 1, "the next of the first ones");
    }

    #[test]
    fn of_two_that_wait_the_one_with_less_is_next() {
        let mut ledger = ledger();
        for name in ["a", "a", "b", "b"] {
            let ticket = ledger.ask(Class::Call, &holder(name), MIB);
            assert!(ledger.take(ticket));
        }
        let (again, first) = (
            ledger.ask(Class::Call, &holder("b"), MIB),
            ledger.ask(Class::Call, &holder("c"), MIB),
        );
        ledger.give_back(Class::Call, &holder("b"), MIB);
        assert!(!ledger.take(again) && ledger.take(first));
    }

    #[test]
    fn a_large_call_is_not_passed_by_for_ever() {
        let mut ledger = ledger();
        for (name, bytes) in [("a", 500), ("b", 500)] {
            let ticket = ledger.ask(Class::Call, &holder(name), bytes * MIB);
            assert!(ledger.take(ticket));
        }
        let large = ledger.ask(Class::Call, &holder("c"), 512 * MIB);
        let small = ledger.ask(Class::Call, &holder("d"), MIB);
        assert!(!ledger.take(large) && !ledger.take(small), "it would pass by");
        ledger.give_back(Class::Call, &holder("a"), 500 * MIB);
        assert!(ledger.take(large) && ledger.take(small));
    }

    #[test]
    fn documents_wait_for_calls_and_calls_do_not_pass_them() {
        let mut ledger = ledger();
        for name in ["a", "b"] {
            let ticket = ledger.ask(Class::Call, &holder(name), 600 * MIB);
            assert!(ledger.take(ticket));
        }
        let documents = ledger.ask(Class::Documents, &holder("c"), 200 * MIB);
        assert!(!ledger.take(documents), "calls hold nearly all");
        ledger.give_back(Class::Call, &holder("a"), 600 * MIB);
        let call = ledger.ask(Class::Call, &holder("d"), 500 * MIB);
        assert!(ledger.take(documents) && !ledger.take(call));
        assert!(ledger.total() <= 1280 * MIB);
    }

    #[test]
    fn documents_leave_room_for_the_largest_call() {
        let mut ledger = ledger();
        let mut held = 0;
        for nth in 0..100 {
            let ticket = ledger.ask(Class::Documents, &holder(&format!("n{nth}")), 30 * MIB);
            held += u64::from(ledger.take(ticket));
        }
        assert_eq!(held, 448 / 30);
        let call = ledger.ask(Class::Call, &holder("n0"), ledger.plan().largest_call());
        assert!(ledger.take(call));
    }

    #[test]
    fn a_call_grows_as_long_as_there_is_room() {
        let mut ledger = ledger();
        let call = ledger.ask(Class::Call, &holder("a"), 100 * MIB);
        assert!(ledger.take(call));
        assert!(ledger.grow(Class::Call, &holder("a"), 500 * MIB));
        assert!(!ledger.grow(Class::Call, &holder("a"), 100 * MIB), "half of the budget");
        ledger.give_back(Class::Call, &holder("a"), 600 * MIB);
        assert_eq!(ledger.total(), 0);
    }

    #[test]
    fn machine_code_is_taken_at_once_or_not_at_all() {
        let mut ledger = ledger();
        // A twentieth of 1280 MiB, and half of that for a namespace.
        let mut take = |name: &str| ledger.try_take(Class::Code, &holder(name), 20 * MIB);
        assert_eq!(
            ["a", "a", "b", "c", "d"].map(&mut take),
            [true, false, true, true, false]
        );
        ledger.give_back(Class::Code, &holder("a"), 20 * MIB);
        assert!(ledger.try_take(Class::Code, &holder("a"), 20 * MIB));
        let call = ledger.ask(Class::Call, &holder("e"), ledger.plan().largest_call());
        assert!(ledger.take(call), "it leaves room for the largest call");
    }

    #[test]
    fn compiling_waits_and_does_not_delay_others() {
        let mut ledger = ledger();
        let call = ledger.ask(Class::Call, &holder("a"), 600 * MIB);
        assert!(ledger.take(call));
        let compiling = ledger.ask(Class::Compiling, &holder("b"), 800 * MIB);
        let other = ledger.ask(Class::Call, &holder("c"), 100 * MIB);
        assert!(!ledger.take(compiling) && ledger.take(other));
        ledger.give_back(Class::Call, &holder("a"), 600 * MIB);
        assert!(ledger.take(compiling));
    }

    /// In any order of requests: never more than the budget, and all requests are granted in the end.
    #[test]
    fn every_request_in_order_is_granted() {
        let mut ledger = ledger();
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        // Each conversion holds its documents while it asks for calls, one after the other.
        struct Conversion {
            holder: Arc<str>,
            documents: u64,
            waits: Option<(Ticket, Class, u64)>,
            calls: u32,
            running: Option<u64>,
        }
        let mut all: Vec<Conversion> = (0..60)
            .map(|nth| Conversion {
                holder: holder(&format!("n{}", nth % 3)),
                documents: (1 + random(200)) * MIB,
                waits: None,
                calls: 5,
                running: None,
            })
            .collect();
        for one in &mut all {
            let ticket = ledger.ask(Class::Documents, &one.holder, one.documents);
            one.waits = Some((ticket, Class::Documents, one.documents));
        }
        let mut rounds = 0;
        while !all.is_empty() {
            rounds += 1;
            assert!(rounds < 100_000, "they wait for each other");
            assert!(ledger.total() - ledger.promised <= ledger.plan().bytes);
            let at = usize::try_from(random(all.len() as u64)).unwrap();
            let one = &mut all[at];
            if let Some((ticket, class, bytes)) = one.waits {
                if ledger.take(ticket) {
                    one.waits = None;
                    one.running = (class == Class::Call).then_some(bytes);
                }
            } else if let Some(bytes) = one.running.take() {
                ledger.give_back(Class::Call, &one.holder, bytes);
            } else if one.calls > 0 {
                one.calls -= 1;
                let bytes = (1 + random(512)) * MIB;
                one.waits = Some((ledger.ask(Class::Call, &one.holder, bytes), Class::Call, bytes));
            } else {
                ledger.give_back(Class::Documents, &one.holder, one.documents);
                all.swap_remove(at);
            }
        }
        assert_eq!((ledger.total(), ledger.holders.len()), (0, 0));
    }
}

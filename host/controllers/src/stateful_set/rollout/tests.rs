//! The planner against a model of BOSH's updater, and invariants over random states.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use update::Count;

/// Seconds that an instance may take.
const CANARY_WATCH_SECONDS: i64 = 40;
const UPDATE_WATCH_SECONDS: i64 = 20;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn update(canaries: Count, max_in_flight: Count) -> Update {
    let watch_time = |max| WatchTime {
        min: SignedDuration::ZERO,
        max: SignedDuration::from_secs(max),
    };
    Update {
        canaries,
        max_in_flight,
        canary_watch_time: watch_time(CANARY_WATCH_SECONDS),
        update_watch_time: watch_time(UPDATE_WATCH_SECONDS),
        waived: None,
        accepted: None,
    }
}

fn started(second: i64, is_ready: bool) -> State {
    State::Updated(Updated {
        is_ready,
        created: at(second),
        started: Some(at(second)),
        restarted: false,
        is_recent: true,
    })
}

const NAMES: [&str; 3] = ["z-first", "a", "b"];
const OUTDATED: State = State::Outdated { is_ready: true };

fn instances(zones: &[usize], state: State) -> Vec<Instance<'static>> {
    let of = |(zone_index, count): (usize, &usize)| {
        (0..*count).map(move |ordinal| Instance {
            zone: NAMES[zone_index],
            zone_index,
            ordinal,
            is_requested: false,
            state,
        })
    };
    zones.iter().enumerate().flat_map(of).collect()
}

/// What happens to the instances that are updated: how long each takes to become ready; none: it never does.
type Durations = Vec<Option<i64>>;

/// When which instance is updated.
type Starts = Vec<(i64, usize)>;

/// A model of BOSH's updater, written from its rules: a pool of threads for each zone, in which the canaries run first.
fn bosh(zones: &[usize], update: &Update, durations: &Durations) -> Starts {
    let (mut starts, mut begin, mut first) = (Starts::new(), 0, 0);
    for (zone, count) in zones.iter().enumerate().filter(|(_, count)| **count > 0) {
        let is_first = zones[..zone].iter().all(|count| *count == 0);
        let canaries = if is_first { update.canaries.among(*count) } else { 0 };
        let threads = update.max_in_flight.among(*count).max(1);
        let all: Vec<usize> = (first..first + count).collect();
        let (canary, rest) = all.split_at(canaries);
        for (part, watch) in [(canary, CANARY_WATCH_SECONDS), (rest, UPDATE_WATCH_SECONDS)] {
            let (ended, failed) = pool(part, threads, begin, watch, durations, &mut starts);
            if failed {
                starts.sort_unstable();
                return starts;
            }
            begin = ended;
        }
        first += count;
    }
    starts.sort_unstable();
    starts
}

/// Runs a part of a zone; when it has ended, and whether an instance failed.
fn pool(
    part: &[usize],
    threads: usize,
    begin: i64,
    watch: i64,
    durations: &Durations,
    starts: &mut Starts,
) -> (i64, bool) {
    let mut running: BTreeMap<usize, (i64, bool)> = BTreeMap::new();
    let (mut queue, mut now, mut failed) = (part.iter().copied().peekable(), begin, false);
    loop {
        while !failed && running.len() < threads {
            let Some(one) = queue.next() else { break };
            let time = durations[one].filter(|time| *time < watch);
            running.insert(one, (now + time.unwrap_or(watch), time.is_none()));
            starts.push((now, one));
        }
        let Some(next) = running.values().map(|(end, _)| *end).min() else {
            return (now, failed);
        };
        now = next;
        failed |= running.values().any(|(end, fails)| *end == now && *fails);
        running.retain(|_, (end, _)| *end > now);
    }
}

/// The planner, until it has nothing to do.
fn boson(zones: &[usize], update: &Update, durations: &Durations) -> (Starts, Decision) {
    let mut all = instances(zones, OUTDATED);
    let (mut starts, mut now) = (Starts::new(), 0);
    loop {
        for (one, duration) in all.iter_mut().zip(durations) {
            if let State::Updated(updated) = &mut one.state {
                let age = now - updated.created.as_second();
                updated.is_ready = duration.is_some_and(|duration| age >= duration);
            }
        }
        let decision = decide(&all, update, at(now));
        for one in &decision.next {
            starts.push((now, *one));
            all[*one].state = started(now, false);
        }
        let is_over = decision.next.is_empty() && (decision.left == 0 || !decision.failed.is_empty());
        if is_over && decision.awaited.is_empty() {
            starts.sort_unstable();
            return (starts, decision);
        }
        now += 1;
        assert!(now < 100_000, "it does not end: {decision:?}");
    }
}

fn counts() -> impl Strategy<Value = Count> {
    prop_oneof![
        (0..4usize).prop_map(Count::Number),
        (0..=100usize).prop_map(Count::Percent)
    ]
}

fn groups() -> impl Strategy<Value = (Vec<usize>, Update)> {
    let zones = proptest::collection::vec(0..6usize, 1..=3);
    (zones, counts(), counts()).prop_map(|(zones, canaries, most)| (zones, update(canaries, most)))
}

/// Durations of any group: an instance in eight never becomes ready.
fn durations() -> impl Strategy<Value = Durations> {
    let one = prop_oneof![7 => (1..15i64).prop_map(Some), 1 => Just(None)];
    proptest::collection::vec(one, 18)
}

fn states() -> impl Strategy<Value = Vec<State>> {
    let state = prop_oneof![
        3 => Just(OUTDATED),
        1 => Just(State::Outdated { is_ready: false }),
        3 => (0..100i64).prop_map(|second| started(second, true)),
        1 => (0..100i64).prop_map(|second| started(second, false)),
        1 => Just(State::Missing),
        1 => Just(State::Ignored),
    ];
    proptest::collection::vec(state, 18)
}

fn is_available(one: &Instance<'_>, decision: &Decision, position: usize) -> bool {
    match one.state {
        State::Outdated { is_ready } => is_ready,
        State::Missing => false,
        State::Ignored => true,
        State::Updated(_) => !decision.awaited.contains(&position) && !decision.failed.contains(&position),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn instances_are_updated_when_bosh_would_update_them((zones, update) in groups(), durations in durations()) {
        let (starts, decision) = boson(&zones, &update, &durations);
        prop_assert_eq!(&starts, &bosh(&zones, &update, &durations));
        let all: usize = zones.iter().sum();
        prop_assert_eq!(decision.left, all - starts.len());
    }

    #[test]
    fn no_more_instances_are_unavailable_than_allowed((zones, update) in groups(), states in states()) {
        let mut all = instances(&zones, OUTDATED);
        for (one, state) in all.iter_mut().zip(states) {
            one.state = state;
        }
        let decision = decide(&all, &update, at(100));
        let is_unready = |one: &Instance<'_>| one.state == State::Outdated { is_ready: false };
        for at in &decision.next {
            prop_assert!(all[*at].is_outdated(), "what runs as wanted stays");
        }
        if !decision.failed.is_empty() {
            prop_assert!(decision.next.is_empty(), "a failed update stops the group");
            return Ok(());
        }
        for (at, one) in all.iter().enumerate() {
            prop_assert!(!is_unready(one) || decision.next.contains(&at), "it serves nothing");
        }
        let ready: Vec<usize> = decision.next.iter().copied().filter(|at| !is_unready(&all[*at])).collect();
        let Some(zone) = ready.first().map(|at| all[*at].zone_index) else { return Ok(()) };
        prop_assert!(ready.iter().all(|at| all[*at].zone_index == zone), "two zones");
        let down = |zone: &dyn Fn(usize) -> bool| {
            all.iter().enumerate().filter(|(at, one)| zone(one.zone_index) && !is_available(one, &decision, *at)).count()
        };
        prop_assert_eq!(down(&|other| other != zone), 0);
        let most = update.max_in_flight.among(zones[zone]).max(1);
        prop_assert!(down(&|other| other == zone) + ready.len() <= most);
    }

    #[test]
    fn every_state_ends_with_each_instance_updated_at_most_once((zones, update) in groups(), states in states()) {
        let mut all = instances(&zones, OUTDATED);
        for (one, state) in all.iter_mut().zip(states) {
            one.state = state;
        }
        let outdated = all.iter().filter(|one| one.is_outdated()).count();
        let mut updated = 0;
        for second in 100.. {
            for one in &mut all {
                // All pods become ready, as after a fix.
                if !one.is_outdated() {
                    one.state = started(second, true);
                }
            }
            let decision = decide(&all, &update, at(second));
            if decision.left == 0 && decision.next.is_empty() {
                break;
            }
            prop_assert!(!decision.next.is_empty(), "nothing is waited for");
            for at in &decision.next {
                all[*at].state = State::Missing;
                updated += 1;
            }
        }
        prop_assert_eq!(updated, outdated);
    }
}

#[test]
fn failed_canaries_leave_all_others_as_they_are() {
    let group = update(Count::Number(2), Count::Number(5));
    let never: Durations = vec![None; 18];
    let (starts, decision) = boson(&[4, 4], &group, &never);
    assert_eq!(starts, [(0, 0), (0, 1)]);
    assert_eq!((decision.failed.as_slice(), decision.left), (&[0, 1][..], 6));
    assert!(decision.canary_failed);
}

#[test]
fn what_instances_wait_for_has_a_name_and_can_be_waived() {
    let group = update(Count::Number(1), Count::Number(2));
    let decided = |states: &[State], waived: Option<Rule>| {
        let mut all = instances(&[4, 2], OUTDATED);
        for (one, state) in all.iter_mut().zip(states) {
            one.state = *state;
        }
        let update = Update {
            accepted: waived.filter(|rule| *rule == Rule::FailedUpdate).map(|_| 0),
            ..group.without(waived)
        };
        let decision = decide(&all, &update, at(60));
        (decision.held_by, decision.next)
    };
    let (done, awaited, failed) = (started(0, true), started(50, false), started(0, false));
    let away = [done, done, done, done, OUTDATED, State::Missing];
    for (states, rule, next) in [
        (&[awaited][..], Rule::Canaries, vec![1]),
        (&[done, awaited, State::Missing], Rule::MaxInFlight, vec![3]),
        (&[failed], Rule::FailedUpdate, vec![1, 2]),
    ] {
        assert_eq!(decided(states, None), (Some(rule), vec![]), "{states:?}");
        assert_eq!(decided(states, Some(rule)).1, next, "{rule:?}");
    }
    assert_eq!(decided(&away, None), (None, vec![4]), "it is the last one");
    let begun = [done, done, done, State::Missing];
    assert_eq!(decided(&begun, None), (Some(Rule::ZoneOrder), vec![]));
    let all_are_canaries = Update {
        canaries: Count::Number(4),
        ..group
    };
    let mut all = instances(&[2, 2], OUTDATED);
    (all[0].state, all[1].state) = (done, awaited);
    let decision = decide(&all, &all_are_canaries, at(60));
    assert_eq!((decision.held_by, decision.next), (Some(Rule::Canaries), vec![]));
    let another = decided(&[failed, failed], Some(Rule::FailedUpdate));
    assert_eq!(
        another,
        (Some(Rule::FailedUpdate), vec![]),
        "only the first one is waived"
    );
}

#[test]
fn a_zone_follows_the_first_one_by_its_name() {
    let one = update(Count::Number(0), Count::Number(1));
    let (starts, _) = boson(&[1, 1, 1], &one, &vec![Some(1); 18]);
    assert_eq!(starts, [(0, 0), (1, 1), (2, 2)], "a before b");
}

#[test]
fn readiness_counts_after_the_minimum_and_until_the_maximum_of_the_watch_time() {
    let seconds = SignedDuration::from_secs;
    let mut group = update(Count::Number(1), Count::Number(1));
    group.canary_watch_time.min = seconds(10);
    let decide = |state, now| {
        let all = [
            Instance {
                zone: "",
                zone_index: 0,
                ordinal: 0,
                is_requested: false,
                state,
            },
            Instance {
                zone: "",
                zone_index: 0,
                ordinal: 1,
                is_requested: false,
                state: OUTDATED,
            },
        ];
        let decision = decide(&all, &group, at(now));
        (decision.next.len(), decision.failed.len(), decision.again)
    };
    assert_eq!(decide(started(0, true), 4), (0, 0, Some(seconds(6))));
    assert_eq!(decide(started(0, true), 10), (1, 0, None));
    assert_eq!(decide(started(0, false), 10), (0, 0, Some(seconds(30))));
    assert_eq!(decide(started(0, false), 40), (0, 1, None));
    let waits = |started, restarted| {
        State::Updated(Updated {
            is_ready: false,
            created: at(0),
            started,
            restarted,
            is_recent: true,
        })
    };
    assert_eq!(
        decide(waits(None, false), 40),
        (0, 0, Some(seconds(560))),
        "its image is pulled"
    );
    assert_eq!(decide(waits(None, false), 600), (0, 1, None));
    assert_eq!(
        decide(waits(Some(at(39)), true), 40),
        (0, 1, None),
        "a crash loop is no new start"
    );
}

#[test]
fn one_instance_is_replaced_while_another_fails() {
    let group = update(Count::Number(0), Count::Number(1));
    let next = |requested: &[usize], awaited: bool| {
        let mut all = instances(&[4], OUTDATED);
        all[0].state = started(0, false);
        if awaited {
            all[3].state = State::Missing;
        }
        requested.iter().for_each(|at| all[*at].is_requested = true);
        let decision = decide(&all, &group, at(1000));
        assert_eq!(decision.failed, [0]);
        (decision.next, decision.left)
    };
    assert_eq!(next(&[], false), (vec![], 3), "a rollout has stopped");
    assert_eq!(next(&[2], false), (vec![2], 2));
    assert_eq!(next(&[1, 2], false), (vec![1], 2), "one after the other");
    assert_eq!(next(&[1], true), (vec![], 2));
}

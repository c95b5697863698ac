//! Which instances of a group are updated next, in BOSH's order. Pure.
//!
//! - Zone by zone, the one of instance 0 first, then by name. In a zone by ordinal.
//! - In the first zone `canaries` instances are updated before the others, and must be ready before these follow.
//! - At most `max_in_flight` instances of a zone are not ready because of the rollout, and only of one zone.
//! - Canaries and percentages are of the instances that the rollout updates or has updated. Others keep their pods.
//! - An instance that runs something else than it should and is not ready is updated at once: it serves nothing, and
//!   may be what an earlier, failed update left.
//! - An ignored instance is not updated, and counts neither as updated nor as not available.
//! - An instance that is updated and not ready at the end of its watch time stops the rollout. Nothing is rolled back.
//!   Only single instances that a user wants to be replaced are replaced nevertheless.
//!   The rollout goes on when the instance becomes ready, or when something else is wanted.

pub(super) mod earlier_template;
pub(super) mod events;
pub(super) mod instances;
pub(super) mod reasons;
mod rule;
mod update;

pub(super) use rule::{Rule, Waiver};
pub(super) use update::{Count, Update};

use instances::LiveZone;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use update::WatchTime;

/// Reason: a canary was not ready in time.
pub(super) const CANARY_FAILED: &str = "CanaryFailed";
/// Reason: an instance was not ready in time.
pub(super) const UPDATE_FAILED: &str = "UpdateFailed";
const MAX_NAMED_PODS: usize = 3;
/// How often to look whether the groups before are done: their changes cause no reconcile of this group.
const HOLD_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// A pod that runs what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Updated {
    pub is_ready: bool,
    pub created: Timestamp,
    /// When the last container started; none before that.
    pub started: Option<Timestamp>,
    /// Whether a container has ended.
    pub restarted: bool,
    /// Whether it was created from the newest template, and not from an earlier one in which nothing differs for it.
    pub is_recent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Updated(Updated),
    /// Its pod is being replaced.
    Missing,
    Outdated {
        is_ready: bool,
    },
    /// What it runs does not matter: it is neither updated nor waited for.
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instance<'z> {
    /// The name of its zone; empty without zones.
    pub zone: &'z str,
    pub zone_index: usize,
    /// Its number in the zone.
    pub ordinal: usize,
    /// Whether a user wants this one to be replaced, and not its whole group.
    pub is_requested: bool,
    pub state: State,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    /// Instances to update, as positions in the list.
    pub next: Vec<usize>,
    /// Those that were updated, and are ready.
    pub done: Vec<usize>,
    /// Those that were updated, and are waited for.
    pub awaited: Vec<usize>,
    /// Those that were not ready in time.
    pub failed: Vec<usize>,
    /// Whether a failed one is a canary.
    pub canary_failed: bool,
    /// Number of instances that are still to be updated, without `next`.
    pub left: usize,
    /// How many instances of the present zone are updated at a time.
    pub at_a_time: usize,
    /// When to decide again, if nothing else happens.
    pub again: Option<SignedDuration>,
    /// What the instances wait for that are still to be updated.
    pub held_by: Option<Rule>,
}

/// How far a rollout is, for the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rollout {
    /// Pods that are updated now.
    pub awaited: Vec<String>,
    /// Pods that were not ready in time.
    pub failed: Vec<String>,
    pub canary_failed: bool,
    /// Number of instances that are not updated.
    pub left: usize,
    /// When to decide again, if nothing else happens.
    pub again: Option<SignedDuration>,
    /// What these wait for.
    pub held_by: Option<Rule>,
}

/// How far the update of an instance is at one time.
enum Progress {
    Done,
    /// For this time at most, if it has a pod.
    Waits(Option<SignedDuration>),
    Failed,
}

/// The instances of one zone, by ordinal.
struct Zone<'i> {
    members: Vec<(usize, &'i Instance<'i>)>,
    /// Those that the rollout updates or has updated.
    touched: Vec<(usize, &'i Instance<'i>)>,
    /// How many of these are canaries.
    canaries: usize,
}

// === impl Updated ===

impl Updated {
    fn progress(&self, watch_time: WatchTime, now: Timestamp) -> Progress {
        let begin = match self.started {
            Some(started) if !self.restarted => started,
            _ => self.created,
        };
        let limit = if self.started.is_some() || self.restarted {
            watch_time.max
        } else {
            watch_time.start_limit()
        };
        let elapsed = now.duration_since(begin);
        let end = if self.is_ready { watch_time.min } else { limit };
        if elapsed < end {
            Progress::Waits(Some(end - elapsed))
        } else if self.is_ready {
            Progress::Done
        } else {
            Progress::Failed
        }
    }
}

// === impl Instance ===

impl Instance<'_> {
    pub fn is_outdated(&self) -> bool {
        matches!(self.state, State::Outdated { .. })
    }

    /// Whether a rollout has updated it, or does.
    pub fn is_begun(&self) -> bool {
        !self.is_outdated() && self.is_touched()
    }

    fn is_touched(&self) -> bool {
        !matches!(
            self.state,
            State::Updated(Updated { is_recent: false, .. }) | State::Ignored
        )
    }
}

// === impl Decision ===

impl Decision {
    /// Begins only those instances, by their positions.
    pub fn limit(&mut self, is_free: impl Fn(usize) -> bool) {
        self.left += self.next.len();
        self.next.retain(|at| is_free(*at));
        self.left -= self.next.len();
        if self.left > 0 {
            self.held_by.get_or_insert(Rule::MaxInFlight);
        }
    }

    /// As [`Decision::limit`]. If that holds instances back, they wait for this rule.
    pub fn limit_by(&mut self, rule: Rule, is_free: impl Fn(usize) -> bool) {
        if !self.next.iter().all(|at| is_free(*at)) {
            self.limit(is_free);
            self.held_by = Some(rule);
        }
    }

    /// Waits for no instance: a pod that starts again later is no update.
    pub fn end(&mut self) {
        self.failed.clear();
        self.canary_failed = false;
        self.awaited.clear();
        self.again = None;
    }

    /// Whether nothing is done until a user does something, or a failed instance becomes ready.
    pub fn has_stopped(&self) -> bool {
        let is_stopped = !self.failed.is_empty() || self.held_by == Some(Rule::Paused);
        is_stopped && self.next.is_empty() && self.awaited.is_empty()
    }

    pub fn hold(&mut self, rule: Rule) {
        self.limit(|_| false);
        if self.left > 0 {
            self.held_by = Some(rule);
        }
        if self.held_by == Some(Rule::GroupOrder) {
            self.again = Some(HOLD_INTERVAL);
        }
    }
}

// === impl Zone ===

impl<'i> Zone<'i> {
    /// The zones in which there are instances, in their order.
    fn all(instances: &'i [Instance<'i>], update: &Update) -> Vec<Self> {
        let mut members: Vec<(usize, &Instance<'_>)> = instances.iter().enumerate().collect();
        let first = members.iter().map(|(_, instance)| instance.zone_index).min();
        members.sort_by_key(|(_, one)| (Some(one.zone_index) != first, one.zone, one.zone_index, one.ordinal));
        let zones = members.chunk_by(|(_, a), (_, b)| a.zone_index == b.zone_index);
        let mut zones: Vec<Self> = zones
            .map(|members| Self {
                members: members.to_vec(),
                touched: members.iter().filter(|(_, one)| one.is_touched()).copied().collect(),
                canaries: 0,
            })
            .collect();
        if let Some(first) = zones.iter_mut().find(|zone| !zone.touched.is_empty()) {
            first.canaries = update.canaries.among(first.touched.len());
        }
        zones
    }

    fn canaries(&self) -> &[(usize, &'i Instance<'i>)] {
        self.touched.get(..self.canaries).unwrap_or_default()
    }

    /// Adds what was updated; returns how many instances are not available.
    fn observe(&self, update: &Update, now: Timestamp, decision: &mut Decision) -> usize {
        let mut unavailable = 0;
        for (at, instance) in &self.members {
            let is_canary = self.canaries().iter().any(|(canary, _)| canary == at);
            let watch_time = if is_canary {
                update.canary_watch_time
            } else {
                update.update_watch_time
            };
            let progress = match &instance.state {
                State::Updated(updated) => updated.progress(watch_time, now),
                State::Missing => Progress::Waits(None),
                State::Ignored => Progress::Done,
                State::Outdated { is_ready } => {
                    unavailable += usize::from(!is_ready);
                    continue;
                }
            };
            match progress {
                Progress::Done => decision.done.push(*at),
                // As if it were done: others follow.
                Progress::Failed if update.accepted == Some(*at) => decision.done.push(*at),
                Progress::Waits(time) => {
                    decision.awaited.push(*at);
                    decision.again = decision.again.into_iter().chain(time).min();
                    unavailable += 1;
                }
                Progress::Failed => {
                    decision.failed.push(*at);
                    decision.canary_failed |= is_canary;
                    unavailable += 1;
                }
            }
        }
        unavailable
    }

    /// How many instances are updated at a time.
    fn at_a_time(&self, update: &Update) -> usize {
        update.max_in_flight.among(self.touched.len()).max(1)
    }

    /// Whether the canaries are not done.
    fn awaits_canaries(&self, decision: &Decision) -> bool {
        let is_awaited = |one: &(usize, &Instance<'_>)| decision.awaited.contains(&one.0) || one.1.is_outdated();
        self.canaries().iter().any(is_awaited)
    }

    /// The ready instances that may be updated, if `unavailable` ones are not available.
    fn next(&self, unavailable: usize, of_canaries: bool, decision: &Decision) -> Vec<usize> {
        let ready = |one: &&(usize, &Instance<'_>)| one.1.state == State::Outdated { is_ready: true };
        let members = if of_canaries { self.canaries() } else { &self.members };
        let free = decision.at_a_time.saturating_sub(unavailable);
        members.iter().filter(ready).take(free).map(|(at, _)| *at).collect()
    }
}

// === impl Rollout ===

impl Rollout {
    /// The decision with names of pods.
    pub fn of(decision: &Decision, instances: &[Instance<'_>], zones: &[LiveZone<'_>]) -> Self {
        let name = |at: &usize| {
            let instance = instances.get(*at)?;
            let zone = zones.iter().find(|zone| zone.index == instance.zone_index)?;
            Some(format!("{}-{}", zone.set_name, instance.ordinal))
        };
        let names = |positions: &[usize]| positions.iter().filter_map(name).collect();
        Self {
            awaited: names(&[decision.awaited.as_slice(), &decision.next].concat()),
            failed: names(&decision.failed),
            canary_failed: decision.canary_failed,
            left: decision.left + decision.next.len(),
            again: decision.again,
            held_by: decision.held_by,
        }
    }

    /// All instances wait until the group is no longer paused.
    pub fn paused(instances: usize) -> Self {
        Self {
            left: instances,
            held_by: Some(Rule::Paused),
            ..Self::default()
        }
    }

    /// Whether instances are yet to be updated, or their update is not complete.
    pub fn is_underway(&self) -> bool {
        self.left > 0 || !self.awaited.is_empty() || !self.failed.is_empty()
    }

    /// Whether instances wait until the group is no longer paused.
    pub fn is_paused(&self) -> bool {
        self.held_by == Some(Rule::Paused)
    }

    /// Whether instances wait for others.
    pub fn holds(&self) -> bool {
        self.left > 0 || !self.failed.is_empty()
    }

    pub fn failure(&self) -> Option<&'static str> {
        let reason = if self.canary_failed {
            CANARY_FAILED
        } else {
            UPDATE_FAILED
        };
        (!self.failed.is_empty()).then_some(reason)
    }

    /// What it waits for, if it is underway.
    pub fn text(&self) -> Option<String> {
        let list = |names: &[String]| {
            let names: Vec<String> = names
                .iter()
                .take(MAX_NAMED_PODS)
                .map(|name| format!("'{name}'"))
                .collect();
            names.join(", ")
        };
        if !self.is_underway() {
            return None;
        }
        let left = match self.left {
            1 => "1 instance is".to_string(),
            left => format!("{left} instances are"),
        };
        let what = if self.canary_failed { "canary" } else { "update" };
        Some(if !self.failed.is_empty() {
            let failed = list(&self.failed);
            let so = match self.left {
                0 => String::new(),
                _ => format!(", so {left} not updated"),
            };
            format!(
                "the {what} of {failed} was not ready within its watch time{so}; it goes on when it is ready, or with \
                 another manifest"
            )
        } else if self.is_paused() {
            format!("{left} yet to be updated, when it is no longer paused")
        } else if self.held_by == Some(Rule::IgnoredInstance) {
            format!("{left} yet to be updated, when the instance that keeps them back is no longer ignored")
        } else if self.left == 0 {
            format!("the update of {} is not complete", list(&self.awaited))
        } else if self.awaited.is_empty() {
            format!("{left} yet to be updated")
        } else {
            format!("{left} yet to be updated, after {}", list(&self.awaited))
        })
    }
}

pub(super) fn decide(instances: &[Instance<'_>], update: &Update, now: Timestamp) -> Decision {
    let mut decision = Decision::default();
    let zones = Zone::all(instances, update);
    let unavailable: Vec<usize> = zones
        .iter()
        .map(|zone| zone.observe(update, now, &mut decision))
        .collect();
    let outdated = || instances.iter().enumerate().filter(|(_, one)| one.is_outdated());
    decision.left = outdated().count();
    if decision.left == 0 {
        return decision;
    }
    if !decision.failed.is_empty() {
        decision.next = requested_instances(instances, update, &decision);
        decision.left -= decision.next.len();
        decision.held_by = (decision.left > 0).then_some(Rule::FailedUpdate);
        return decision;
    }
    let unready = outdated().filter(|(_, one)| one.state == State::Outdated { is_ready: false });
    let mut next: Vec<usize> = unready.map(|(at, _)| at).collect();
    // The first zone with something to do, if only this one lacks instances.
    let current = zones
        .iter()
        .position(|zone| zone.members.iter().any(|(_, one)| one.is_outdated()));
    let canaries = zones.iter().position(|zone| zone.awaits_canaries(&decision));
    let canaries = canaries.filter(|_| update.waived != Some(Rule::Canaries));
    if let Some((at, zone)) = current.and_then(|at| Some((at, zones.get(at)?))) {
        let mut others = unavailable.iter().enumerate();
        let waits_for_zone = others.any(|(other, count)| other != at && *count > 0);
        let waits_for_canaries = canaries.is_some_and(|of| of != at);
        decision.at_a_time = zone.at_a_time(update);
        if !waits_for_zone && !waits_for_canaries {
            let here = unavailable.get(at).copied().unwrap_or(0);
            next.extend(zone.next(here, canaries.is_some(), &decision));
        }
        decision.held_by = Some(if waits_for_zone && !waits_for_canaries {
            Rule::ZoneOrder
        } else if canaries.is_some() {
            Rule::Canaries
        } else {
            Rule::MaxInFlight
        });
    }
    decision.left -= next.len();
    decision.held_by = decision.held_by.filter(|_| decision.left > 0);
    decision.next = next;
    decision
}

/// The single instances to replace although others have failed: BOSH does not wait for these either.
fn requested_instances(instances: &[Instance<'_>], update: &Update, decision: &Decision) -> Vec<usize> {
    let wanted = instances.iter().enumerate();
    let wanted = wanted.filter(|(_, one)| one.is_requested && one.is_outdated());
    let free = update.max_in_flight.among(instances.len()).max(1);
    let free = free.saturating_sub(decision.awaited.len());
    wanted.map(|(at, _)| at).take(free).collect()
}

#[cfg(test)]
mod tests;

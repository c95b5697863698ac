//! Which zones' StatefulSets may change their pods now. Pure.
//!
//! A changed pod template replaces pods, and nothing but the group knows how many of its zones it can lose. So zones
//! change one after the other: each when the pods of all other zones are ready. Exceptions let a later change repair a
//! group that has stopped:
//!
//! - A zone without a ready pod may always change: it has nothing to lose.
//! - While all zones that are not ready have an outdated template, the first of them may change: only a change can
//!   repair them.

use super::inspect::{is_going, is_ready, ready_pods};
use boson_cluster::client::AnyObject;
use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::Value;

/// A zone of the wanted version.
struct Zone<'a> {
    name: &'a str,
    /// Its StatefulSet, if it exists.
    live: Option<&'a StatefulSet>,
    /// Whether its pods have to be replaced.
    outdated: bool,
}

/// Which StatefulSets keep their pod template for now, and the ones whose pods they wait for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turn {
    pub held: Vec<String>,
    pub awaited: Vec<String>,
}

// === impl Zone ===

impl Zone<'_> {
    fn is_ready(&self) -> bool {
        self.live.is_some_and(|live| is_ready(live) && !is_going(live))
    }

    fn has_ready_pods(&self) -> bool {
        self.live.is_some_and(|live| ready_pods(live) > 0)
    }
}

// === impl Turn ===

impl Turn {
    /// `wanted`: the StatefulSets of the wanted version, in the order of their zones. `live`: those that exist.
    /// `is_outdated`: whether the pods of one that exists have to be replaced.
    pub fn of(wanted: &[Value], live: &[StatefulSet], is_outdated: impl Fn(&str) -> bool) -> Self {
        let zone = |name| Zone {
            name,
            live: live.iter().find(|one| one.metadata.name.as_deref() == Some(name)),
            outdated: is_outdated(name),
        };
        let zones: Vec<Zone<'_>> = wanted.iter().filter_map(AnyObject::name).map(zone).collect();
        let unready = || zones.iter().filter(|zone| !zone.is_ready());
        let outdated = || zones.iter().filter(|zone| zone.outdated);
        let next = if unready().all(|zone| zone.outdated) {
            unready().next().or_else(|| outdated().next())
        } else {
            None
        };
        let next = next.map(|zone| zone.name);
        let (held, changed): (Vec<_>, Vec<_>) =
            outdated().partition(|zone| zone.has_ready_pods() && Some(zone.name) != next);
        if held.is_empty() {
            return Self::default();
        }
        let is_held = |name| held.iter().any(|zone| zone.name == name);
        let awaited = zones.iter().filter(|zone| !zone.is_ready() && !is_held(zone.name));
        let awaited = awaited.chain(changed.iter().copied().filter(|zone| zone.is_ready()));
        Self {
            awaited: awaited.map(|zone| zone.name.to_string()).collect(),
            held: held.iter().map(|zone| zone.name.to_string()).collect(),
        }
    }

    /// Whether this StatefulSet has to wait.
    pub fn holds(&self, name: Option<&str>) -> bool {
        self.held.iter().any(|held| Some(held.as_str()) == name)
    }

    /// A sentence for the status, if anything waits.
    pub fn text(&self) -> Option<String> {
        let list = |names: &[String]| {
            names
                .iter()
                .map(|name| format!("'{name}'"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let Self { held, awaited } = self;
        let text = || {
            format!(
                "{} will change when the pods of {} are ready",
                list(held),
                list(awaited)
            )
        };
        (!held.is_empty()).then(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A zone in a row of the table: ready pods of two, and whether its template is outdated.
    type State = (i32, bool);

    const NEW: State = (-1, false);

    fn turn(zones: &[State]) -> Turn {
        let name = |at: usize| format!("z{at}");
        let wanted: Vec<Value> = (0..zones.len())
            .map(|at| json!({"metadata": {"name": name(at)}}))
            .collect();
        let there = zones.iter().enumerate().filter(|(_, zone)| **zone != NEW);
        let live = there.map(|(at, (ready, _))| {
            let status = json!({"readyReplicas": ready, "updatedReplicas": 2});
            let set = json!({"metadata": {"name": name(at)}, "spec": {"replicas": 2}, "status": status});
            serde_json::from_value(set).unwrap()
        });
        let live: Vec<StatefulSet> = live.collect();
        Turn::of(&wanted, &live, |outdated| {
            (0..zones.len()).any(|at| name(at) == outdated && zones[at].1)
        })
    }

    #[test]
    fn zones_change_one_after_the_other_and_each_broken_one_can_be_repaired() {
        let (old, current) = ((2, true), (2, false));
        // Zones, the ones that wait, and the ones that they wait for.
        let table: &[(&[State], &str, &str)] = &[
            (&[NEW, NEW, NEW], "", ""),
            (&[current, current], "", ""),
            (&[old], "", ""),
            (&[old, old, old], "z1 z2", "z0"),
            (&[(1, false), old, old], "z1 z2", "z0"),
            (&[(0, false), old, old], "z1 z2", "z0"),
            (&[current, old, old], "z2", "z1"),
            (&[current, current, old], "", ""),
            // It is added while the others change, or was deleted.
            (&[old, old, NEW], "z0 z1", "z2"),
            (&[NEW, current, old], "z2", "z0"),
            // A broken zone gets its repair first, and at once if it has nothing to lose.
            (&[old, (1, true), old], "z0 z2", "z1"),
            (&[old, (0, true), old], "z0 z2", "z1"),
            (&[(0, true), (0, true), (0, true)], "", ""),
            (&[(0, false), (0, true), old], "z2", "z0 z1"),
            (&[(1, true), (1, true), (1, true)], "z1 z2", "z0"),
            (&[current, (1, true), (1, true)], "z2", "z1"),
        ];
        for (zones, held, awaited) in table {
            let turn = turn(zones);
            assert_eq!(
                (turn.held.join(" "), turn.awaited.join(" ")),
                ((*held).into(), (*awaited).into()),
                "{zones:?}"
            );
        }
    }

    #[test]
    fn the_status_says_who_waits_for_whom() {
        let text = turn(&[(2, true), (2, true)]).text();
        assert_eq!(
            text.as_deref(),
            Some("'z1' will change when the pods of 'z0' are ready")
        );
        assert_eq!(Turn::default().text(), None);
    }
}

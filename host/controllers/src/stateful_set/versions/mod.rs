//! Versions of a QuarksStatefulSet: which one its spec requests, and which older ones may be deleted. Pure.
//!
//! The status records the newest version, the digest of its template, and the newest version whose pods were ever all
//! ready. So a number is never reused for another template, even after all StatefulSets were deleted.

pub(super) mod takeover;

use super::live::digest::Digest;
use super::live::states::States;
use super::live::{
    has_claims, is_being_deleted, is_incomplete, is_of_template, is_ready, ready_pods, version, zone_index, zones,
};
use boson_api::QuarksStatefulSet;
use k8s_openapi::api::apps::v1::StatefulSet;
use std::collections::BTreeMap;

/// The versions in the status of a QuarksStatefulSet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Versions {
    /// Number of the version that the spec requests: an earlier one after a reverted change.
    pub wanted: u32,
    pub newest: u32,
    /// Digest of its template.
    pub digest: String,
    /// The newest version whose pods were all ready at some time.
    pub ready: Option<u32>,
}

// === impl Versions ===

impl Versions {
    fn recorded(set: &QuarksStatefulSet) -> Option<Self> {
        let status = set.status.as_ref()?;
        let number = |version: Option<i64>| version.and_then(|version| u32::try_from(version).ok());
        Some(Self {
            wanted: number(status.version)?,
            newest: number(status.version)?,
            // Without one, no template is the recorded one.
            digest: status.template_digest.clone().unwrap_or_default(),
            ready: number(status.ready_version),
        })
    }

    /// The newest version whose pods were all ready at some time, by the status.
    pub fn recorded_ready(set: &QuarksStatefulSet) -> Option<u32> {
        Self::recorded(set)?.ready
    }

    /// The version that `set` requests. `claimed`: the newest version that has claims, if there is no StatefulSet;
    /// `in_place`: whether its pods are to be replaced in place even without claims.
    pub fn wanted_version(
        set: &QuarksStatefulSet,
        live: &[StatefulSet],
        claimed: Option<u32>,
        digest: &Digest,
        in_place: bool,
    ) -> u32 {
        let recorded = Self::recorded(set);
        let numbers = [
            live.iter().filter_map(version).max(),
            claimed,
            recorded.as_ref().map(|recorded| recorded.newest),
        ];
        let Some(newest) = numbers.into_iter().flatten().max() else {
            return 1;
        };
        let states = States {
            all: &set.spec.instances,
            stops_instances: digest.revisions.is_some(),
            ..States::default()
        };
        let of = |number: u32| live.iter().filter(move |one| version(one) == Some(number));
        // A reverted change: the old pods still run, and nothing has to start.
        let stays = |number: &u32| are_of_template(of(*number).filter(|one| !is_being_deleted(one)), digest);
        let before = live.iter().filter_map(version).find(stays);
        let is_recorded = || recorded.is_some_and(|one| one.newest == newest && one.digest == digest.text());
        let is_newest = match of(newest).next() {
            Some(_) if of(newest).any(has_claims) || states.has_exceptions() => true,
            Some(_) => are_of_template(of(newest), digest) && (!in_place || of(newest).any(|one| ready_pods(one) > 0)),
            // It was deleted, or will be created again: with another number, pods would start with empty disks.
            None if claimed == Some(newest) => true,
            None => before.is_none() && (!in_place || live.is_empty()) && is_recorded(),
        };
        if is_newest {
            return newest;
        }
        let kept = if in_place {
            Self::serving_version(set, live)
        } else {
            before
        };
        kept.unwrap_or_else(|| newest.saturating_add(1))
    }

    /// What to record for this wanted version.
    pub fn new_record(set: &QuarksStatefulSet, wanted: u32, digest: String, ready: Option<u32>) -> Self {
        let recorded = Self::recorded(set).filter(|recorded| recorded.newest > wanted);
        let (newest, digest) = recorded.map_or((wanted, digest), |recorded| (recorded.newest, recorded.digest));
        Self {
            wanted,
            newest,
            digest,
            ready,
        }
    }

    /// The version with the most ready pods: pods of another one may wait for a lock that these hold.
    fn serving_version(set: &QuarksStatefulSet, live: &[StatefulSet]) -> Option<u32> {
        let last = Self::last_ready(set, live);
        let stays = |(_, sets): &(u32, Vec<&StatefulSet>)| !sets.iter().any(|one| is_being_deleted(one));
        let all = by_version(live).into_iter().filter(stays);
        let serves = |(number, sets): (u32, Vec<&StatefulSet>)| (all_ready_pods(&sets), last == Some(number), number);
        all.map(serves).max().map(|(_, _, number)| number)
    }

    /// The recorded version whose pods were all ready. If it does not exist any more, the newest one whose pods are all
    /// ready, or else the one with the most ready pods.
    pub fn last_ready(set: &QuarksStatefulSet, live: &[StatefulSet]) -> Option<u32> {
        let versions = by_version(live);
        // A newer one is recorded once the watch time of its last instances has passed.
        let recorded = Self::recorded_ready(set).filter(|recorded| versions.contains_key(recorded));
        let serves = |number: &u32, sets: &[&StatefulSet]| match recorded {
            Some(recorded) => recorded == *number,
            None => {
                let is_whole = sets.iter().all(|one| sets.len() >= zones(one) && !is_incomplete(one));
                is_whole && sets.iter().all(|one| is_ready(one))
            }
        };
        let ready = versions.iter().rev().find(|(number, sets)| serves(number, sets));
        if let Some((number, _)) = ready {
            return Some(*number);
        }
        let most = versions
            .into_iter()
            .map(|(number, sets)| (all_ready_pods(&sets), number));
        most.max().filter(|(ready, _)| *ready > 0).map(|(_, number)| number)
    }
}

fn by_version(live: &[StatefulSet]) -> BTreeMap<u32, Vec<&StatefulSet>> {
    let mut versions: BTreeMap<u32, Vec<&StatefulSet>> = BTreeMap::new();
    for (number, one) in live.iter().filter_map(|one| Some((version(one)?, one))) {
        versions.entry(number).or_default().push(one);
    }
    versions
}

fn all_ready_pods(sets: &[&StatefulSet]) -> i64 {
    sets.iter().map(|one| i64::from(ready_pods(one))).sum()
}

/// Whether these StatefulSets of a version were made from the template. One whose zone was removed does not count.
fn are_of_template<'a>(sets: impl Iterator<Item = &'a StatefulSet>, digest: &Digest) -> bool {
    let mut wanted = sets.filter(|one| digest.has_zone(zone_index(one))).peekable();
    wanted.peek().is_some() && wanted.all(|one| is_of_template(one, digest))
}

#[cfg(test)]
mod tests {
    use super::super::live::TEMPLATE_DIGEST;
    use super::*;
    use boson_manifest::labels;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    fn one(version: u32, digest: &str, ready: u32) -> StatefulSet {
        let set = json!({
            "metadata": {"annotations": {labels::VERSION: version.to_string(), TEMPLATE_DIGEST: digest}},
            "spec": {"replicas": 2}, "status": {"replicas": 2, "readyReplicas": ready, "updatedReplicas": ready}
        });
        serde_json::from_value(set).unwrap()
    }

    fn new() -> QuarksStatefulSet {
        QuarksStatefulSet::new("d-g", serde_json::from_value(json!({"template": {}})).unwrap())
    }

    fn set(version: u32, digest: &str, ready: Option<u32>) -> QuarksStatefulSet {
        let status = json!({"version": version, "templateDigest": digest, "readyVersion": ready});
        QuarksStatefulSet {
            status: serde_json::from_value(status).unwrap(),
            ..new()
        }
    }

    #[test]
    fn a_number_belongs_to_one_template() {
        let none = new();
        assert_eq!(Versions::wanted_version(&none, &[], None, &"a".into(), false), 1);
        assert_eq!(
            Versions::wanted_version(&none, &[one(3, "a", 0)], None, &"a".into(), false),
            3
        );
        assert_eq!(
            Versions::wanted_version(&none, &[one(3, "a", 0)], None, &"b".into(), false),
            4
        );
        assert_eq!(
            Versions::wanted_version(&set(7, "a", None), &[], None, &"a".into(), false),
            7,
            "it was deleted"
        );
        assert_eq!(
            Versions::wanted_version(&set(7, "a", None), &[], None, &"b".into(), false),
            8
        );
        let rest = [one(6, "old", 2)];
        assert_eq!(
            Versions::wanted_version(&set(7, "a", None), &rest, None, &"a".into(), false),
            7
        );
        assert_eq!(
            Versions::wanted_version(&set(7, "a", None), &rest, None, &"b".into(), false),
            8
        );
    }

    #[test]
    fn claims_keep_their_number() {
        assert_eq!(Versions::wanted_version(&new(), &[], Some(4), &"a".into(), false), 4);
        assert_eq!(
            Versions::wanted_version(&set(4, "a", None), &[], Some(4), &"b".into(), false),
            4
        );
        assert_eq!(
            Versions::wanted_version(&set(7, "a", None), &[], Some(4), &"a".into(), false),
            7,
            "it had no disks any more"
        );
    }

    #[test]
    fn a_reverted_change_keeps_the_old_pods() {
        let live = [one(1, "a", 2), one(2, "b", 0)];
        assert_eq!(
            Versions::wanted_version(&set(2, "b", Some(1)), &live, None, &"a".into(), false),
            1
        );
        let mut going = live.clone();
        going[0].metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(
            Versions::wanted_version(&set(2, "b", Some(1)), &going, None, &"a".into(), false),
            3
        );
        // The number of the reverted version is not reused for another template.
        let back = Versions::new_record(&set(2, "b", Some(1)), 1, "a".into(), Some(1));
        assert_eq!((back.newest, back.digest.as_str()), (2, "b"));
        assert_eq!(
            Versions::wanted_version(&set(2, "b", Some(1)), &live[..1], None, &"c".into(), false),
            3
        );
    }

    #[test]
    fn where_pods_are_replaced_in_place_the_version_that_serves_is_kept() {
        let of = |live: &[StatefulSet], digest: &str| {
            Versions::wanted_version(&set(2, "b", Some(1)), live, None, &digest.into(), true)
        };
        let stuck = [one(1, "a", 2), one(2, "b", 0)];
        assert_eq!((of(&stuck, "b"), of(&stuck, "c"), of(&stuck, "a")), (1, 1, 1));
        let underway = [one(1, "a", 2), one(2, "b", 1)];
        assert_eq!((of(&underway, "b"), of(&underway, "c")), (2, 1));
        // The other version was deleted, and then the template of this one changed.
        assert_eq!((of(&stuck[..1], "b"), of(&[one(1, "b", 2)], "b")), (1, 1));
        let changed = [one(1, "b", 2)];
        assert_eq!(
            Versions::wanted_version(&set(2, "b", Some(1)), &changed, None, &"b".into(), false),
            1,
            "these pods run it"
        );
        assert_eq!(of(&[], "c"), 3);
        assert_eq!(
            Versions::wanted_version(&new(), &[one(1, "a", 0)], None, &"b".into(), true),
            1
        );
    }

    #[test]
    fn the_last_ready_version_is_recorded_ready_now_or_the_best_there_is() {
        let live = [one(1, "a", 1), one(2, "b", 0)];
        assert_eq!(Versions::last_ready(&set(2, "b", Some(1)), &live), Some(1));
        assert_eq!(
            Versions::last_ready(&set(2, "b", Some(9)), &live),
            Some(1),
            "v9 was deleted"
        );
        assert_eq!(Versions::last_ready(&new(), &live), Some(1));
        let both = [one(1, "a", 2), one(2, "b", 2)];
        assert_eq!(Versions::last_ready(&set(2, "b", Some(1)), &both), Some(1));
        assert_eq!(Versions::last_ready(&new(), &both), Some(2));
        let neither = [one(1, "a", 0), one(2, "b", 0)];
        assert_eq!(Versions::last_ready(&new(), &neither), None);
        let zones = [one(1, "a", 2), one(1, "a", 1), one(2, "b", 1)];
        assert_eq!(Versions::last_ready(&new(), &zones), Some(1));
    }
}

//! What a version of a plugin gains, compared with approved ones. Pure.
//!
//! A version gains nothing if it differs only by serving fewer deployments, or in what has no effect on a conversion:
//! cases, signatures, pull Secrets.

use boson_api::{ApprovedVersion, OnFailure};
use boson_oci::short_digest;
use boson_pipeline::listing::first_of;
use std::collections::BTreeMap;

/// Names that a message lists.
const MAX_LISTED_NAMES: usize = 10;

/// Whether one of the approved versions covers this one.
pub fn is_covered(approved: &[ApprovedVersion], version: &ApprovedVersion) -> bool {
    approved.iter().any(|one| gains_over(Some(one), version).is_empty())
}

/// What a version gains, compared with the approved one that it differs least from; of several, with the newest.
pub fn gains_over_closest(approved: &[ApprovedVersion], version: &ApprovedVersion) -> Vec<String> {
    let newest_first = approved.iter().rev();
    let closest = newest_first.min_by_key(|one| gains_over(Some(one), version).len());
    gains_over(closest, version)
}

/// What a version gains, a part of a sentence each; without an approved version, all that it has.
fn gains_over(approved: Option<&ApprovedVersion>, version: &ApprovedVersion) -> Vec<String> {
    let instead = |old: Option<String>| old.map(|old| format!(" instead of {old}")).unwrap_or_default();
    let mut gains = Vec::new();
    if approved.is_none_or(|old| old.name != version.name) {
        let old = instead(approved.map(|old| format!("'{}'", old.name)));
        gains.push(format!("the name '{}'{old}", version.name));
    }
    if approved.is_none_or(|old| old.stage != version.stage) {
        let old = instead(approved.map(|old| format!("'{}'", old.stage)));
        gains.push(format!("the stage '{}'{old}", version.stage));
    }
    if approved.is_none_or(|old| old.component != version.component) {
        let old = instead(approved.map(|old| short_digest(&old.component).to_string()));
        gains.push(format!("the component {}{old}", short_digest(&version.component)));
    }
    if approved.map_or(version.stage.has_rule(), |old| old.wraps != version.wraps) {
        gains.push(rule(version).to_string());
    }
    // Of the others, a first version has what differs from the defaults.
    if approved.and_then(|old| old.order) != version.order {
        gains.push(order(version) + &instead(approved.map(order)));
    }
    if approved.is_some_and(|old| old.enforce) != version.enforce {
        gains.push(errors(version).to_string());
    }
    if approved.map(|old| old.on_failure).unwrap_or_default() != version.on_failure {
        gains.push(failure(version).to_string());
    }
    let (no_settings, none) = (BTreeMap::new(), Some(Vec::new()));
    let old = approved.map_or(&no_settings, |old| &old.settings);
    gains.extend(settings(old, &version.settings));
    let old = approved.map_or(&none, |old| &old.namespaces);
    gains.extend(wider("namespaces", old, &version.namespaces));
    let old = approved.map_or(&none, |old| &old.deployments);
    gains.extend(wider("deployments", old, &version.deployments));
    // Few plugins may select groups at all.
    if approved.is_some() || version.instance_groups.is_some() {
        let old = approved.map_or(&none, |old| &old.instance_groups);
        gains.extend(wider("instance groups", old, &version.instance_groups));
    }
    gains
}

fn rule(version: &ApprovedVersion) -> &'static str {
    if version.wraps {
        "it wraps the rule of its stage"
    } else {
        "it replaces the rule of its stage"
    }
}

fn order(version: &ApprovedVersion) -> String {
    match version.order {
        Some(order) => format!("the order {order}"),
        None => "no order".to_string(),
    }
}

fn errors(version: &ApprovedVersion) -> &'static str {
    if version.enforce {
        "its errors fail the conversion (`enforce: true`)"
    } else {
        "its errors are only warnings (`enforce: false`)"
    }
}

fn failure(version: &ApprovedVersion) -> &'static str {
    match version.on_failure {
        OnFailure::Fail => "the conversion fails if it fails itself (`onFailure: fail`)",
        OnFailure::Skip => "the conversion continues if it fails itself (`onFailure: skip`)",
    }
}

fn settings(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
    let set: Vec<&String> = new.keys().filter(|key| old.get(*key) != new.get(*key)).collect();
    let removed: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
    let line = |what: &str, keys: Vec<&String>| (!keys.is_empty()).then(|| format!("{what}: {}", names(&keys)));
    [line("new values of settings", set), line("settings removed", removed)]
        .into_iter()
        .flatten()
        .collect()
}

/// What a selector selects in addition. `None` selects all.
fn wider(what: &str, old: &Option<Vec<String>>, new: &Option<Vec<String>>) -> Option<String> {
    match (old, new) {
        (None, _) => None,
        (Some(_), None) => Some(format!("all {what}")),
        (Some(old), Some(new)) => {
            let more: Vec<&String> = new.iter().filter(|name| !old.contains(name)).collect();
            (!more.is_empty()).then(|| format!("{what}: {}", names(&more)))
        }
    }
}

fn names(names: &[&String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    first_of(&quoted, MAX_LISTED_NAMES, " and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_pipeline::Stage;

    fn version() -> ApprovedVersion {
        ApprovedVersion {
            name: "hook".into(),
            stage: Stage::Resources,
            component: format!("sha256:{}", "a1".repeat(32)),
            wraps: false,
            order: None,
            enforce: false,
            on_failure: OnFailure::Fail,
            settings: [("team".to_string(), "sha256:1".to_string())].into(),
            namespaces: Some(vec!["a".into(), "b".into()]),
            deployments: None,
            instance_groups: Some(vec!["web".into()]),
        }
    }

    #[test]
    fn each_change_is_named_and_needs_an_approval() {
        type Change = fn(&mut ApprovedVersion);
        let changes: [(Change, &str); 15] = [
            (|v| v.name = "other".into(), "the name 'other' instead of 'hook'"),
            (|v| v.stage = Stage::Checks, "the stage 'checks' instead of 'resources'"),
            (
                |v| v.component = format!("sha256:{}", "b2".repeat(32)),
                "the component sha256:b2b2b2b2b2b2 instead of sha256:a1a1a1a1a1a1",
            ),
            (|v| v.wraps = true, "it wraps the rule of its stage"),
            (|v| v.order = Some(0), "the order 0 instead of no order"),
            (|v| v.enforce = true, "its errors fail the conversion (`enforce: true`)"),
            (
                |v| v.on_failure = OnFailure::Skip,
                "the conversion continues if it fails itself (`onFailure: skip`)",
            ),
            (
                |v| drop(v.settings.insert("team".into(), "sha256:2".into())),
                "new values of settings: 'team'",
            ),
            (
                |v| drop(v.settings.insert("x".into(), "sha256:2".into())),
                "new values of settings: 'x'",
            ),
            (|v| v.settings.clear(), "settings removed: 'team'"),
            (|v| v.namespaces = None, "all namespaces"),
            (|v| v.instance_groups = None, "all instance groups"),
            (|v| v.instance_groups = Some(vec!["db".into()]), "instance groups: 'db'"),
            (|v| v.namespaces = Some(vec!["b".into(), "c".into()]), "namespaces: 'c'"),
            (
                |v| v.namespaces = Some((0..12).map(|nth| format!("n{nth}")).collect()),
                "namespaces: 'n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9' and 2 more",
            ),
        ];
        for (change, gain) in changes {
            let mut new = version();
            change(&mut new);
            assert_eq!(gains_over(Some(&version()), &new), [gain]);
            assert!(!is_covered(&[version()], &new), "{gain}");
        }
    }

    #[test]
    fn a_version_for_fewer_deployments_gains_nothing() {
        let mut narrower = version();
        narrower.namespaces = Some(vec!["b".into()]);
        narrower.deployments = Some(vec!["nats".into()]);
        narrower.instance_groups = Some(Vec::new());
        assert!(is_covered(&[version()], &narrower) && is_covered(&[version()], &version()));
        assert!(!is_covered(&[narrower.clone()], &version()), "back again is wider");
        assert!(
            is_covered(&[version(), narrower], &version()),
            "unless it was approved before"
        );
        assert!(!is_covered(&[], &version()));
    }

    #[test]
    fn approved_versions_are_not_combined() {
        let mut enforced = version();
        (enforced.enforce, enforced.namespaces) = (true, Some(vec!["a".into()]));
        let mut wide = version();
        wide.namespaces = None;
        let approved = [enforced.clone(), wide];
        let mut both = enforced;
        both.namespaces = None;
        assert!(!is_covered(&approved, &both), "each part is approved, but not together");
        assert_eq!(
            gains_over_closest(&approved, &both),
            ["its errors fail the conversion (`enforce: true`)"]
        );
    }

    #[test]
    fn a_first_version_gains_all_that_it_has() {
        let mut first = version();
        (first.stage, first.enforce, first.order) = (Stage::Bpm, true, Some(3));
        assert_eq!(
            gains_over_closest(&[], &first),
            [
                "the name 'hook'",
                "the stage 'bpm'",
                "the component sha256:a1a1a1a1a1a1",
                "it replaces the rule of its stage",
                "the order 3",
                "its errors fail the conversion (`enforce: true`)",
                "new values of settings: 'team'",
                "namespaces: 'a', 'b'",
                "all deployments",
                "instance groups: 'web'",
            ]
        );
    }
}

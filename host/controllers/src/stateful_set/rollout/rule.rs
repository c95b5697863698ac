//! The rules that keep instances from being updated. An annotation waives one for the present generation of a group:
//! `<rule>@<generation>`, or `FailedUpdate/<pod>@<generation>`.

use boson_api::{QuarksStatefulSet, word};
use boson_manifest::labels;
use kube::ResourceExt;
use serde::Serialize;

/// Why instances wait that are yet to be updated. Statuses and the annotation have its name in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(in crate::stateful_set) enum Rule {
    /// Other groups are updated before.
    GroupOrder,
    /// An instance of another zone is not available.
    ZoneOrder,
    /// The canaries are not done.
    Canaries,
    /// As many instances of the zone are updated as may be at a time.
    MaxInFlight,
    /// An instance was not ready in time.
    FailedUpdate,
    Paused,
    /// An instance is ignored, so the older version cannot hand over those after it, or the zone cannot get a disk.
    IgnoredInstance,
}

/// Those that can be waived as a whole. Without the order of zones, a cluster of three zones would lose its majority. A
/// pause and an ignored instance are ended by the field that began them. A failed update is waived for one pod, so that
/// the next one that fails stops the rollout again.
const WAIVABLE: [Rule; 3] = [Rule::GroupOrder, Rule::Canaries, Rule::MaxInFlight];

/// A rule that does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stateful_set) struct Waiver<'a> {
    pub rule: Rule,
    /// The pod whose failed update counts as done.
    pub pod: Option<&'a str>,
    pub text: &'a str,
}

// === impl Waiver ===

impl<'a> Waiver<'a> {
    /// What the annotation of a group waives, if it is of the present generation.
    ///
    /// # Errors
    /// The annotation has another form, or names no such rule.
    pub fn of(set: &'a QuarksStatefulSet) -> Result<Option<Self>, String> {
        let Some(text) = set.annotations().get(labels::WAIVED_RULE) else {
            return Ok(None);
        };
        match Self::read(text) {
            Some((waiver, generation)) => Ok((set.metadata.generation == Some(generation)).then_some(waiver)),
            None => Err(format!(
                "the annotation '{}' must be '<rule>@<generation>', with one of the rules {}, or \
                 '{}/<pod>@<generation>'",
                labels::WAIVED_RULE,
                WAIVABLE.map(word).join(", "),
                word(Rule::FailedUpdate)
            )),
        }
    }

    fn read(text: &'a str) -> Option<(Self, i64)> {
        let (what, generation) = text.split_once('@')?;
        let generation = generation.parse().ok()?;
        let (rule, pod) = match what.split_once('/') {
            Some((name, pod)) if name == word(Rule::FailedUpdate) && !pod.is_empty() => (Rule::FailedUpdate, Some(pod)),
            Some(_) => return None,
            None => (WAIVABLE.into_iter().find(|rule| word(rule) == what)?, None),
        };
        Some((Self { rule, pod, text }, generation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn a_rule_is_waived_for_one_generation() {
        let waived = |text: &str| {
            let mut set = QuarksStatefulSet::new("g", from_value(json!({"template": {}})).unwrap());
            set.metadata.generation = Some(4);
            set.annotations_mut().insert(labels::WAIVED_RULE.into(), text.into());
            Waiver::of(&set).map(|found| found.map(|found| (found.rule, found.pod.map(str::to_string))))
        };
        assert_eq!(waived("Canaries@4"), Ok(Some((Rule::Canaries, None))));
        assert_eq!(waived("Canaries@3"), Ok(None), "of another generation");
        assert_eq!(
            waived("FailedUpdate/d-g-v2-0@4"),
            Ok(Some((Rule::FailedUpdate, Some("d-g-v2-0".into()))))
        );
        for text in [
            "Canaries",
            "Canaries@x",
            "canaries@4",
            "Canaries/p@4",
            "FailedUpdate@4",
            "FailedUpdate/@4",
            "ZoneOrder@4",
            "Paused@4",
            "",
        ] {
            assert!(waived(text).is_err(), "{text}");
        }
    }
}

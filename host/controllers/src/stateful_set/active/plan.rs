//! Which pod of a group is the active one. Pure.
//!
//! - The pod with the label keeps it while it is ready and answers that it is active.
//! - Otherwise the first ready pod that answers so gets it, by zone and number of the instance.
//! - Without such a pod, a ready pod keeps the label if it does not answer: perhaps only the operator cannot reach it.
//!   A pod that says it is passive loses it.

use crate::pod_problems::is_ready;
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

/// What a pod says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Active,
    Passive,
    /// Nothing.
    Silent,
}

/// A pod of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Zone and number of its instance, and its name, which differs between versions.
    order: (u32, u32, String),
    is_labelled: bool,
    /// Whether it is ready, and not being deleted.
    is_serving: bool,
    answer: Answer,
}

/// Positions of pods: first all of `demote` lose the label, then `promote` gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub demote: Vec<usize>,
    pub promote: Option<usize>,
    /// Whether no pod has the label afterwards, and one had it before.
    pub is_vacant: bool,
}

// === impl Answer ===

impl Answer {
    /// Of two probes of a pod.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Passive, _) | (_, Self::Passive) => Self::Passive,
            (Self::Silent, _) | (_, Self::Silent) => Self::Silent,
            (Self::Active, Self::Active) => Self::Active,
        }
    }
}

// === impl Member ===

impl Member {
    pub fn new(pod: &Pod, answer: Answer) -> Self {
        let number = |label| {
            pod.labels()
                .get(label)
                .and_then(|value| value.parse().ok())
                .unwrap_or(u32::MAX)
        };
        Self {
            order: (
                number(labels::AZ_INDEX),
                number(labels::KUBERNETES_POD_INDEX),
                pod.name_any(),
            ),
            is_labelled: pod
                .labels()
                .get(labels::POD_ACTIVE)
                .is_some_and(|value| value == labels::ACTIVE),
            is_serving: is_ready(pod) && pod.metadata.deletion_timestamp.is_none(),
            answer,
        }
    }

    fn is_candidate(&self) -> bool {
        self.is_serving && self.answer == Answer::Active
    }
}

/// What changes.
pub(super) fn plan(members: &[Member]) -> Change {
    let first = |is_it: &dyn Fn(&Member) -> bool| {
        let found = members.iter().enumerate().filter(|(_, one)| is_it(one));
        found.min_by_key(|(_, one)| &one.order).map(|(at, _)| at)
    };
    let active = first(&|one| one.is_labelled && one.is_candidate())
        .or_else(|| first(&Member::is_candidate))
        .or_else(|| first(&|one| one.is_labelled && one.is_serving && one.answer == Answer::Silent));
    let labelled = members.iter().enumerate().filter(|(_, one)| one.is_labelled);
    let demote: Vec<usize> = labelled.map(|(at, _)| at).filter(|at| Some(*at) != active).collect();
    Change {
        is_vacant: active.is_none() && !demote.is_empty(),
        promote: active.filter(|at| members.get(*at).is_some_and(|one| !one.is_labelled)),
        demote,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `+`, `-` and `?` are answers; `*` has the label, and `!` is not ready.
    fn members(text: &str) -> Vec<Member> {
        let member = |(at, word): (usize, &str)| Member {
            order: (0, u32::try_from(at).unwrap(), String::new()),
            is_labelled: word.contains('*'),
            is_serving: !word.contains('!'),
            answer: match word.chars().next() {
                Some('+') => Answer::Active,
                Some('-') => Answer::Passive,
                _ => Answer::Silent,
            },
        };
        text.split(' ').enumerate().map(member).collect()
    }

    #[test]
    fn one_pod_is_active_and_stays_so_while_it_can() {
        let changed = |text: &str| {
            let Change { demote, promote, .. } = plan(&members(text));
            (demote, promote)
        };
        assert_eq!(changed("- + +"), (vec![], Some(1)));
        assert_eq!(changed("+ +* -"), (vec![], None), "another one could be, too");
        assert_eq!(changed("-* + -"), (vec![0], Some(1)));
        assert_eq!(changed("+!* + -"), (vec![0], Some(1)), "it is not ready");
        assert_eq!(changed("?* + -"), (vec![0], Some(1)), "its node is lost");
        assert_eq!(changed("?* - ?"), (vec![], None), "only the operator cannot reach it");
        assert_eq!(changed("-* - -"), (vec![0], None));
        assert_eq!(changed("+* +* -"), (vec![1], None), "somebody has set a label");
    }

    proptest! {
        #[test]
        fn at_most_one_pod_has_the_label_after_each_write(words in prop::collection::vec("[-+?][*]?[!]?", 1..6)) {
            let mut all = members(&words.join(" "));
            let had = all.iter().filter(|one| one.is_labelled).count();
            let change = plan(&all);
            let labelled = |all: &[Member]| all.iter().filter(|one| one.is_labelled).count();
            for at in &change.demote {
                all[*at].is_labelled = false;
            }
            if let Some(at) = change.promote {
                prop_assert_eq!(labelled(&all), 0);
                prop_assert!(all[at].is_candidate());
                all[at].is_labelled = true;
            }
            let now = labelled(&all);
            prop_assert!(now <= 1);
            prop_assert!(now == 1 || !all.iter().any(Member::is_candidate));
            prop_assert_eq!(change.is_vacant, had > 0 && now == 0);
            prop_assert_eq!(plan(&all), Change::default(), "it is stable");
        }
    }
}

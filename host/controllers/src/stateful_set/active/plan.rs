//! Which pod of a group is the active one, and what to write for it. Pure.
//!
//! - The active pod stays so while it is ready and answers that it is active.
//! - Otherwise the first ready pod that answers so follows it, by zone and number of the instance.
//! - Without such a pod, the active one stays so if it does not answer, because perhaps only the operator cannot reach
//!   it, or if it is being deleted. A pod that says it is passive does not.
//!
//! The status of the group records the pod. All operators that work at the same time write in this order, and stop when
//! a write fails because the object has changed since it was read:
//!
//! 1. Read the pods, then the status.
//! 2. Remove the label from all other pods, and change the one that is recorded in any case.
//! 3. Record the pod, if the status has not changed since it was read.
//! 4. Give the pod the label, if the pod has not changed since it was read.
//!
//! So two pods never have the label: who labels a pod has recorded it; and whoever records the next one has changed
//! this pod before, so that the label that is still to be written for it fails.

use boson_cluster::pods::is_ready;
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

/// What a pod says. Of the answers of several probes, the least one is that of the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    Passive,
    Silent,
    Active,
}

/// A pod of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    name: String,
    /// Zone and number of its instance, which has a pod of each of two versions for a while.
    order: (u32, u32),
    is_labelled: bool,
    is_ready: bool,
    is_being_deleted: bool,
    answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// Remove the label of the pod with this name, and change it in any case. Perhaps it no longer exists.
    Demote(String),
    /// Record the pod with this name, or that there is none.
    Record(Option<String>),
    /// Give the label to the pod at this position.
    Promote(usize),
}

// === impl Member ===

impl Member {
    pub fn new(pod: &Pod, answer: Answer) -> Self {
        let label = |key| pod.labels().get(key);
        let number = |key| label(key).and_then(|value| value.parse().ok()).unwrap_or(u32::MAX);
        Self {
            name: pod.name_any(),
            order: (number(labels::AZ_INDEX), number(labels::KUBERNETES_POD_INDEX)),
            is_labelled: label(labels::POD_ACTIVE).is_some_and(|value| value == labels::ACTIVE),
            is_ready: is_ready(pod),
            is_being_deleted: pod.metadata.deletion_timestamp.is_some(),
            answer,
        }
    }

    fn is_candidate(&self) -> bool {
        self.is_ready && !self.is_being_deleted && self.answer == Answer::Active
    }

    fn can_stay(&self) -> bool {
        self.is_labelled && self.is_ready && self.answer != Answer::Passive
    }
}

/// What to write, in this order. `recorded`: the active pod by the status.
pub(super) fn plan(members: &[Member], recorded: Option<&str>) -> Vec<Write> {
    let is_holder = |one: &Member| recorded.map_or(one.is_labelled, |name| one.name == name);
    let first = |is_it: &dyn Fn(&Member) -> bool| {
        let found = members.iter().enumerate().filter(|(_, one)| is_it(one));
        found.min_by_key(|(_, one)| (one.order, &one.name))
    };
    let active = first(&|one| is_holder(one) && one.is_candidate())
        .or_else(|| first(&Member::is_candidate))
        .or_else(|| first(&|one| is_holder(one) && one.can_stay()));
    let name = active.map(|(_, one)| one.name.as_str());
    let labelled = members
        .iter()
        .filter(|one| one.is_labelled)
        .map(|one| one.name.as_str());
    let mut others: Vec<&str> = labelled.chain(recorded).filter(|other| Some(*other) != name).collect();
    others.sort_unstable();
    others.dedup();
    let promoted = active.filter(|(_, one)| !one.is_labelled).map(|(at, _)| at);
    let mut writes: Vec<Write> = others.into_iter().map(|other| Write::Demote(other.into())).collect();
    if name != recorded || promoted.is_some() {
        writes.push(Write::Record(name.map(str::to_string)));
    }
    writes.extend(promoted.map(Write::Promote));
    writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;

    /// `+`, `-` and `?` are answers; `*` has the label, `!` is not ready, and `x` is being deleted. Names are
    /// positions.
    fn members(text: &str) -> Vec<Member> {
        let member = |(at, word): (usize, &str)| Member {
            name: at.to_string(),
            order: (0, u32::try_from(at).unwrap()),
            is_labelled: word.contains('*'),
            is_ready: !word.contains('!'),
            is_being_deleted: word.contains('x'),
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
        for (pods, recorded, expected, why) in [
            ("- + +", None, "=1 >1", "the first one"),
            ("+ +* -", Some("1"), "", "another one could be, too"),
            ("-* + -", Some("0"), "<0 =1 >1", "it says so"),
            ("+!* + -", Some("0"), "<0 =1 >1", "it is not ready"),
            ("?* + -", Some("0"), "<0 =1 >1", "its node is lost"),
            ("?* - ?", Some("0"), "", "only the operator cannot reach it"),
            ("+x* + -", Some("0"), "<0 =1 >1", "it is being deleted"),
            ("+x* - -", Some("0"), "", "no other one can serve"),
            ("-* - -", Some("0"), "<0 =none", "none is active"),
            ("+* +* -", Some("1"), "<0", "somebody has set a label"),
            ("- +* -", None, "=1", "an operator that recorded nothing has set it"),
            ("+ - -", Some("gone"), "<gone =0 >0", "the recorded one was deleted"),
            (
                "+ +",
                Some("1"),
                "=1 >1",
                "the label of the recorded one was not written",
            ),
            ("? -", Some("0"), "<0 =none", "it came back and does not answer yet"),
        ] {
            let text = |write: Write| match write {
                Write::Demote(name) => format!("<{name}"),
                Write::Record(name) => format!("={}", name.as_deref().unwrap_or("none")),
                Write::Promote(at) => format!(">{at}"),
            };
            let writes: Vec<String> = plan(&members(pods), recorded).into_iter().map(text).collect();
            assert_eq!(writes.join(" "), expected, "{why}");
        }
    }

    /// An object as the API server keeps it.
    #[derive(Clone, Debug, Default)]
    struct Stored<T> {
        value: T,
        revision: u32,
    }

    impl<T> Stored<T> {
        fn write(&mut self, value: T) {
            self.value = value;
            self.revision += 1;
        }
    }

    /// Whether each pod has the label, and the status.
    #[derive(Debug)]
    struct Group {
        pods: Vec<Stored<bool>>,
        recorded: Stored<Option<String>>,
    }

    /// What one of several operators is about to do.
    #[derive(Clone, Debug)]
    enum Step {
        ReadPods,
        ReadStatus(Vec<Stored<bool>>),
        Write(Vec<Stored<bool>>, u32, Vec<Write>),
    }

    impl Group {
        /// Does one step of an operator, which gets these answers. What follows, or none if a write fails.
        fn step(&mut self, step: Step, answers: &[Answer]) -> Option<Step> {
            let (pods, read, mut writes) = match step {
                Step::ReadPods => return Some(Step::ReadStatus(self.pods.clone())),
                Step::ReadStatus(pods) => {
                    let words = pods.iter().zip(answers).enumerate();
                    let member = |(at, (pod, answer)): (usize, (&Stored<bool>, &Answer))| Member {
                        is_labelled: pod.value,
                        answer: *answer,
                        ..members("+").remove(0).named(at)
                    };
                    let members: Vec<Member> = words.map(member).collect();
                    let writes = plan(&members, self.recorded.value.as_deref());
                    return Some(Step::Write(pods, self.recorded.revision, writes));
                }
                Step::Write(pods, read, writes) => (pods, read, writes),
            };
            let mut read = read;
            match (!writes.is_empty()).then(|| writes.remove(0))? {
                Write::Demote(name) => self.pods[name.parse::<usize>().unwrap()].write(false),
                Write::Record(name) if self.recorded.revision == read => {
                    self.recorded.write(name);
                    read = self.recorded.revision;
                }
                // The status is read again, the pods are not.
                Write::Record(_) => return Some(Step::ReadStatus(pods)),
                Write::Promote(at) if self.pods[at].revision == pods[at].revision => self.pods[at].write(true),
                Write::Promote(_) => return None,
            }
            Some(Step::Write(pods, read, writes))
        }
    }

    impl Member {
        fn named(self, at: usize) -> Self {
            Self {
                name: at.to_string(),
                order: (0, u32::try_from(at).unwrap()),
                ..self
            }
        }
    }

    fn answer() -> impl Strategy<Value = Answer> {
        prop_oneof![
            3 => Just(Answer::Active),
            1 => Just(Answer::Passive),
            1 => Just(Answer::Silent),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_stable(
            words in prop::collection::vec("[-+?][*]?[!]?[x]?", 1..6),
            recorded in prop::option::of("[0-5]")
        ) {
            let mut all = members(&words.join(" "));
            let mut recorded = recorded;
            for write in plan(&all, recorded.as_deref()) {
                match write {
                    Write::Demote(name) => all.iter_mut().filter(|one| one.name == name).for_each(|one| one.is_labelled = false),
                    Write::Record(name) => recorded = name,
                    Write::Promote(at) => {
                        prop_assert!(all[at].is_candidate());
                        all[at].is_labelled = true;
                    }
                }
            }
            let labelled: Vec<&str> = all.iter().filter(|one| one.is_labelled).map(|one| one.name.as_str()).collect();
            prop_assert_eq!(labelled, recorded.as_deref().into_iter().collect::<Vec<_>>());
            prop_assert!(recorded.is_some() || !all.iter().any(Member::is_candidate));
            prop_assert_eq!(plan(&all, recorded.as_deref()), vec![], "it is stable");
        }

        #[test]
        fn two_pods_never_have_the_label_whatever_several_operators_do_at_the_same_time(
            turns in prop::collection::vec((0..3_usize, prop::collection::vec(answer(), 3), prop::option::of(any::<Index>())), 1..60)
        ) {
            let mut group = Group { pods: vec![Stored::default(); 3], recorded: Stored::default() };
            let mut operators = vec![Step::ReadPods; 3];
            for (operator, answers, changed) in turns {
                if let Some(index) = changed {
                    // The kubelet reports a change.
                    let pod = &mut group.pods[index.index(3)];
                    pod.write(pod.value);
                }
                let step = std::mem::replace(&mut operators[operator], Step::ReadPods);
                operators[operator] = group.step(step, &answers).unwrap_or(Step::ReadPods);
                let labelled = group.pods.iter().filter(|pod| pod.value).count();
                prop_assert!(labelled <= 1, "{:?}", group);
            }
        }
    }
}

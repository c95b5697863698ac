//! Why the pods of a QuarksStatefulSet are not ready. For existing pods their status says it; for missing ones the
//! reason of the API server is only in events.

use crate::pod_problems;
use crate::stateful_set::live::states::States;
use crate::stateful_set::live::{is_named, is_pod_of, is_ready, replicas};
use crate::stateful_set::plan::{Plan, Seen};
use crate::stateful_set::{Context, Done};
use boson_api::{PodProblem, QuarksStatefulSet};
use boson_cluster::client::{Error, Identity};
use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;

/// Problems of one QuarksStatefulSet that are reported.
const MAX_PROBLEMS: usize = 10;
/// Reason of the StatefulSet controller's events, and of ours.
const FAILED_CREATE: &str = "FailedCreate";
/// Beginnings of the parts of such an event that hold only names and numbers. Other parts could quote a value of the
/// pod template.
const HARMLESS_PREFIXES: [&str; 5] = [
    "exceeded quota: ",
    "failed quota: ",
    "violates PodSecurity ",
    "serviceaccount \"",
    "no PriorityClass ",
];

// === impl Context ===

impl Context {
    /// Adds why pods of the newest version are not ready. Nothing waits for those that are ignored or stopped, so their
    /// problems explain nothing.
    pub(super) async fn explain(
        &self,
        set: &QuarksStatefulSet,
        done: &mut Done,
        plan: &Plan,
        seen: &Seen,
    ) -> Result<(), Error> {
        if done.ready {
            return Ok(());
        }
        let is_wanted = |one: &&StatefulSet| plan.wanted.iter().any(|wanted| is_named(one, wanted));
        let newest: Vec<&StatefulSet> = seen.live.sets.iter().filter(is_wanted).collect();
        let (namespace, states) = (Identity::of(set)?.namespace, States::for_status(set));
        for set in newest.into_iter().filter(|set| !is_ready(set)) {
            let Identity { name, uid, .. } = Identity::of(set)?;
            let pods: Vec<Pod> = match &seen.pods {
                Some(listed) => listed.iter().filter(|pod| is_pod_of(pod, name)).cloned().collect(),
                None => {
                    let selector = format!("{}={name}", labels::STATEFUL_SET_NAME);
                    self.cluster.list(namespace, &selector).await?
                }
            };
            let counted = states.counted_pods(set, &pods);
            let problems = pod_problems::of_pods(&counted, &self.operator_image, Timestamp::now());
            done.problems.extend(problems);
            if i32::try_from(pods.len()).is_ok_and(|count| count < replicas(set)) {
                done.missing = true;
                let fields = format!("regarding.uid={uid},reason={FAILED_CREATE}");
                let events: Vec<Event> = self.cluster.list_with_fields(namespace, &fields).await?;
                done.problems.extend(refusal_problem(&events));
            }
        }
        done.problems.truncate(MAX_PROBLEMS);
        // Those that were just deleted have none any more.
        let is_gone = |name: &String| {
            plan.replace
                .iter()
                .any(|gone| gone.metadata.name.as_ref() == Some(name))
        };
        done.problems.retain(|problem| !is_gone(&problem.pod));
        Ok(())
    }
}

/// The problem that the newest of these events reports.
fn refusal_problem(events: &[Event]) -> Option<PodProblem> {
    let newest = events.iter().max_by_key(|event| last_time(event))?;
    let note = newest.note.as_deref().unwrap_or_default();
    let pod = note.strip_prefix("create Pod ").and_then(|rest| rest.split(' ').next());
    let words = HARMLESS_PREFIXES
        .iter()
        .find_map(|part| note.find(part).and_then(|at| note.get(at..)));
    let message = words.unwrap_or("the API server refuses the pod; see the events of the StatefulSet");
    Some(PodProblem {
        pod: pod.unwrap_or_default().into(),
        container: None,
        reason: FAILED_CREATE.into(),
        message: message.lines().next().unwrap_or_default().chars().take(600).collect(),
    })
}

/// When an event last occurred, in either version of the API.
fn last_time(event: &Event) -> Option<Timestamp> {
    let times = [
        event.series.as_ref().map(|series| series.last_observed_time.0),
        event.event_time.as_ref().map(|time| time.0),
        event.deprecated_last_timestamp.as_ref().map(|time| time.0),
    ];
    times.into_iter().flatten().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(note: &str, second: i64) -> Event {
        let time = Timestamp::from_second(second).unwrap().to_string();
        serde_json::from_value(
            json!({"metadata": {"name": "e"}, "note": note, "deprecatedLastTimestamp": time, "eventTime": null}),
        )
        .unwrap()
    }

    fn reported(why: &str) -> (String, String) {
        let note = format!(
            "create Pod d-g-z0-v1-0 in StatefulSet d-g-z0-v1 failed error: pods \"d-g-z0-v1-0\" is forbidden: {why}"
        );
        let problem = refusal_problem(&[
            event("create Pod x in StatefulSet y failed error: old", 1),
            event(&note, 2),
        ])
        .unwrap();
        (problem.pod, problem.message)
    }

    #[test]
    fn the_newest_refusal_is_reported_without_values() {
        for why in [
            "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2",
            "failed quota: few: must specify limits.cpu for: gateway",
            "violates PodSecurity \"restricted:latest\": runAsNonRoot != true (container \"c\" must not set runAsUser=0)",
        ] {
            assert_eq!(reported(why), ("d-g-z0-v1-0".to_string(), why.to_string()));
        }
        let (pod, message) = reported("spec.containers[0].env[3].value: Invalid value: \"CANARY\"");
        assert_eq!(pod, "d-g-z0-v1-0");
        assert!(!message.contains("CANARY"), "{message}");
        assert!(refusal_problem(&[]).is_none());
    }
}

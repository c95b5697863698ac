//! What the pods of a run report: which logs there are, and how containers ended. Pure.

use crate::containers;
use boson_cluster::pods::{init_statuses, main_statuses, statuses};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt;
use std::collections::BTreeMap;

/// The log of a container, from one of its starts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    pub pod: String,
    pub container: String,
    pub restarts: i32,
    /// Whether a user sees it: the errand's own output, or that of a container which kept it from starting.
    pub shown: bool,
}

/// What became of a start of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Runs,
    Ended,
    /// Its log is that of the previous start.
    Restarted,
    /// Its log cannot be read any more.
    Gone,
}

/// The logs that can be read. `own`: containers of the errand. `all`: those of other containers, too.
pub fn sources(pod: &Pod, own: &[String], all: bool) -> Vec<Source> {
    let of = |one: &ContainerStatus, shown: bool| Source {
        pod: pod.name_any(),
        container: one.name.clone(),
        restarts: one.restart_count,
        shown,
    };
    let init = init_statuses(pod).filter_map(|one| {
        let is_sidecar = is_sidecar(pod, &one.name);
        let is_there = if is_sidecar {
            has_started(one)
        } else {
            code(one).is_some()
        };
        let has_failed = !is_sidecar && code(one).is_some_and(|code| code != 0);
        is_there.then(|| of(one, has_failed))
    });
    let main = main_statuses(pod).filter_map(|one| {
        let shown = own.contains(&one.name);
        has_started(one).then(|| of(one, shown))
    });
    init.chain(main).filter(|source| source.shown || all).collect()
}

/// The exit codes of the errand's containers, from the newest of these pods. None: it did not end by itself.
pub fn exits(pods: &[Pod], own: &[String]) -> BTreeMap<String, i32> {
    let mut pods: Vec<&Pod> = pods.iter().collect();
    pods.sort_by_key(|pod| pod.metadata.creation_timestamp.clone());
    let ours = pods
        .into_iter()
        .flat_map(main_statuses)
        .filter(|one| own.contains(&one.name));
    ours.filter_map(|one| Some((one.name.clone(), code(one)?))).collect()
}

/// Whether a container of the errand has started.
pub fn have_started(pods: &[Pod], own: &[String]) -> bool {
    let mut shown = pods.iter().flat_map(|pod| sources(pod, own, false));
    shown.any(|source| own.contains(&source.container))
}

/// What became of this start of a container.
pub fn progress(pod: Option<&Pod>, source: &Source) -> Progress {
    let mut all = pod.into_iter().flat_map(statuses);
    match all.find(|one| one.name == source.container) {
        None => Progress::Gone,
        Some(one) if one.restart_count > source.restarts + 1 => Progress::Gone,
        Some(one) if one.restart_count > source.restarts => Progress::Restarted,
        Some(one) if code(one).is_some() => Progress::Ended,
        Some(_) => Progress::Runs,
    }
}

/// Runs beside the others, so its exit code is no failure.
fn is_sidecar(pod: &Pod, container: &str) -> bool {
    containers::main_and_sidecars(pod).any(|one| one.name == container)
}

fn has_started(one: &ContainerStatus) -> bool {
    let state = one.state.as_ref();
    state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
}

fn code(one: &ContainerStatus) -> Option<i32> {
    Some(one.state.as_ref()?.terminated.as_ref()?.exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn status(name: &str, state: Value) -> Value {
        json!({"name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 1, "state": state})
    }

    fn ended(code: i32) -> Value {
        json!({"terminated": {"exitCode": code}})
    }

    fn pod(name: &str, created: i64, init: &[Value], main: &[Value]) -> Pod {
        let created = k8s_openapi::jiff::Timestamp::from_second(created).unwrap().to_string();
        serde_json::from_value(json!({
            "metadata": {"name": name, "creationTimestamp": created},
            "spec": {"initContainers": [{"name": "logs", "restartPolicy": "Always"}], "containers": []},
            "status": {"initContainerStatuses": init, "containerStatuses": main},
        }))
        .unwrap()
    }

    fn names(sources: &[Source]) -> Vec<String> {
        let name = |one: &Source| format!("{}{}", one.container, if one.shown { "" } else { "?" });
        sources.iter().map(name).collect()
    }

    #[test]
    fn output_of_the_errand_is_shown_and_of_what_kept_it_from_starting() {
        let running = json!({"running": {}});
        let waiting = json!({"waiting": {"reason": "PodInitializing"}});
        let own = ["check-check".to_string()];
        let init = [status("logs", running.clone()), status("render", ended(0))];
        let pod_ok = pod(
            "p",
            1,
            &init,
            &[status("check-check", running), status("output", ended(0))],
        );
        assert_eq!(names(&sources(&pod_ok, &own, false)), ["check-check"]);
        assert_eq!(
            names(&sources(&pod_ok, &own, true)),
            ["logs?", "render?", "check-check", "output?"]
        );
        let failed = [status("render", ended(1))];
        let stuck = pod("p", 1, &failed, &[status("check-check", waiting)]);
        assert_eq!(names(&sources(&stuck, &own, false)), ["render"]);
        assert!(have_started(&[pod_ok], &own) && !have_started(&[stuck], &own));
    }

    #[test]
    fn the_newest_pod_has_the_exit_code() {
        let own = ["a".to_string()];
        let pods = [
            pod("second", 2, &[], &[status("a", ended(0))]),
            pod("first", 1, &[], &[status("a", ended(3)), status("other", ended(1))]),
        ];
        assert_eq!(exits(&pods, &own), [("a".to_string(), 0)].into());
        assert!(exits(&[], &own).is_empty());
    }

    #[test]
    fn the_log_of_a_start_can_be_read_until_the_second_restart() {
        let source = |restarts: i32| Source {
            pod: "p".into(),
            container: "a".into(),
            restarts,
            shown: true,
        };
        let running = pod("p", 1, &[], &[status("a", json!({"running": {}}))]);
        let found = [1, 0, -1].map(|restarts| progress(Some(&running), &source(restarts)));
        assert_eq!(found, [Progress::Runs, Progress::Restarted, Progress::Gone]);
        assert_eq!(progress(None, &source(1)), Progress::Gone);
        let ended = pod("p", 1, &[], &[status("a", ended(0))]);
        assert_eq!(progress(Some(&ended), &source(1)), Progress::Ended);
    }
}

//! The containers of a pod that a command is about.

use boson_cluster::client;
use boson_cluster::pods::statuses;
use boson_look::access::Access;
use boson_look::instances::Instance;
use boson_manifest::container_run::{IN_IMAGE, LOGS_CONTAINER, PROGRAM};
use k8s_openapi::api::core::v1::{Container, Pod};

/// The container that prints the log files that jobs write themselves.
pub const LOG_FILES: &str = LOGS_CONTAINER;
/// How the commands of containers begin that run container-run.
const CONTAINER_RUN_PATHS: [&str; 2] = [PROGRAM, IN_IMAGE];

/// Which logs of a container there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableLogs {
    pub current: bool,
    /// Of its previous run.
    pub previous: bool,
}

/// Why there is no such container.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    #[error("it has no pod")]
    NoPod,
    #[error("its pod is being deleted")]
    Leaving,
    #[error("its pod has no process")]
    NoProcess,
    #[error("its pod has no container '{wanted}'; containers: {known}")]
    Unknown { wanted: String, known: String },
}

/// The containers that run as long as the pod: those of processes, and sidecars.
pub fn main_and_sidecars(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| {
        let sidecars = spec.init_containers.iter().flatten();
        let sidecars = sidecars.filter(|one| one.restart_policy.as_deref() == Some("Always"));
        sidecars.chain(&spec.containers)
    })
}

pub fn job(container: &Container) -> Option<&str> {
    argument(container, "--job")
}

/// The log files that have what a container prints, below `/var/vcap/sys/log`.
pub fn files(container: &Container) -> Vec<String> {
    let program = argument(container, "--process").or_else(|| argument(container, "--name"));
    let file = |job: &str, program: &str, word: &str| format!("{job}/{program}.{word}.log");
    match (job(container), program) {
        (Some(job), Some(program)) => ["stdout", "stderr"].map(|word| file(job, program, word)).to_vec(),
        _ => Vec::new(),
    }
}

/// The subcommand of container-run that a container runs.
pub fn subcommand(container: &Container) -> Option<&str> {
    container_run_command(container)?.get(1).map(String::as_str)
}

/// The command of a container that runs container-run.
fn container_run_command(container: &Container) -> Option<&[String]> {
    let command = container.command.as_deref()?;
    CONTAINER_RUN_PATHS
        .contains(&command.first()?.as_str())
        .then_some(command)
}

fn argument<'c>(container: &'c Container, flag: &str) -> Option<&'c str> {
    let command = container_run_command(container)?;
    let at = command.iter().position(|word| word == flag)?;
    command.get(at + 1).map(String::as_str)
}

/// The container of an instance that runs a user's program: the first one of a process, or this one.
///
/// # Errors
/// The instance has no pod that runs, or the pod no such container.
pub fn of<'c>(
    access: &'c Access,
    instance: &'c Instance,
    wanted: Option<&str>,
) -> Result<client::Container<'c>, ContainerError> {
    let pod = instance.pod.as_ref().ok_or(ContainerError::NoPod)?;
    if pod.metadata.deletion_timestamp.is_some() {
        return Err(ContainerError::Leaving);
    }
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    Ok(access.container(name, choose(pod, wanted)?))
}

fn choose<'p>(pod: &'p Pod, wanted: Option<&str>) -> Result<&'p str, ContainerError> {
    let Some(wanted) = wanted else {
        let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
        let process = containers.clone().find(|one| argument(one, "--process").is_some());
        let first = process.or_else(|| containers.next());
        return first.map(|one| one.name.as_str()).ok_or(ContainerError::NoProcess);
    };
    let names = || main_and_sidecars(pod).map(|one| one.name.as_str());
    let found = names().find(|name| *name == wanted);
    found.ok_or_else(|| ContainerError::Unknown {
        wanted: wanted.into(),
        known: names().collect::<Vec<_>>().join(", "),
    })
}

/// The container that can read the log files of most processes: one that runs as root, if there is one. None: there is
/// no container with container-run that runs.
pub fn log_reader(pod: &Pod) -> Option<&str> {
    let with_container_run = |one: &&Container| container_run_command(one).is_some() && is_running(pod, &one.name);
    let is_root = |one: &&Container| one.security_context.as_ref().and_then(|context| context.run_as_user) == Some(0);
    let mut candidates = main_and_sidecars(pod).filter(with_container_run);
    let first = candidates.next();
    let root = first.filter(is_root).or_else(|| candidates.find(is_root));
    root.or(first).map(|one| one.name.as_str())
}

pub fn is_running(pod: &Pod, container: &str) -> bool {
    let mut own = statuses(pod).filter(|status| status.name == container);
    own.any(|status| status.state.as_ref().is_some_and(|state| state.running.is_some()))
}

pub fn available_logs(pod: &Pod, container: &str) -> AvailableLogs {
    let status = statuses(pod).find(|status| status.name == container);
    let state = status.and_then(|status| status.state.as_ref());
    let now = state.is_some_and(|state| state.running.is_some() || state.terminated.is_some());
    let last = status.and_then(|status| status.last_state.as_ref());
    let previous = last.is_some_and(|state| state.terminated.is_some());
    // A container that waits for its restart still has the log of the run that ended.
    AvailableLogs {
        current: now || previous,
        previous: previous && now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod() -> Pod {
        let process = |name: &str, job: &str, user: i64| {
            json!({"name": name, "command": ["/container-run/bin/container-run", "process", "--job", job, "--process", "p"],
                "securityContext": {"runAsUser": user}})
        };
        let wrapped = |name: &str, command: &[&str], policy: Option<&str>| json!({"name": name, "command": command, "restartPolicy": policy});
        let running = json!({"running": {}});
        let status = |name: &str, state: &Value, last: &Value| json!({"name": name, "image": "i", "imageID": "i", "ready": true, "restartCount": 0, "state": state, "lastState": last});
        let terminated = json!({"terminated": {"exitCode": 1}});
        serde_json::from_value(json!({
            "metadata": {"name": "d-web-0"},
            "spec": {
                "initContainers": [
                    wrapped("template-render", &["host", "util"], None),
                    wrapped("bosh-pre-start-a", &["/container-run/bin/container-run", "script", "--job", "a"], None),
                    wrapped("logs", &["/usr/bin/container-run", "logs"], Some("Always")),
                ],
                "containers": [{"name": "other", "command": ["x"]}, process("a-p", "a", 1000), process("b-p", "b", 0)],
            },
            "status": {
                "initContainerStatuses": [status("bosh-pre-start-a", &terminated, &Value::Null)],
                "containerStatuses": [
                    status("a-p", &running, &terminated),
                    status("b-p", &running, &Value::Null),
                    status("other", &json!({"waiting": {}}), &terminated),
                ],
            },
        }))
        .unwrap()
    }

    #[test]
    fn the_first_process_is_chosen_or_the_one_that_is_named() {
        let pod = pod();
        assert_eq!(choose(&pod, None), Ok("a-p"));
        assert_eq!(choose(&pod, Some("logs")), Ok("logs"));
        let error = choose(&pod, Some("bosh-pre-start-a")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "its pod has no container 'bosh-pre-start-a'; containers: logs, other, a-p, b-p"
        );
        assert_eq!(choose(&Pod::default(), None), Err(ContainerError::NoProcess));
    }

    #[test]
    fn files_are_read_by_a_container_of_root_that_runs() {
        let mut pod = pod();
        assert_eq!(log_reader(&pod), Some("b-p"));
        let statuses = pod.status.as_mut().unwrap().container_statuses.as_mut().unwrap();
        statuses.retain(|one| one.name != "b-p");
        assert_eq!(log_reader(&pod), Some("a-p"));
        assert_eq!(log_reader(&Pod::default()), None);
    }

    #[test]
    fn jobs_and_logs_of_containers_are_known() {
        let pod = pod();
        let jobs: Vec<Option<&str>> = boson_cluster::pods::containers(&pod).map(job).collect();
        assert_eq!(jobs, [None, Some("a"), None, None, Some("a"), Some("b")]);
        let logs = ["template-render", "bosh-pre-start-a", "a-p", "b-p", "other"].map(|name| {
            let logs = available_logs(&pod, name);
            (logs.current, logs.previous)
        });
        let wanted = [
            (false, false),
            (true, false),
            (true, true),
            (true, false),
            (true, false),
        ];
        assert_eq!(logs, wanted);
    }
}

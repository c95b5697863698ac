//! The probes of a container, without texts that may be values of variables: those that have some name a health check
//! that container-run does.

use crate::codes;
use crate::container_run::command_of_process;
use crate::group::Group;
use crate::group::job::Job;
use crate::group::ports::Port;
use crate::object::object;
use crate::process::Process;
use boson_document::{Report, Tree};
use boson_processes::probe::{HANDLERS, KINDS, by_container_run};

/// How long the first start of a process may take: BOSH gives monit's processes as long as `update` says, which is
/// often ten minutes.
const START_TIMEOUT_SECONDS: i64 = 600;
/// How often the start of a process is checked that waits for a pre-start script, and for how long at most: BOSH waits
/// without limit.
const START_CHECK_SECONDS: i64 = 2;
const MAX_PRE_START_SECONDS: i64 = 24 * 3600;
/// Kubernetes' defaults.
const PROBE_INTERVAL_SECONDS: i64 = 10;
const FAILURE_THRESHOLD: i64 = 3;

/// Requests with headers to ports of a name that only the kubelet could know.
pub fn check(group: &Group, report: &mut Report) {
    for job in &group.jobs {
        let probes = job.quarks.probes.iter();
        for (process, member, probe) in probes.flat_map(|(of, all)| all.iter().map(move |(key, one)| (of, key, one))) {
            let is_request = probe
                .as_object()
                .and_then(by_container_run)
                .is_some_and(|(part, _)| part == "httpGet");
            if !is_request || port(probe, group).is_some() {
                continue;
            }
            let place = job.place.at("properties").at("quarks").at("run").at("healthcheck");
            let text =
                "The port of a probe with headers must be a number, or a name in 'quarks.ports' of the instance group";
            report.error(codes::PROBE, place.at(process).at(kind(member)), text);
        }
    }
}

/// The probe as its container has it. `member`: `readinessProbe`, for example.
pub fn of_container(probe: &Tree, member: &str, group: &Group, job: &Job, process: &Process) -> Tree {
    let Some((replaced, _)) = probe.as_object().and_then(by_container_run) else {
        return probe.clone();
    };
    let mut command = command_of_process("probe", job, process).with("--name", kind(member));
    if replaced == "httpGet" {
        command = command.with("--port", port(probe, group).unwrap_or_default());
    }
    let exec = object! { "command" => command.list() };
    let members = probe.as_object().into_iter().flatten();
    let members = members.map(|(key, value)| {
        if key == replaced {
            ("exec".to_string(), exec.clone())
        } else {
            (key.clone(), value.clone())
        }
    });
    members.collect()
}

/// A startup probe for a container that has a liveness probe only: Kubernetes would restart it before it has started
/// for the first time.
pub fn startup(container: &Tree) -> Option<Tree> {
    let liveness = container.get("livenessProbe")?;
    if container.get("startupProbe").is_some() {
        return None;
    }
    let number = |key: &str, default: i64| {
        let given = liveness.i64(key).filter(|given| *given > 0);
        given.unwrap_or(default)
    };
    let period = number("periodSeconds", PROBE_INTERVAL_SECONDS);
    let failures = (START_TIMEOUT_SECONDS / period).max(number("failureThreshold", FAILURE_THRESHOLD));
    let members = liveness.as_object()?.iter();
    let handler = members.filter(|(key, _)| HANDLERS.contains(&key.as_str()) || *key == "timeoutSeconds");
    let handler: Tree = handler.map(|(key, value)| (key.clone(), value.clone())).collect();
    Some(handler.with("periodSeconds", period).with("failureThreshold", failures))
}

/// A startup probe that succeeds when the process has started, after the pre-start scripts that it waits for.
pub fn start(job: &Job, process: &Process) -> Tree {
    let command = command_of_process("ready", job, process).list();
    object! {
        "exec" => object! { "command" => command },
        "periodSeconds" => START_CHECK_SECONDS,
        "failureThreshold" => MAX_PRE_START_SECONDS / START_CHECK_SECONDS,
    }
}

fn kind(member: &str) -> &'static str {
    KINDS.iter().find(|(_, of)| *of == member).map_or("", |(kind, _)| *kind)
}

/// The number of the port that a request goes to.
fn port(probe: &Tree, group: &Group) -> Option<i64> {
    let port = probe.get("httpGet")?.get("port")?;
    let is_named = |known: &&Port| port.as_str() == Some(&known.name);
    let named = group.ports.iter().find(is_named).map(|known| i64::from(known.number));
    named.or_else(|| port.as_i64())
}

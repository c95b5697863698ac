//! Health checks: Kubernetes probes by process, as the user wrote them.

use crate::codes;
use crate::group::ports::is_container_port_name;
use crate::process::Process;
use crate::request::JobFiles;
use crate::rules::fields;
use boson_document::{Map, Place, Report, Tree};
use boson_processes::probe::{self, HANDLERS, KINDS};
use std::collections::HashMap;

/// The kind of a probe that tells whether a pod is active.
pub const ACTIVE_PASSIVE: &str = "active/passive";

/// Members of a container by process: `readinessProbe`, `livenessProbe`, `startupProbe`.
pub type Probes = HashMap<String, Map>;

/// The probes under `run.healthcheck`.
pub fn read(run: &Tree, files: &JobFiles, processes: &[Process], place: &Place, report: &mut Report) -> Probes {
    let mut out = Probes::new();
    let place = place.at("healthcheck");
    for (process, kinds) in run.members("healthcheck").into_iter().flatten() {
        let place = place.at(process);
        if processes.iter().all(|other| other.name != *process) {
            let job = &files.job;
            let text = format!("Health check of '{process}' has no effect: job '{job}' has no process of this name");
            report
                .warning(codes::PROBE, &place, text)
                .suggest(process, processes.iter().map(|other| other.name.as_str()));
        }
        let mut members = Map::new();
        for (kind, member) in KINDS {
            let Some(probe) = kinds.get(kind).filter(|probe| !probe.is_null()) else {
                continue;
            };
            if let Some(probe) = flat(probe, process, kind, &place.at(kind), report) {
                members.insert(member.into(), probe);
            }
        }
        out.insert(process.clone(), members);
    }
    out
}

/// The probe without the level `handler` that older manifests have.
fn flat(probe: &Tree, process: &str, kind: &str, place: &Place, report: &mut Report) -> Option<Tree> {
    check_fields(probe, place, report);
    let map = probe::flat(probe)?;
    let handlers = HANDLERS
        .iter()
        .filter(|handler| map.get(**handler).is_some_and(|value| value.as_object().is_some()))
        .count();
    if handlers != 1 {
        let handlers = HANDLERS.join(", ");
        let text = format!("The {kind} probe of process '{process}' needs exactly one of {handlers}");
        report.error(codes::PROBE, place, text);
        return None;
    }
    check_values(&map, kind, place, report);
    Some(map.into())
}

/// Fields and values of a probe that has its handler at the first level.
pub fn check(probe: &Tree, kind: &str, place: &Place, report: &mut Report) {
    check_fields(probe, place, report);
    if let Some(map) = probe.as_object() {
        check_values(map, kind, place, report);
    }
}

/// The fields are those of Kubernetes, at their places in the manifest.
fn check_fields(probe: &Tree, place: &Place, report: &mut Report) {
    let mut probe = probe.clone();
    let handler = probe.as_object_mut().and_then(|map| map.shift_remove("handler"));
    fields::check("core.v1.Probe", &probe, place, report);
    if let Some(handler) = handler {
        fields::check("core.v1.Probe", &handler, &place.at("handler"), report);
    }
}

/// Values that Kubernetes would refuse only when the objects are applied.
fn check_values(probe: &Map, kind: &str, place: &Place, report: &mut Report) {
    let number = |key: &str| probe.get(key).and_then(Tree::as_i64);
    let mut report_error = |key: &str, why: &str| {
        report.error(codes::PROBE, place.at(key), format!("'{key}' {why}"));
    };
    for key in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        if number(key).is_some_and(|number| number < 0) {
            report_error(key, "should be greater than -1");
        }
    }
    let is_of_health = !["readiness", ACTIVE_PASSIVE].contains(&kind);
    if is_of_health && number("successThreshold").is_some_and(|number| number > 1) {
        report_error("successThreshold", "must be 1, except for a readiness probe");
    }
    let grace = number("terminationGracePeriodSeconds");
    if grace.is_some_and(|_| !is_of_health) {
        let why = match kind {
            ACTIVE_PASSIVE => "has no meaning for an active/passive probe",
            _ => "has no meaning for a readiness probe",
        };
        report_error("terminationGracePeriodSeconds", why);
    } else if grace.is_some_and(|grace| grace <= 0) {
        report_error("terminationGracePeriodSeconds", "should be greater than 0");
    }
    if let Some(command) = probe.get("exec")
        && command.items("command").is_empty()
    {
        let text = "'exec' needs a 'command' with at least one word";
        report.error(codes::PROBE, place.at("exec"), text);
    }
    check_ports(probe, place, report);
    check_request(probe.get("httpGet"), place, report);
}

fn check_ports(probe: &Map, place: &Place, report: &mut Report) {
    for (handler, is_name_allowed) in [("httpGet", true), ("tcpSocket", true), ("grpc", false)] {
        let port = probe.get(handler).and_then(|handler| handler.get("port"));
        let is_port = |port: &Tree| match port {
            Tree::String(name) => is_name_allowed && is_container_port_name(name),
            port => port.as_i64().is_none_or(|port| (1..=65_535).contains(&port)),
        };
        if port.is_some_and(|port| !is_port(port)) {
            let place = place.at(handler).at("port");
            let text = "'port' must be a number from 1 to 65535, or the name of a port";
            report.error(codes::PROBE, place, text);
        }
    }
}

fn check_request(request: Option<&Tree>, place: &Place, report: &mut Report) {
    let Some(request) = request else { return };
    let place = place.at("httpGet");
    if request
        .str("scheme")
        .is_some_and(|scheme| !["", "HTTP", "HTTPS"].contains(&scheme))
    {
        report.error(codes::PROBE, place.at("scheme"), "'scheme' must be HTTP or HTTPS");
    }
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    for (index, header) in request.items("httpHeaders").iter().enumerate() {
        let name = header.str("name").unwrap_or_default();
        if name.is_empty() || !name.bytes().all(is_token) {
            let text = "'name' must be the name of an HTTP header";
            report.error(codes::PROBE, place.at("httpHeaders").at(index), text);
        }
    }
}

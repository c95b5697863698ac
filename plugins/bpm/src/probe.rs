//! Health checks: Kubernetes probes by process, as the user wrote them.

use crate::codes;
use crate::process::Process;
use crate::request::JobFiles;
use boson_document::{Map, Place, Report, Tree};
use std::collections::HashMap;

/// Members of a container by process: `readinessProbe`, `livenessProbe`, `startupProbe`.
pub type Probes = HashMap<String, Map>;

const KINDS: [(&str, &str); 3] = [
    ("readiness", "readinessProbe"),
    ("liveness", "livenessProbe"),
    ("startup", "startupProbe"),
];
const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

/// The probes under `run.healthcheck`.
pub fn read(run: &Tree, files: &JobFiles, processes: &[Process], place: &Place, report: &mut Report) -> Probes {
    let mut out = Probes::new();
    let place = place.at("healthcheck");
    for (process, kinds) in run.get("healthcheck").and_then(Tree::as_object).into_iter().flatten() {
        let place = place.at(process);
        if processes.iter().all(|other| other.name != *process) {
            let text = format!(
                "Health check of '{process}' has no effect: job '{}' has no process of this name",
                files.job
            );
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
    let mut map = probe.as_object()?.clone();
    if let Some(Tree::Object(handler)) = map.shift_remove("handler") {
        map.extend(handler);
    }
    let handlers = HANDLERS
        .iter()
        .filter(|handler| map.get(**handler).is_some_and(|value| value.as_object().is_some()))
        .count();
    if handlers != 1 {
        let text = format!(
            "The {kind} probe of process '{process}' needs exactly one of {}",
            HANDLERS.join(", ")
        );
        report.error(codes::PROBE, place, text);
        return None;
    }
    Some(map.into())
}

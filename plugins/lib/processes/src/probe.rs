//! The health checks of the job property `quarks.run.healthcheck` that container-run does: those whose texts may be
//! values of variables. A probe in a workload is readable for everybody who may read workloads, so it only names the
//! check.

use boson_document::{Map, Tree};

/// The kinds, and the members of a container that hold them.
pub const KINDS: [(&str, &str); 3] = [
    ("readiness", "readinessProbe"),
    ("liveness", "livenessProbe"),
    ("startup", "startupProbe"),
];

/// What a probe does: exactly one of these.
pub const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

/// The probe without the level `handler` that older manifests have.
pub fn flat(probe: &Tree) -> Option<Map> {
    let mut map = probe.as_object()?.clone();
    if let Some(Tree::Object(handler)) = map.shift_remove("handler") {
        map.extend(handler);
    }
    Some(map)
}

/// What container-run does for a probe, and the member of the probe that says so: commands, and HTTP requests with
/// headers, but without TLS. `None`: the kubelet does it.
pub fn by_container_run(probe: &Map) -> Option<(&'static str, Tree)> {
    if let Some(command) = probe.get("exec").and_then(|exec| exec.get("command")) {
        return Some(("exec", Tree::object().with("exec", command.clone())));
    }
    let request = probe.get("httpGet")?;
    let headers = request.items("httpHeaders");
    if headers.is_empty() || request.str("scheme") == Some("HTTPS") {
        return None;
    }
    let pair = |header: &Tree| {
        let text = |key: &str| header.str(key).unwrap_or_default();
        Tree::from(vec![text("name"), text("value")])
    };
    let http = Tree::object()
        .with("host", request.str("host").unwrap_or_default())
        .with("path", request.str("path").unwrap_or_default())
        .with("headers", headers.iter().map(pair).collect::<Vec<_>>());
    Some(("httpGet", Tree::object().with("http", http)))
}

/// What container-run does for all probes of a job, by process and kind.
pub fn all(quarks: &Tree) -> Tree {
    let checks = quarks.get("run").and_then(|run| run.get("healthcheck"));
    let of_process = |(process, probes): (&String, &Tree)| {
        let known = KINDS.iter().filter_map(|(kind, _)| {
            let (_, done) = by_container_run(&flat(probes.get(kind)?)?)?;
            Some((*kind, done))
        });
        let known: Tree = known.collect();
        (process.clone(), known)
    };
    let processes = checks.and_then(Tree::as_object).into_iter().flatten();
    processes.map(of_process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn commands_and_headers_are_of_container_run_and_other_probes_of_the_kubelet() {
        let quarks = r#"{"run": {"healthcheck": {"a": {
            "readiness": {"handler": {"httpGet": {"path": "/h", "port": 1, "httpHeaders": [{"name": "X", "value": "y"}, {"name": "Z"}]}}},
            "liveness": {"exec": {"command": ["/c", "secret"]}, "periodSeconds": 1},
            "startup": {"tcpSocket": {"port": 1}}},
            "b": {"readiness": {"httpGet": {"port": 1}},
            "liveness": {"httpGet": {"port": 1, "scheme": "HTTPS", "httpHeaders": [{"name": "X", "value": "y"}]}}}}}}"#;
        let expected = r#"{"a":{"readiness":{"http":{"host":"","path":"/h","headers":[["X","y"],["Z",""]]}},"liveness":{"exec":["/c","secret"]}},"b":{}}"#;
        assert_eq!(json::to_text(&all(&json::parse(quarks).unwrap())), expected);
    }
}

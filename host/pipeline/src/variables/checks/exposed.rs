//! Variables at places whose content becomes a part of objects that are no Secrets: whoever may read workloads would
//! read their values.

use crate::diagnostic::Diagnostic;
use crate::stage::Named;
use crate::variables::{codes, suggests_secret};
use boson_document::placeholder::{each_string, scan};
use boson_document::{Pointer, Tree, ruby};
use std::collections::{BTreeSet, HashSet};

const EXPOSED_HELP: &str = "use it in a property that a template reads, in `quarks.envs`, or in the `exec.command` or \
                            the `httpHeaders` (not with HTTPS) of a health check: these are read from a Secret";

/// Members of a process in `quarks.bpm` that only container-run reads, in the pod.
const READ_IN_POD: [&str; 5] = ["executable", "args", "env", "workdir", "hooks"];

/// The errors of a manifest with its placeholders: about variables that it defines, and those whose names suggest
/// secrets.
pub fn check(document: Named<'_>) -> Vec<Diagnostic> {
    let defined = document.tree.items("variables").iter();
    let defined: HashSet<String> = defined.filter_map(|one| ruby::member(one, "name")).collect();
    let mut found = BTreeSet::new();
    each_string(document.tree, &mut Pointer::root(), &mut |text, place, _| {
        for name in scan(text).map(|placeholder| placeholder.root()) {
            if (defined.contains(name) || suggests_secret(name)) && is_exposed(place, text, document.tree) {
                found.insert((place.to_string(), name.to_string()));
            }
        }
    });
    let error = |(place, name): (String, String)| {
        let message = format!("The value of variable '{name}' would be readable in an object that is no Secret");
        Diagnostic::error(codes::VARIABLES_EXPOSED, message)
            .in_document(document.name)
            .at(place)
            .help(EXPOSED_HELP)
    };
    found.into_iter().map(error).collect()
}

/// Whether the text at this place becomes a part of an object.
fn is_exposed(place: &Pointer, text: &str, tree: &Tree) -> bool {
    let tokens: Vec<&str> = place.tokens().iter().map(String::as_str).collect();
    match tokens.as_slice() {
        ["tags" | "stemcells", ..] => true,
        ["releases", _, key, ..] => *key != "credentials",
        [
            "instance_groups" | "addons",
            _,
            "jobs",
            _,
            "properties",
            "quarks" | "bosh_containerization",
            below @ ..,
        ] => is_exposed_of_quarks(below, text, || request(place, tokens.len() - below.len(), tree)),
        ["instance_groups", _, "env", "bosh", "agent", "settings", below @ ..] => match below {
            ["preRenderOps", kind, _, "value", ..] => is_exposed_by_operation(kind, place, tree),
            ["preRenderOps", ..] => false,
            _ => true,
        },
        ["instance_groups", _, key, ..] => {
            ["name", "azs", "stemcell", "persistent_disk_type", "networks", "tags"].contains(key)
        }
        ["cloud_config", .., "cloud_properties", key] | ["cloud_config", .., "cloud_properties", key, _] => {
            ["zone", "storage_class", "labels", "tolerations", "node_selector"].contains(key)
        }
        _ => false,
    }
}

/// Whether an operation on the resolved documents of a group writes its value to where it becomes a part of an object.
fn is_exposed_by_operation(kind: &str, place: &Pointer, tree: &Tree) -> bool {
    let tokens = place.tokens();
    let end = tokens.iter().position(|token| token == "preRenderOps").unwrap_or(0) + 3;
    let operation = Pointer::root().join(tokens.get(..end).unwrap_or_default());
    let path = operation.find(tree).and_then(|operation| operation.str("path"));
    let tokens: Vec<&str> = path.unwrap_or_default().split('/').collect();
    let leads_to = |name: &str| tokens.iter().any(|token| token.trim_end_matches('?') == name);
    match kind {
        "bpm" => !READ_IN_POD.iter().any(|name| leads_to(name)),
        _ => ["settings", "quarks", "bosh_containerization", "tags"]
            .into_iter()
            .any(leads_to),
    }
}

fn is_exposed_of_quarks<'t>(below: &[&str], text: &str, request: impl Fn() -> Option<&'t Tree>) -> bool {
    match below {
        // Kubernetes replaces references to other variables.
        ["envs", _, "value"] => text.contains("$("),
        ["envs" | "ports" | "activePassiveProbes" | "sharePackages", ..]
        | [
            "run",
            "capabilities" | "security_context" | "sysctls" | "writable_packages",
            ..,
        ] => true,
        ["run", "healthcheck", _, _, "handler", probe @ ..] | ["run", "healthcheck", _, _, probe @ ..] => match probe {
            ["exec", "command", ..] => false,
            ["httpGet", ..] => !request().is_some_and(is_by_container_run),
            _ => true,
        },
        ["bpm", "processes", _, key, ..] => !READ_IN_POD.contains(key),
        _ => false,
    }
}

/// The HTTP request of a health check around this place. `quarks`: how many tokens lead to the property.
fn request<'t>(place: &Pointer, quarks: usize, tree: &'t Tree) -> Option<&'t Tree> {
    let tokens = place.tokens();
    // After `run`, `healthcheck`, the names of the process and of the kind.
    let at = quarks + 4 + tokens.iter().skip(quarks + 4).position(|token| token == "httpGet")?;
    Pointer::root().join(tokens.get(..=at)?).find(tree)
}

/// Whether container-run sends the request: see `probe` in `plugins/lib/processes`.
fn is_by_container_run(request: &Tree) -> bool {
    !request.items("httpHeaders").is_empty() && request.str("scheme") != Some("HTTPS")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    /// Places of the errors for this group.
    fn places(group: &str) -> Vec<String> {
        let text = format!(
            r#"{{"variables": [{{"name": "v", "type": "password"}}], "instance_groups": [{group}],
                "releases": [{{"name": "r", "credentials": {{"password": "((v))"}}}}]}}"#
        );
        let tree = json::parse(&text).unwrap();
        let found = check(Named { name: "m", tree: &tree });
        let prefix = "/instance_groups/0";
        let place = |one: &Diagnostic| one.place.pointer.clone().unwrap_or_default();
        found
            .iter()
            .map(|one| place(one).strip_prefix(prefix).unwrap().to_string())
            .collect()
    }

    fn of_quarks(quarks: &str) -> Vec<String> {
        let group = format!(r#"{{"jobs": [{{"properties": {{"quarks": {quarks}, "a": {{"run": "((v))"}}}}}}]}}"#);
        let places = places(&group).into_iter();
        places
            .map(|place| place.replace("/jobs/0/properties/quarks", ""))
            .collect()
    }

    #[test]
    fn settings_of_the_agent_and_tags_are_copied_to_objects() {
        let settings = r#"{"labels": {"a": "x-((v))", "((v))": "b"}, "annotations": {"c": "((v.d))", "e": "((other))"},
            "imagePullSecrets": [{"name": "((api_token))"}], "disks": [{"volume": {"name": "((v))"}}],
            "preRenderOps": {"bpm": [{"path": "/processes/0/env/A?", "value": "((v))"},
                {"path": "/processes/0/additional_volumes?/-", "value": {"path": "((v))"}}],
                "instanceGroup": [{"path": "/env/bosh/agent/settings/labels?/a", "value": "((v))"},
                {"path": "/jobs/name=a/properties/x", "value": "((v))"}]}}"#;
        let group = format!(
            r#"{{"tags": {{"t": "((v))"}}, "env": {{"x": "((v))", "bosh": {{"agent": {{"settings": {settings}}}}}}}}}"#
        );
        let settings = "/env/bosh/agent/settings";
        let expected = [
            "/annotations/c",
            "/disks/0/volume/name",
            "/imagePullSecrets/0/name",
            "/labels/((v))",
            "/labels/a",
            "/preRenderOps/bpm/1/value/path",
            "/preRenderOps/instanceGroup/0/value",
        ];
        let expected: Vec<String> = expected.iter().map(|place| format!("{settings}{place}")).collect();
        assert_eq!(places(&group), [expected, vec!["/tags/t".to_string()]].concat());
    }

    #[test]
    fn texts_that_are_read_in_the_pod_may_be_values() {
        let quarks = r#"{"envs": [{"name": "A", "value": "((v))"}], "post_start": {"condition": {"exec": {"command": ["((v))"]}}},
            "bpm": {"processes": [{"name": "p", "args": ["((v))"], "env": {"A": "((v))"}}]},
            "run": {"healthcheck": {"p": {
                "readiness": {"exec": {"command": ["a", "((v))"]}},
                "liveness": {"handler": {"httpGet": {"path": "/?((v))", "port": 1, "httpHeaders": [{"name": "a", "value": "((v))"}]}}}}}}}"#;
        assert_eq!(of_quarks(quarks), Vec::<String>::new());
    }

    #[test]
    fn texts_that_are_copied_to_containers_may_not() {
        let quarks = r#"{"envs": [{"name": "A", "value": "$(POD_IP)((v))"}, {"name": "((v))"}],
            "bpm": {"processes": [{"name": "((v))", "limits": {"memory": "((v))"}}]},
            "activePassiveProbes": {"p": {"exec": {"command": ["((v))"]}}},
            "run": {"capabilities": ["((v))"], "security_context": {"seLinuxOptions": {"user": "((v))"}},
                "sysctls": {"kernel.sem": "((v))"}, "writable_packages": ["((v))"], "healthcheck": {"p": {
                "readiness": {"httpGet": {"path": "/((v))", "port": 1}},
                "liveness": {"httpGet": {"scheme": "HTTPS", "httpHeaders": [{"name": "a", "value": "((v))"}]}},
                "startup": {"grpc": {"service": "((v))"}}}}}}"#;
        let expected = [
            "/activePassiveProbes/p/exec/command/0",
            "/bpm/processes/0/limits/memory",
            "/bpm/processes/0/name",
            "/envs/0/value",
            "/envs/1/name",
            "/run/capabilities/0",
            "/run/healthcheck/p/liveness/httpGet/httpHeaders/0/value",
            "/run/healthcheck/p/readiness/httpGet/path",
            "/run/healthcheck/p/startup/grpc/service",
            "/run/security_context/seLinuxOptions/user",
            "/run/sysctls/kernel.sem",
            "/run/writable_packages/0",
        ];
        assert_eq!(of_quarks(quarks), expected);
    }
}

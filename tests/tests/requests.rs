//! Requests to the built-in plugins: a plugin rejects a request that has a member which it must know and does not know.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use boson_tests::{built_in, host_with_input};
use serde_json::{Value, json};

/// A member that no plugin knows.
fn more(required: bool) -> Value {
    let name = if required { "required-color" } else { "color" };
    json!([{"name": name, "value": {"red": 1}}])
}

fn deployment() -> Value {
    json!({"name": "demo", "namespace": "n", "cluster-domain": "cluster.local", "operator-image": "o", "spread": "total"})
}

/// Calls a function of a built-in plugin with a member in the record at `place`; the code of its error, if any.
fn call(stage: &str, function: &str, mut request: Value, place: &str, required: bool) -> (i32, String) {
    request.pointer_mut(place).unwrap()["more"] = more(required);
    let scratch = tempfile::tempdir().unwrap();
    let plugin = built_in(&format!("{stage}.wasm")).unwrap();
    let arguments = [
        "run-plugin".as_ref(),
        plugin.as_os_str(),
        "--call".as_ref(),
        function.as_ref(),
    ];
    let ran = host_with_input(scratch.path(), arguments, request.to_string().as_bytes()).unwrap();
    (ran.code, ran.stderr)
}

#[test]
fn a_plugin_rejects_a_required_member_in_any_record_and_ignores_others() {
    let job = json!({"release": "r", "job": "j", "document-name": "j/job.MF", "spec": {"name": "j"}});
    let manifest = json!({"name": "demo", "releases": [], "stemcells": [], "instance_groups": [], "update": {}});
    let links = json!({"document": manifest, "document-name": "m.yml", "deployment": deployment(), "jobs": [job]});
    let variable = json!({"name": "v", "kind": "password", "options": null, "pointer": "/variables/0"});
    let of_deployment = json!({"request": {
        "deployment": deployment(), "document": manifest, "document-name": "m.yml", "variables": [variable],
    }});
    let files = json!({"job": "j", "release": "r", "templates": [], "monitored": false, "bpm": []});
    let of_group = json!({"request": {
        "deployment": deployment(), "group": {"name": "demo"}, "document-name": "m.yml", "pointer": "",
        "resolved-secret": "s", "jobs": [files],
    }});
    for (stage, function, request, place) in [
        ("links", "resolve", &links, "/deployment"),
        ("links", "resolve", &links, "/jobs/0"),
        ("links", "addresses", &links, "/deployment"),
        ("links", "addresses", &links, "/jobs/0"),
        ("bpm", "convert-deployment", &of_deployment, "/request"),
        ("bpm", "convert-deployment", &of_deployment, "/request/deployment"),
        ("bpm", "convert-deployment", &of_deployment, "/request/variables/0"),
        ("bpm", "convert-group", &of_group, "/request"),
        ("bpm", "convert-group", &of_group, "/request/deployment"),
        ("bpm", "convert-group", &of_group, "/request/jobs/0"),
    ] {
        let (code, report) = call(stage, function, request.clone(), place, true);
        let wanted = format!(
            "error[{stage}-required-member]: The request has the member 'required-color', which this plugin does not know"
        );
        assert!(code == 1 && report.contains(&wanted), "{function} {place}: {report}");
        let (_, report) = call(stage, function, request.clone(), place, false);
        assert!(
            !report.contains("required-member") && !report.contains("plugin-"),
            "{function} {place}: {report}"
        );
    }
}

//! Requests to the built-in plugins: a plugin rejects a request that has a member which it must know and does not know.

use boson_tests::{built_in, host_with_input};
use serde_json::{Value, json};

/// A member that no plugin knows.
fn more(required: bool) -> Value {
    let name = if required { "required-color" } else { "color" };
    json!([{"name": name, "value": {"red": 1}}])
}

fn options() -> Value {
    json!({"cluster-domain": "cluster.local", "operator-image": "o", "spread": "total"})
}

/// Calls a function of a built-in plugin with a member in the record at `place`: the code of its error, if any.
fn call(stage: &str, function: &str, request: &Value, place: &str, required: bool) -> (i32, String) {
    let deployment = json!({"name": "demo", "namespace": "n"});
    let mut request = json!({"request": request, "context": {"deployment": deployment}});
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
    let link = json!({"name": "l", "type": "t", "origin": "Secret 'l'", "link": {}});
    let manifest = json!({"name": "demo", "releases": [], "stemcells": [], "instance_groups": [], "update": {}});
    let links = json!({"document": manifest, "document-name": "m.yml", "options": options(), "jobs": [job],
        "native": [link], "deployments": [{"name": "other", "links": [link]}]});
    let variable = json!({"name": "v", "kind": "password", "options": null, "pointer": "/variables/0"});
    let of_deployment = json!({
        "options": options(), "document": manifest, "document-name": "m.yml", "variables": [variable],
    });
    let files = json!({"job": "j", "release": "r", "templates": [], "monitored": false, "bpm": []});
    let of_group = json!({
        "options": options(), "group": {"name": "demo"}, "document-name": "m.yml", "pointer": "",
        "resolved-secret": "s", "jobs": [files],
    });
    let document = json!({"document": {"a": 1}, "document-name": "m.yml", "rules": "cli", "values": {}, "path": "/a"});
    let part = |names: &[&str]| {
        names
            .iter()
            .map(|name| (name.to_string(), document[name].clone()))
            .collect::<Value>()
    };
    let (apply, find) = (
        part(&["document", "document-name"]),
        part(&["document", "document-name", "path"]),
    );
    let (plan, interpolate) = (
        part(&["document", "document-name", "rules"]),
        part(&["document", "document-name", "rules", "values"]),
    );
    let render = json!({"spec": {}});
    let records_of_links = &[
        "options",
        "jobs/0",
        "native/0",
        "deployments/0",
        "deployments/0/links/0",
    ][..];
    let mut cases = Vec::new();
    for (stage, function, request, records) in [
        ("ops", "apply", &apply, &[][..]),
        ("ops", "find", &find, &[]),
        ("variables", "plan", &plan, &[]),
        ("variables", "interpolate", &interpolate, &[]),
        ("links", "resolve", &links, records_of_links),
        ("links", "addresses", &links, records_of_links),
        ("render", "render", &render, &[]),
        ("bpm", "convert-deployment", &of_deployment, &["options", "variables/0"]),
        ("bpm", "convert-group", &of_group, &["options", "jobs/0"]),
    ] {
        let records = records.iter().map(|record| format!("/request/{record}"));
        let common = ["/request", "/context", "/context/deployment"].map(str::to_string);
        cases.extend(records.chain(common).map(|place| (stage, function, request, place)));
    }
    for (stage, function, request, place) in cases {
        let (code, report) = call(stage, function, request, &place, true);
        let wanted = format!(
            "error[{stage}-required-member]: The call has the member 'required-color', which this plugin does not know"
        );
        assert!(code == 1 && report.contains(&wanted), "{function} {place}: {report}");
        let (_, report) = call(stage, function, request, &place, false);
        assert!(
            !report.contains("required-member") && !report.contains("plugin-"),
            "{function} {place}: {report}"
        );
    }
}

//! Every key of the tables has the fate that its table says: used without a word, warned about, or refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_bpm::convert;
use boson_bpm::keys::{Fate, GROUP, JOB, Key, MANIFEST, QUARKS};
use boson_bpm::report::{Diagnostic, Severity};
use boson_bpm::request::{Deployment, DeploymentRequest, GroupRequest, JobFiles};
use boson_bpm::value::Kind;
use boson_document::{Pointer, Tree, json};

type Convert = fn(&Tree) -> Vec<Diagnostic>;

fn deployment() -> Deployment {
    Deployment {
        name: "demo".into(),
        namespace: "default".into(),
        cluster_domain: "cluster.local".into(),
        operator_image: "boson:1".into(),
        registry: None,
    }
}

const MINIMAL: &str = r#"{
    "name": "demo",
    "releases": [{"name": "r", "version": "1", "url": "example.org/x", "stemcell": {"os": "o", "version": "1"}}],
    "instance_groups": [{"name": "g", "instances": 1, "jobs": [{"name": "j", "release": "r", "properties": {"quarks": {}}}]}]
}"#;

fn of_manifest(document: &Tree) -> Vec<Diagnostic> {
    let request = DeploymentRequest {
        deployment: deployment(),
        document: document.clone(),
        document_name: "m".into(),
        variables: Vec::new(),
    };
    match convert::deployment(&request, &Tree::Null) {
        Ok(converted) => converted.diagnostics,
        Err(diagnostics) => diagnostics,
    }
}

fn of_group(document: &Tree) -> Vec<Diagnostic> {
    let bpm = json::parse(r#"{"processes": [{"name": "p", "executable": "/p"}]}"#).unwrap();
    let copy = boson_bpm::request::BpmCopy {
        document_name: "b".into(),
        instances: vec![0],
        bpm,
    };
    let files = JobFiles {
        job: "j".into(),
        release: "r".into(),
        templates: vec!["config/bpm.yml".into()],
        monitored: true,
        bpm: vec![copy],
    };
    let request = GroupRequest {
        deployment: deployment(),
        group: document.clone(),
        document_name: "m".into(),
        pointer: "/instance_groups/0".into(),
        jobs: vec![files],
        resolved_secret: "s".into(),
    };
    match convert::group(&request, &Tree::object()) {
        Ok(converted) => converted.diagnostics,
        Err(diagnostics) => diagnostics,
    }
}

/// A value of the right type; where a key is checked further, a good one.
fn sample(path: &str, kind: Kind) -> Tree {
    let text = match path {
        "name" => r#""demo""#,
        "features.use_dns_addresses" => "true",
        "update.serial" => "false",
        "update.vm_strategy" => r#""delete-create""#,
        "update.initial_deploy_az_update_strategy" => r#""parallel""#,
        "update.canaries" | "update.max_in_flight" => "1",
        "update.canary_watch_time" | "update.update_watch_time" => r#""1000 - 2000""#,
        "lifecycle" => r#""service""#,
        "env.bosh.agent.settings.dns" => r#""10.0.0.10""#,
        "ports[].internal" => "80",
        "ports[].protocol" => r#""UDP""#,
        "run.healthcheck.*.readiness" => r#"{"exec": {"command": ["true"]}}"#,
        "azs" => r#"["z1"]"#,
        "releases[].stemcell" => r#"{"os": "o", "version": "1"}"#,
        "releases[].credentials" => r#"{"username": "u", "password": "p"}"#,
        "vm_resources" => r#"{"cpu": 1, "ram": 1, "ephemeral_disk_size": 1}"#,
        "jobs" if kind == Kind::Array => r#"[{"name": "j", "release": "r"}]"#,
        _ if path.starts_with("features.") => "true",
        _ => match kind {
            Kind::String => r#""x""#,
            Kind::Integer | Kind::Number => "1",
            Kind::Boolean => "true",
            Kind::Hash | Kind::Any => "{}",
            Kind::Array => "[]",
        },
    };
    json::parse(text).unwrap()
}

/// What must be beside a key.
fn siblings(path: &str) -> &'static [(&'static str, &'static str)] {
    match path {
        "persistent_disk_type" => &[("/persistent_disk", "1")],
        _ if path.starts_with("vm_resources.") => {
            &[("/vm_resources", r#"{"cpu": 1, "ram": 1, "ephemeral_disk_size": 1}"#)]
        }
        _ if path.starts_with("stemcells[].") => &[("/stemcells", r#"[{"alias": "x", "os": "o", "version": "1"}]"#)],
        _ if path.starts_with("releases[].credentials.") => {
            &[("/releases/0/credentials", r#"{"username": "u", "password": "p"}"#)]
        }
        _ if path.starts_with("ports[].") => &[("/ports", r#"[{"name": "x", "internal": 81}]"#)],
        _ if path.starts_with("addons[].") => &[("/addons", r#"[{"name": "a"}]"#)],
        _ => &[],
    }
}

/// Puts a value where a table's path says: `[]` is the first item, `*` some name.
fn put(tree: &mut Tree, root: &Pointer, path: &str, value: Tree) -> Pointer {
    let path = path
        .replace("run.healthcheck.*", "run.healthcheck.p")
        .replace('*', "something");
    let tokens = path.split('.').flat_map(|token| match token.strip_suffix("[]") {
        Some(name) => vec![name.to_string(), "0".to_string()],
        None => vec![token.to_string()],
    });
    let at = root.join(&tokens.collect::<Vec<_>>());
    insert(tree, at.tokens(), value);
    at
}

fn insert(tree: &mut Tree, tokens: &[String], value: Tree) {
    let Some((first, rest)) = tokens.split_first() else {
        *tree = value;
        return;
    };
    let next = match (first.parse::<usize>(), &mut *tree) {
        (Ok(index), Tree::Array(items)) => {
            if items.len() <= index {
                items.push(Tree::object());
            }
            &mut items[index]
        }
        _ => {
            if tree.get(first).is_none() {
                let list = rest.first().is_some_and(|token| token == "0");
                tree.set(
                    first.clone(),
                    if list { Tree::Array(Vec::new()) } else { Tree::object() },
                );
            }
            tree.get_mut(first).unwrap()
        }
    };
    insert(next, rest, value);
}

fn check(table: &[Key], root: &str, convert: Convert) {
    for key in table {
        let mut document = json::parse(MINIMAL).unwrap();
        let root = Pointer::parse(root).unwrap();
        for (pointer, value) in siblings(key.path) {
            let at = root.join(Pointer::parse(pointer).unwrap().tokens());
            insert(&mut document, at.tokens(), json::parse(value).unwrap());
        }
        let at = put(&mut document, &root, key.path, sample(key.path, key.kind)).to_string();
        let told: Vec<Diagnostic> = convert(&document).into_iter().filter(|one| one.pointer == at).collect();
        let severities: Vec<Severity> = told.iter().map(|one| one.severity).collect();
        let expected = match key.fate {
            Fate::Used => vec![],
            Fate::Warned(_) => vec![Severity::Warning],
            Fate::Refused(_) => vec![Severity::Error],
        };
        assert_eq!(
            severities,
            expected,
            "{} at {at}: {told:?}\n{}",
            key.path,
            json::to_text(&document)
        );
    }
}

#[test]
fn keys_of_the_manifest_have_their_fates() {
    check(MANIFEST, "", of_manifest);
}

#[test]
fn keys_of_groups_have_their_fates() {
    check(GROUP, "/instance_groups/0", of_group);
}

#[test]
fn keys_of_jobs_have_their_fates() {
    check(JOB, "/instance_groups/0/jobs/0", of_manifest);
    check(QUARKS, "/instance_groups/0/jobs/0/properties/quarks", of_manifest);
}

#[test]
fn values_of_the_wrong_type_have_boshs_words() {
    let cases: [(&str, Convert, &str); 9] = [
        (
            "/releases/0/name",
            of_manifest,
            "Property 'name' value (nil) did not match the required type 'String'",
        ),
        (
            "/releases",
            of_manifest,
            "Property 'releases' value (nil) did not match the required type 'Array'",
        ),
        (
            "/releases/0",
            of_manifest,
            "Object (nil) did not match the required type 'Hash'",
        ),
        (
            "/features",
            of_manifest,
            "Property 'features' value (nil) did not match the required type 'Hash'",
        ),
        (
            "/features/converge_variables",
            of_manifest,
            "Key 'converge_variables' in 'features' expected to be a boolean, but received 'NilClass'",
        ),
        (
            "/instance_groups/0/instances",
            of_group,
            "Property 'instances' value (nil) did not match the required type 'Integer'",
        ),
        (
            "/instance_groups/0/update/serial",
            of_group,
            "Property 'serial' value (nil) did not match the required type 'boolean'",
        ),
        (
            "/instance_groups/0/jobs/0/properties",
            of_manifest,
            "Property 'properties' value (nil) did not match the required type 'Hash'",
        ),
        (
            "/instance_groups/0/jobs/0",
            of_manifest,
            "Object (nil) did not match the required type 'Hash'",
        ),
    ];
    for (pointer, convert, message) in cases {
        let mut document = json::parse(MINIMAL).unwrap();
        insert(&mut document, Pointer::parse(pointer).unwrap().tokens(), Tree::Null);
        let told = convert(&document);
        let found = told
            .iter()
            .any(|one| one.pointer == pointer && one.message == message && one.severity == Severity::Error);
        assert!(found, "{pointer}: {told:?}");
    }
}

#[test]
fn required_keys_and_unknown_keys_are_told() {
    let told = of_manifest(&json::parse(r#"{"name": "demo", "manifest_version": "v1", "releases": [{}]}"#).unwrap());
    let messages: Vec<&str> = told.iter().map(|one| one.message.as_str()).collect();
    assert!(
        messages.contains(&"Key 'manifest_version' is not known and has no effect"),
        "{messages:?}"
    );
    assert!(
        messages.contains(&"Required property 'name' was not specified in object ({})"),
        "{messages:?}"
    );
    let told = of_manifest(&json::parse(r#"{"name": "demo"}"#).unwrap());
    assert_eq!(
        told[0].message,
        "Required property 'releases' was not specified in object ({\"name\" => \"demo\"})"
    );
}

//! `deploy/`: complete, valid for a real API server, with a reason for each rule; what it grants is what is used.

use crate::all_features::{CLUSTER_STEPS, GIVEN, STEPS};
use crate::installed::{EVERYTHING, Installed, LISTED, SYSTEM, install, rendered};
use crate::rbac::{Permission, beyond, granted, text, used};
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::shared;
use boson_tests::{WAIT_TIMEOUT, root, try_wait_for_value};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Permissions that the audit log does not show: those that the operator grants to others, which it must have itself,
/// and those for a signer, which the API server checks itself.
const HELD: [&str; 3] = [
    "get pods",
    "approve signers.certificates.k8s.io",
    "sign signers.certificates.k8s.io",
];

/// The results of a run of everything.
struct Record {
    used: BTreeSet<Permission>,
    forbidden: BTreeSet<String>,
    /// Lines of the log.
    log: String,
    /// Everything else that users can read: events, conditions, metrics, the command line.
    shown: String,
    /// Values that must not appear.
    values: BTreeSet<String>,
}

/// The run that several tests check.
fn record() -> &'static Record {
    static RECORD: OnceLock<Result<Record, String>> = OnceLock::new();
    let run = || run(Installed::labelled()?);
    let record = RECORD.get_or_init(|| run().map_err(|error| format!("{error:#}")));
    record.as_ref().unwrap()
}

fn run(mut installed: Installed) -> Result<Record> {
    let (mut shown, mut values) = (String::new(), BTreeSet::from([GIVEN.to_string()]));
    for (what, step) in CLUSTER_STEPS.iter().chain(STEPS) {
        step(&mut installed).with_context(|| what.to_string())?;
        values.extend(secret_values(&installed)?);
        shown.push_str(&installed.kubectl(&["get", "events.events.k8s.io", "--output=json"])?);
        let ours = "boshdeployments,quarkssecrets,quarksstatefulsets,quarksjobs";
        for object in installed.get(ours)?["items"].as_array().into_iter().flatten() {
            shown.push_str(&object["status"].to_string());
        }
        shown.push_str(&installed.operator.ask("/metrics")?);
        shown.push_str(&installed.command_line()?);
    }
    installed.operator.stop()?;
    let found = used(installed.cluster, &installed.user())?;
    Ok(Record {
        used: found.permissions,
        forbidden: found.forbidden,
        log: installed.operator.log(),
        shown,
        values,
    })
}

/// Lines of the values in Secrets of variables, given and generated.
fn secret_values(installed: &Installed) -> Result<Vec<String>> {
    let mut values = Vec::new();
    for secret in installed.get("secrets")?["items"].as_array().into_iter().flatten() {
        let kind = text(&secret["metadata"]["labels"]["quarks.cloudfoundry.org/secret-kind"]);
        if kind == "versionedSecret" || text(&secret["metadata"]["name"]).ends_with(".with-ops") {
            // Whole manifests; the values in them are those of the other Secrets.
            continue;
        }
        for value in secret["data"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, value)| text(value))
        {
            let plain = String::from_utf8_lossy(&STANDARD.decode(value)?).into_owned();
            values.extend(plain.lines().filter(|line| line.len() >= 8).map(str::to_string));
        }
    }
    Ok(values)
}

// === what is granted ===

#[test]
fn what_is_granted_is_what_is_used() {
    let record = record();
    assert!(record.forbidden.is_empty(), "{:#?}", record.forbidden);
    let granted = granted(&rendered(EVERYTHING).unwrap());
    let all: BTreeSet<Permission> = granted.iter().flatten().cloned().collect();
    assert_eq!(beyond(&record.used, &granted), [""; 0], "used and not granted");
    assert_eq!(
        beyond(&all, std::slice::from_ref(&record.used)),
        HELD,
        "granted and not used"
    );
    for rule in 0..granted.len() {
        let mut others = granted.clone();
        let removed = others.remove(rule);
        if removed
            .iter()
            .all(|permission| HELD.contains(&permission.to_string().as_str()))
        {
            continue;
        }
        assert!(
            !beyond(&record.used, &others).is_empty(),
            "without this rule nothing is missing: {removed:?}"
        );
    }
}

#[test]
fn the_same_rules_are_enough_in_listed_namespaces() {
    let mut installed = Installed::listed().unwrap();
    for (what, step) in STEPS {
        step(&mut installed).with_context(|| what.to_string()).unwrap();
    }
    let installed_was_ready = installed.operator.ask("/ready").unwrap().starts_with("HTTP/1.1 200");
    installed.operator.stop().unwrap();
    let found = used(installed.cluster, &installed.user()).unwrap();
    assert!(found.forbidden.is_empty(), "{:#?}", found.forbidden);
    assert!(installed_was_ready, "it was never ready");
    let granted = granted(&rendered(LISTED).unwrap());
    assert_eq!(beyond(&found.permissions, &granted), [""; 0], "used and not granted");
}

#[test]
fn a_rule_that_is_missing_is_named() {
    for (resource, expected) in [
        (
            "services",
            "deployment: the operator may not list services: the ClusterRole 'boson' has no such rule",
        ),
        (
            "boshdeployments",
            "deployment: the operator may not list boshdeployments.quarks.cloudfoundry.org:",
        ),
        (
            "leases",
            "lease: the operator may not get leases.coordination.k8s.io: the Role 'boson' of its own namespace",
        ),
    ] {
        let installed = Installed::with_rules(&format!("without-{resource}"), |of, _| of != resource).unwrap();
        let reported = || Ok(installed.operator.ask("/ready").unwrap_or_default().contains(expected));
        installed.wait_until_said(expected, reported).unwrap();
        let answer = installed.operator.ask("/ready").unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"));
        let named = installed
            .namespaces
            .iter()
            .find(|namespace| answer.contains(*namespace));
        assert_eq!(named, None, "every pod can read this");
        assert!(installed.operator.ask("/live").unwrap().starts_with("HTTP/1.1 200"));
        let permission = expected.split_once(": ").unwrap().1;
        let log = installed.operator.log();
        assert!(log.contains(permission), "{log}");
    }
}

#[test]
fn every_rule_has_a_reason() {
    for file in [
        "operator/rbac.yaml",
        "cluster-wide/rbac.yaml",
        "listed/rbac.yaml",
        "namespace/output.yaml",
        "signer/rbac.yaml",
        "webhook/rbac.yaml",
        "links/rbac.yaml",
    ] {
        let text = std::fs::read_to_string(root().join("deploy").join(file)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.windows(2) {
            assert!(
                !pair[1].starts_with("- apiGroups") || pair[0].starts_with("# "),
                "{file}: no reason for\n{}",
                pair[1]
            );
        }
    }
}

// === the manifests ===

#[test]
fn the_api_server_accepts_all_of_it() {
    install().unwrap();
    for folder in ["deploy", "deploy/cluster-wide", EVERYTHING, LISTED] {
        let text = shared()
            .unwrap()
            .kubectl(["kustomize".as_ref(), root().join(folder).as_os_str()])
            .unwrap();
        for way in [&["--server-side", "--force-conflicts"][..], &[]] {
            let apply = ["apply", "--dry-run=server", "--validate=strict", "--filename=-"];
            let answer = shared().unwrap().try_kubectl(apply.iter().chain(way), &text).unwrap();
            assert!(answer.success, "{folder}: {}", answer.stderr);
            assert!(
                !answer.stderr.contains("would violate PodSecurity"),
                "{}",
                answer.stderr
            );
        }
    }
}

#[test]
fn its_pods_are_admitted_by_the_restricted_profile() {
    install().unwrap();
    let (cluster, selector) = (shared().unwrap(), "app.kubernetes.io/component=operator");
    let are_two = || {
        let pods = cluster.list(SYSTEM, "pods", selector)?;
        ensure!(pods.len() == 2, "{:#}", cluster.get(SYSTEM, "replicasets.apps")?);
        Ok(())
    };
    try_wait_for_value("two pods", WAIT_TIMEOUT, are_two).unwrap();
}

#[test]
fn one_image_and_one_list_of_namespaces() {
    let objects = rendered("deploy").unwrap();
    let operator = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &operator["spec"]["template"]["spec"]["containers"][0];
    let variable = |name: &str| {
        let all = container["env"].as_array().unwrap();
        text(&all.iter().find(|one| one["name"] == name).unwrap()["value"]).to_string()
    };
    assert_eq!(variable("BOSON_OPERATOR_IMAGE"), text(&container["image"]));
    assert!(
        container["image"]
            .as_str()
            .unwrap()
            .ends_with(env!("CARGO_PKG_VERSION")),
        "{container}"
    );
    let bound: BTreeSet<&str> = objects
        .iter()
        .filter(|object| object["kind"] == "RoleBinding" && object["roleRef"]["kind"] == "ClusterRole")
        .map(|object| text(&object["metadata"]["namespace"]))
        .collect();
    assert_eq!(variable("BOSON_NAMESPACES").split(',').collect::<BTreeSet<_>>(), bound);
    assert!(objects.iter().all(|object| object["kind"] != "ClusterRoleBinding"));
}

// === what is reported ===

#[test]
fn each_line_of_the_log_is_an_object_that_says_what_it_is_about() {
    let mut stages = BTreeSet::new();
    for line in record().log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for key in ["timestamp", "level", "target", "message"] {
            assert!(line[key].is_string(), "no {key}: {line}");
        }
        if line["stage"].is_string() && line["message"] == "called a stage" {
            assert_eq!(
                (&line["deployment"], &line["controller"]),
                (&"nats".into(), &"deployment".into()),
                "{line}"
            );
            assert!(
                line["seconds"].is_f64() && text(&line["object"]).ends_with("/nats"),
                "{line}"
            );
            stages.insert(text(&line["stage"]).to_string());
        }
    }
    let all = ["bpm", "links", "ops", "render", "resources", "variables"];
    assert_eq!(stages.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

#[test]
fn no_value_is_revealed_anywhere() {
    let record = record();
    assert!(record.values.len() > 50, "only {} values", record.values.len());
    for value in &record.values {
        for (place, text) in [("the log", &record.log), ("what is shown", &record.shown)] {
            assert!(!text.contains(value), "{place} holds {value}");
            assert!(
                !text.contains(&STANDARD.encode(value)),
                "{place} holds {value} as base64"
            );
        }
    }
}

//! What pods may ask for: what the deployment asks for and what an administrator allows, whichever plugin creates the
//! pods.

use boson_document::{Tree, json};
use boson_manifest::instances::Spread;
use boson_pipeline::bundle::privileges::{GrantedPrivileges, Privilege, Privileges, of_group};
use boson_pipeline::bundle::{Bundle, Permissions, Writer};
use boson_pipeline::stage::{BpmCopy, Deployment, Edit, JobFiles, ObjectReference};

fn tree(text: &str) -> Tree {
    json::parse(text).unwrap()
}

fn deployment() -> Deployment {
    Deployment {
        name: "dep".into(),
        namespace: "ns".into(),
        cluster_domain: "cluster.local".into(),
        operator_image: "host".into(),
        registry: None,
        spread: Spread::Total,
    }
}

/// An object of a kind that makes pods, with this specification of them.
fn workload(kind: &str, pod: &str) -> Tree {
    let template = format!(r#"{{"spec": {pod}}}"#);
    let (version, spec) = match kind {
        "CronJob" => (
            "batch/v1",
            format!(r#"{{"jobTemplate": {{"spec": {{"template": {template}}}}}}}"#),
        ),
        "Job" => ("batch/v1", format!(r#"{{"template": {template}}}"#)),
        "StatefulSet" | "Deployment" => ("apps/v1", format!(r#"{{"template": {template}}}"#)),
        _ => (
            "quarks.cloudfoundry.org/v1alpha1",
            format!(r#"{{"template": {{"spec": {{"template": {template}}}}}}}"#),
        ),
    };
    tree(&format!(
        r#"{{"apiVersion": "{version}", "kind": "{kind}", "metadata": {{"name": "dep-group"}}, "spec": {spec}}}"#
    ))
}

/// What is reported of pods with these privileges; empty if they are accepted.
fn reported(granted: &GrantedPrivileges, kind: &str, pod: &str) -> String {
    reported_with(granted, &Permissions::default(), kind, pod)
}

fn reported_with(granted: &GrantedPrivileges, permissions: &Permissions, kind: &str, pod: &str) -> String {
    let mut bundle = Bundle::with_rules(&deployment(), granted.clone(), permissions, &Tree::Null);
    match bundle.add(vec![workload(kind, pod)], "resources 1") {
        Ok(()) => String::new(),
        Err(errors) => {
            assert!(bundle.objects().is_empty());
            format!("{}: {}", errors[0].code, errors[0].message)
        }
    }
}

/// Pods that ask for one right each.
const ASKING: &[(&str, &str)] = &[
    ("hostNetwork", r#"{"hostNetwork": true}"#),
    ("hostPID", r#"{"hostPID": true}"#),
    ("hostIPC", r#"{"hostIPC": true}"#),
    ("serviceAccountName=admin", r#"{"serviceAccountName": "admin"}"#),
    ("serviceAccountName=admin", r#"{"serviceAccount": "admin"}"#),
    (
        "automountServiceAccountToken",
        r#"{"automountServiceAccountToken": true}"#,
    ),
    (
        "automountServiceAccountToken",
        r#"{"volumes": [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}"#,
    ),
    (
        "hostPath=/etc",
        r#"{"volumes": [{"name": "v", "emptyDir": {}}, {"name": "h", "hostPath": {"path": "/etc"}}]}"#,
    ),
    ("runAsUser=0", r#"{"securityContext": {"runAsUser": 0}}"#),
    (
        "sysctls=kernel.msgmax",
        r#"{"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced"}, {"name": "kernel.msgmax"}]}}"#,
    ),
    (
        "privileged",
        r#"{"containers": [{"name": "a"}, {"name": "b", "securityContext": {"privileged": true}}]}"#,
    ),
    (
        "privileged",
        r#"{"initContainers": [{"name": "b", "securityContext": {"privileged": true}}]}"#,
    ),
    (
        "capabilities=NET_ADMIN",
        r#"{"containers": [{"name": "b", "securityContext": {"capabilities": {"add": ["CAP_NET_ADMIN"]}}}]}"#,
    ),
    (
        "allowPrivilegeEscalation",
        r#"{"containers": [{"name": "b", "securityContext": {"allowPrivilegeEscalation": true}}]}"#,
    ),
    (
        "runAsUser=0",
        r#"{"containers": [{"name": "b", "securityContext": {"runAsUser": 0}}]}"#,
    ),
    (
        "seccompProfile=Unconfined",
        r#"{"containers": [{"name": "b", "securityContext": {"seccompProfile": {"type": "Unconfined"}}}]}"#,
    ),
    (
        "appArmorProfile=Unconfined",
        r#"{"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}"#,
    ),
    (
        "seLinuxOptions",
        r#"{"securityContext": {"seLinuxOptions": {"type": "x"}}}"#,
    ),
    (
        "procMount=Unmasked",
        r#"{"containers": [{"name": "b", "securityContext": {"procMount": "Unmasked"}}]}"#,
    ),
    (
        "hostPort=80",
        r#"{"containers": [{"name": "b", "ports": [{"containerPort": 80, "hostPort": 80}]}]}"#,
    ),
    (
        "hostProcess",
        r#"{"securityContext": {"windowsOptions": {"hostProcess": true}}}"#,
    ),
];

#[test]
fn pods_get_no_privilege_that_was_not_granted() {
    for kind in [
        "StatefulSet",
        "Deployment",
        "Job",
        "CronJob",
        "QuarksStatefulSet",
        "QuarksJob",
    ] {
        for (right, pod) in ASKING {
            let reported = reported(&GrantedPrivileges::default(), kind, pod);
            let expected = ", which the deployment does not request (made by resources 1)";
            assert!(
                reported.contains(&format!("for '{right}' in spec.")),
                "{pod}: {reported}"
            );
            assert!(
                reported.starts_with(&format!("bundle-privilege: {kind} 'dep-group': its ")),
                "{pod}: {reported}"
            );
            assert!(reported.ends_with(expected), "{pod}: {reported}");
        }
    }
    let harmless = r#"{"serviceAccountName": "default", "hostNetwork": false, "volumes": [{"name": "v", "secret": {}}],
        "securityContext": {"runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "a", "ports": [{"containerPort": 80}],
            "securityContext": {"privileged": false, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}"#;
    assert_eq!(reported(&GrantedPrivileges::default(), "Deployment", harmless), "");
}

#[test]
fn an_administrator_allows_a_privilege_or_one_value_of_it() {
    let nothing = GrantedPrivileges::default();
    let with = |privilege: &str, pod: &str| {
        let permissions = Permissions::new(Vec::new(), vec![privilege.parse().unwrap()]).unwrap();
        reported_with(&nothing, &permissions, "Deployment", pod)
    };
    for (right, pod) in ASKING {
        assert_eq!(with(right, pod), "", "{right}");
        let field = right.split('=').next().unwrap();
        assert_eq!(with(field, pod), "", "{field}");
        assert_ne!(with(&format!("{field}=other"), pod), "", "{field}");
    }
    assert!("hostNetworks".parse::<Privilege>().unwrap_err().contains("hostNetwork"));
    assert_eq!(
        "capabilities=cap_kill".parse::<Privilege>().unwrap().to_string(),
        "capabilities=KILL"
    );
}

fn files(bpm: &str) -> Vec<JobFiles> {
    files_with(&[], bpm)
}

fn files_with(templates: &[&str], bpm: &str) -> Vec<JobFiles> {
    vec![JobFiles {
        job: "j".into(),
        release: "r".into(),
        templates: templates.iter().map(|path| (*path).to_string()).collect(),
        bpm: vec![BpmCopy {
            document_name: "bpm.yml".into(),
            instances: vec![0],
            bpm: tree(bpm),
        }],
        ..JobFiles::default()
    }]
}

fn of(document: &str, bpm: &str) -> Privileges {
    of_group(&tree(document), &files(bpm))
}

#[test]
fn a_group_gets_what_it_asks_for_and_other_workloads_do_not() {
    let nothing = r#"{"processes": [{"name": "p", "executable": "/bin/p"}]}"#;
    let quarks = |text: &str| {
        format!(r#"{{"instance_groups": [{{"jobs": [{{"name": "j", "properties": {{"quarks": {text}}}}}]}}]}}"#)
    };
    let settings =
        |text: &str| format!(r#"{{"instance_groups": [{{"env": {{"bosh": {{"agent": {{"settings": {text}}}}}}}}}]}}"#);
    let granted = [
        (
            of("{}", r#"{"processes": [{"unsafe": {"privileged": true}}]}"#),
            vec![
                "privileged",
                "capabilities=NET_ADMIN",
                "runAsUser=0",
                "seccompProfile=Unconfined",
            ],
        ),
        (
            of("{}", r#"{"processes": [{"unsafe": {"host_pid_namespace": true}}]}"#),
            vec!["hostPID"],
        ),
        (
            of("{}", r#"{"processes": [{"capabilities": ["NET_ADMIN"]}]}"#),
            vec!["capabilities=NET_ADMIN", "runAsUser=0"],
        ),
        (
            of(&quarks(r#"{"run": {"capabilities": ["CAP_NET_ADMIN"]}}"#), nothing),
            vec!["capabilities=NET_ADMIN", "runAsUser=0"],
        ),
        (
            of(&quarks(r#"{"run": {"security_context": {"runAsUser": 0}}}"#), nothing),
            vec!["runAsUser=0"],
        ),
        (
            of(&quarks(r#"{"run": {"sysctls": {"kernel/msgmax": 65536}}}"#), nothing),
            vec!["sysctls=kernel.msgmax"],
        ),
        (
            of(&quarks(r#"{"link_local_dns": true}"#), nothing),
            vec!["capabilities=NET_ADMIN", "runAsUser=0"],
        ),
        (
            of_group(
                &tree(r#"{"instance_groups": [{"jobs": [{"name": "j", "release": "r"}]}]}"#),
                &files_with(&["dns/handlers.json"], nothing),
            ),
            vec!["capabilities=NET_ADMIN", "runAsUser=0"],
        ),
        (
            of(&quarks(r#"{"run": {"pre_start": "inline"}}"#), nothing),
            vec!["runAsUser=0"],
        ),
        (
            of(
                &quarks(r#"{"bpm": {"processes": [{"unsafe": {"host_pid_namespace": true}}]}}"#),
                nothing,
            ),
            vec!["hostPID"],
        ),
        (
            of(
                &settings(r#"{"serviceAccountName": "admin", "automountServiceAccountToken": true}"#),
                nothing,
            ),
            vec!["serviceAccountName=admin", "automountServiceAccountToken"],
        ),
        (
            of(
                &settings(r#"{"disks": [{"volume": {"name": "d", "hostPath": {"path": "/etc"}}}]}"#),
                nothing,
            ),
            vec!["hostPath=/etc"],
        ),
        (of("{}", nothing), vec![]),
    ];
    for (privileges, expected) in granted {
        let mut granted = GrantedPrivileges::default();
        granted.grant("dep-group".into(), privileges.clone());
        for (right, pod) in ASKING {
            let accepted = reported(&granted, "QuarksStatefulSet", pod).is_empty();
            // A privileged container can escalate anyway.
            let implied = *right == "allowPrivilegeEscalation" && expected.contains(&"privileged");
            assert_eq!(
                accepted,
                implied || expected.contains(right),
                "{right} with {privileges:?}"
            );
            assert_ne!(
                reported(&granted, "Deployment", pod),
                "",
                "{right}: a hook's own workload"
            );
        }
    }
}

#[test]
fn scripts_before_the_start_run_as_root_as_in_bosh() {
    let pod = r#"{"initContainers": [{"name": "bosh-pre-start-j", "securityContext": {"runAsUser": 0}}]}"#;
    let mut granted = GrantedPrivileges::default();
    assert_ne!(reported(&granted, "QuarksStatefulSet", pod), "");
    granted.grant("dep-group".into(), Privileges::default());
    assert_eq!(reported(&granted, "QuarksStatefulSet", pod), "");
    assert_ne!(reported(&granted, "Job", pod), "");
}

#[test]
fn a_patch_cannot_add_privileges_either() {
    let mut granted = GrantedPrivileges::default();
    granted.grant("dep-group".into(), Privileges::default());
    let mut bundle = Bundle::with_rules(&deployment(), granted, &Permissions::default(), &Tree::Null);
    let pod = r#"{"containers": [{"name": "p", "securityContext": {"privileged": false}}]}"#;
    bundle.add(vec![workload("QuarksStatefulSet", pod)], "bpm").unwrap();
    let before = bundle.objects().to_vec();
    let place = "/spec/template/spec/template/spec/containers/0/securityContext/privileged";
    let group = ObjectReference {
        api_version: "quarks.cloudfoundry.org/v1alpha1".into(),
        kind: "QuarksStatefulSet".into(),
        name: "dep-group".into(),
    };
    let patch = tree(&format!(r#"[{{"op": "replace", "path": "{place}", "value": true}}]"#));
    let edits = vec![Edit::JsonPatch(group, patch)];
    let writer = Writer {
        author: &"resources 1".into(),
        is_ordered: true,
    };
    let errors = bundle.edit(edits, writer).unwrap_err();
    assert_eq!(errors[0].code, "bundle-privilege");
    let help = errors[0].help.as_deref().unwrap();
    assert!(
        help.ends_with("or allow it with --allow-privilege privileged"),
        "{help}"
    );
    assert_eq!(bundle.objects(), before);
}

#[test]
fn the_operators_labels_and_annotations_are_reserved() {
    let group = "quarks.cloudfoundry.org";
    let refused = |object: &str| {
        let mut bundle = Bundle::new(&deployment());
        let made = bundle.add(vec![tree(object)], "resources 1");
        made.err().map(|errors| errors[0].code.clone())
    };
    let map = |metadata: &str| {
        format!(r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "x", {metadata}}}}}"#)
    };
    for key in [
        "plugin",
        "plugin-copy",
        "secret-rotation",
        "secret-kind",
        "monitored",
        "not-yet-invented",
    ] {
        for member in ["labels", "annotations"] {
            let object = map(&format!(r#""{member}": {{"{group}/{key}": "ops"}}"#));
            assert_eq!(refused(&object).as_deref(), Some("bundle-reserved-mark"), "{object}");
        }
    }
    for fine in [
        format!(r#""labels": {{"{group}/instance-group-name": "g", "app": "x"}}"#),
        format!(r#""annotations": {{"{group}/restart-on-update": "true", "example.com/plugin": "x"}}"#),
    ] {
        assert_eq!(refused(&map(&fine)), None, "{fine}");
    }
    let nested = [
        format!(r#""template": {{"metadata": {{"labels": {{"{group}/qjob-name": "j"}}}}}}"#),
        format!(r#""secretLabels": {{"{group}/secret-kind": "versionedSecret"}}"#),
        format!(
            r#""output": {{"outputMap": {{"c": {{"f": {{"additionalSecretAnnotations": {{"{group}/encoding": "gzip"}}}}}}}}}}"#
        ),
    ];
    let object = |spec: &str| {
        format!(
            r#"{{"apiVersion": "{group}/v1alpha1", "kind": "QuarksSecret", "metadata": {{"name": "x"}}, "spec": {{{spec}}}}}"#
        )
    };
    for spec in nested {
        assert_eq!(
            refused(&object(&spec)).as_deref(),
            Some("bundle-reserved-mark"),
            "{spec}"
        );
    }
    let foreign = format!(r#""template": {{"metadata": {{"labels": {{"{group}/deployment-name": "other"}}}}}}"#);
    assert_eq!(refused(&object(&foreign)).as_deref(), Some("bundle-foreign-object"));
    let selector = format!(r#""selector": {{"matchLabels": {{"{group}/pod-active": "active"}}}}"#);
    assert_eq!(refused(&object(&selector)), None, "to select is not to set");
}

#[test]
fn the_dns_servers_of_the_deployment_run_as_their_account_and_nothing_else_does() {
    let mut granted = GrantedPrivileges::default();
    let pod = r#"{"serviceAccountName": "boson-dns"}"#;
    assert!(reported(&granted, "Deployment", pod).contains("serviceAccountName=boson-dns"));
    granted.grant_dns("dep-other".into());
    assert!(reported(&granted, "Deployment", pod).contains("serviceAccountName=boson-dns"));
    granted.grant_dns("dep-group".into());
    assert_eq!(reported(&granted, "Deployment", pod), "");
    assert!(reported(&granted, "StatefulSet", pod).contains("serviceAccountName=boson-dns"));
    assert!(
        reported(&granted, "Deployment", r#"{"serviceAccountName": "admin"}"#).contains("serviceAccountName=admin")
    );
}

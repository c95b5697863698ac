//! The plain target: what the controllers would create from the operator's objects.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Pointer, Tree, json};
use boson_manifest::names::Names;
use boson_pipeline::plain::{lower, resolved, stateful_set};
use boson_pipeline::stage::ResolvedGroup;
use boson_pipeline::{Severity, encoding};

fn tree(text: &str) -> Tree {
    json::parse(text).unwrap()
}

fn at<'t>(tree: &'t Tree, path: &str) -> &'t Tree {
    Pointer::parse(path).unwrap().find(tree).unwrap_or(&Tree::Null)
}

fn names(objects: &[Tree]) -> Vec<&str> {
    objects
        .iter()
        .map(|object| at(object, "/metadata/name").as_str().unwrap())
        .collect()
}

/// A QuarksStatefulSet with these members of `spec`, of the pod's spec and of the StatefulSet's spec.
fn set(spec: &str, pod: &str, inner: &str) -> Tree {
    tree(&format!(
        r#"{{"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet",
            "metadata": {{"name": "dep-nats", "namespace": "ns", "labels": {{"quarks.cloudfoundry.org/instance-group-name": "nats"}}, "annotations": {{"tag": "x"}}}},
            "spec": {{{spec} "template": {{"metadata": {{"labels": {{"user": "l"}}}}, "spec": {{{inner} "replicas": 2,
              "template": {{"metadata": {{"labels": {{"app": "nats"}}, "annotations": {{"a": "b"}}}}, "spec": {{{pod}
                "initContainers": [{{"name": "i", "image": "x"}}], "containers": [{{"name": "c", "image": "x", "env": [{{"name": "AZ_INDEX", "value": "7"}}, {{"name": "BOSH_AZ_INDEX", "value": "7"}}, {{"name": "MINE", "value": "$(AZ_INDEX)"}}]}}]}}}},
              "volumeClaimTemplates": [{{"metadata": {{"name": "pvc"}}, "spec": {{"accessModes": ["ReadWriteOnce"]}}}}]}}}}}}}}"#
    ))
}

fn environment(pods: &Tree, list: &str) -> Vec<(String, String)> {
    let text = |tree: &Tree, key| tree.str(key).unwrap().to_string();
    let env = at(pods, &format!("/spec/template/spec/{list}/0")).items("env").iter();
    env.map(|variable| (text(variable, "name"), text(variable, "value")))
        .collect()
}

#[test]
fn a_set_without_zones_becomes_one() {
    let made = stateful_set::stateful_sets(&set("", "", ""), 1).unwrap();
    assert_eq!(names(&made), ["dep-nats-v1"]);
    let made = &made[0];
    assert_eq!(
        json::to_text(at(made, "/spec/selector")),
        r#"{"matchLabels":{"quarks.cloudfoundry.org/az-index":"0","quarks.cloudfoundry.org/quarks-statefulset-name":"dep-nats-v1"}}"#
    );
    assert_eq!(
        json::to_text(at(made, "/spec/template/metadata/labels")),
        r#"{"app":"nats","quarks.cloudfoundry.org/az-index":"0","quarks.cloudfoundry.org/quarks-statefulset-name":"dep-nats-v1"}"#
    );
    assert_eq!(
        json::to_text(at(made, "/metadata/labels")),
        r#"{"quarks.cloudfoundry.org/instance-group-name":"nats","user":"l","quarks.cloudfoundry.org/az-index":"0","quarks.cloudfoundry.org/quarks-statefulset-name":"dep-nats-v1"}"#
    );
    assert_eq!(
        json::to_text(at(made, "/metadata/annotations")),
        r#"{"tag":"x","quarks.cloudfoundry.org/version":"1"}"#
    );
    assert_eq!(at(made, "/metadata/namespace").as_str(), Some("ns"));
    for (path, wanted) in [
        ("/apiVersion", r#""apps/v1""#),
        ("/spec/replicas", "2"),
        ("/spec/serviceName", r#""dep-nats""#),
        ("/spec/podManagementPolicy", r#""Parallel""#),
        ("/spec/updateStrategy", r#"{"type":"RollingUpdate"}"#),
        ("/spec/template/spec/affinity", "null"),
        ("/spec/volumeClaimTemplates/0/metadata/name", r#""pvc""#),
    ] {
        assert_eq!(json::to_text(at(made, path)), wanted, "{path}");
    }
}

#[test]
fn zones_may_have_different_numbers_of_replicas() {
    let spec = r#""zones": ["z1", "z2", "z3"], "zoneReplicas": [2, 1, 0],"#;
    let made = stateful_set::stateful_sets(&set(spec, "", ""), 1).unwrap();
    let replicas: Vec<String> = made
        .iter()
        .map(|set| json::to_text(at(set, "/spec/replicas")))
        .collect();
    assert_eq!(replicas, ["2", "1", "0"]);
    for set in &made {
        let variables = environment(set, "containers")
            .into_iter()
            .find(|(name, _)| name == "REPLICAS");
        assert_eq!(
            variables,
            Some(("REPLICAS".into(), "2".into())),
            "the number of the zone with the most"
        );
    }
    for spec in [
        r#""zones": ["z1", "z2"], "zoneReplicas": [1],"#,
        r#""zones": ["z1"], "zoneReplicas": [-1],"#,
        r#""zoneReplicas": [1],"#,
    ] {
        let error = stateful_set::stateful_sets(&set(spec, "", ""), 1).unwrap_err();
        assert_eq!(error.code, "plain-invalid-zone", "{spec}");
    }
}

#[test]
fn each_zone_has_its_own_set_name_labels_and_environment() {
    let made = stateful_set::stateful_sets(&set(r#""zones": ["z1", "z2"],"#, "", ""), 3).unwrap();
    assert_eq!(names(&made), ["dep-nats-z0-v3", "dep-nats-z1-v3"]);
    let second = &made[1];
    assert_eq!(
        at(second, "/metadata/labels/quarks.cloudfoundry.org~1az-index").as_str(),
        Some("1")
    );
    assert_eq!(
        at(
            second,
            "/spec/template/metadata/labels/quarks.cloudfoundry.org~1az-name"
        )
        .as_str(),
        Some("z2")
    );
    assert_eq!(
        at(second, "/metadata/annotations/quarks.cloudfoundry.org~1zones").as_str(),
        Some(r#"["z1","z2"]"#)
    );
    let wanted = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(n, v)| ((*n).into(), (*v).into()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        environment(second, "initContainers"),
        wanted(&[
            ("KUBE_AZ", "z2"),
            ("BOSH_AZ", "z2"),
            ("CF_OPERATOR_AZ", "z2"),
            ("AZ_INDEX", "2"),
            ("REPLICAS", "2")
        ])
    );
    assert_eq!(
        environment(second, "containers"),
        wanted(&[
            ("KUBE_AZ", "z2"),
            ("BOSH_AZ", "z2"),
            ("CF_OPERATOR_AZ", "z2"),
            ("REPLICAS", "2"),
            ("AZ_INDEX", "2"),
            ("BOSH_AZ_INDEX", "2"),
            ("MINE", "$(AZ_INDEX)"),
        ])
    );
}

#[test]
fn pods_do_not_get_the_replicas_if_that_would_restart_them() {
    let made = stateful_set::stateful_sets(&set(r#""injectReplicasEnv": false,"#, "", ""), 1).unwrap();
    assert!(
        environment(&made[0], "containers")
            .iter()
            .all(|(name, _)| name != "REPLICAS")
    );
}

#[test]
fn zones_are_anded_with_each_term_of_the_user() {
    let zone = r#"{"key":"topology.kubernetes.io/zone","operator":"In","values":["z1"]}"#;
    let disk = r#"{"key":"disk","operator":"Exists"}"#;
    let field = r#"{"key":"metadata.name","operator":"In","values":["n"]}"#;
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let cases = [
        (String::new(), format!(r#"[{{"matchExpressions":[{zone}]}}]"#)),
        (
            r#""affinity": {"podAffinity": {"x": 1}},"#.into(),
            format!(r#"[{{"matchExpressions":[{zone}]}}]"#),
        ),
        (
            format!(
                r#""affinity": {{"nodeAffinity": {{"{required}": {{"nodeSelectorTerms": [{{"matchExpressions": [{disk}]}}, {{"matchFields": [{field}]}}, {{}}]}}}}}},"#
            ),
            format!(
                r#"[{{"matchExpressions":[{disk},{zone}]}},{{"matchFields":[{field}],"matchExpressions":[{zone}]}},{{}}]"#
            ),
        ),
    ];
    for (pod, wanted) in cases {
        let made = stateful_set::stateful_sets(&set(r#""zones": ["z1"],"#, &pod, ""), 1).unwrap();
        let terms = at(
            &made[0],
            &format!("/spec/template/spec/affinity/nodeAffinity/{required}/nodeSelectorTerms"),
        );
        assert_eq!(json::to_text(terms), wanted, "{pod}");
        assert_eq!(
            at(&made[0], "/spec/template/spec/affinity/podAffinity").is_null(),
            !pod.contains("podAffinity")
        );
    }
    let made = stateful_set::stateful_sets(&set(r#""zones": ["z1"], "zoneNodeLabel": "rack","#, "", ""), 1).unwrap();
    assert!(json::to_text(&made[0]).contains(r#""key":"rack""#));
}

#[test]
fn a_zone_has_another_name_on_its_nodes_where_a_cloud_config_says_so() {
    let zones = r#""zones": ["z1", "z2"], "zoneValues": {"z1": "eu-1a"},"#;
    let made = stateful_set::stateful_sets(&set(zones, "", ""), 1).unwrap();
    let required = "/spec/template/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let value = |set: &Tree| {
        let place = format!("{required}/nodeSelectorTerms/0/matchExpressions/0/values/0");
        at(set, &place).as_str().map(String::from)
    };
    assert_eq!(
        (value(&made[0]).as_deref(), value(&made[1]).as_deref()),
        (Some("eu-1a"), Some("z2"))
    );
    // Names and labels keep the AZ's name: templates and Services know that one.
    let name = |set: &Tree| {
        at(set, "/metadata/labels/quarks.cloudfoundry.org~1az-name")
            .as_str()
            .map(String::from)
    };
    assert_eq!(name(&made[0]).as_deref(), Some("z1"));
}

#[test]
fn the_template_wins_over_defaults() {
    let inner =
        r#""podManagementPolicy": "OrderedReady", "serviceName": "own", "updateStrategy": {"type": "OnDelete"},"#;
    let made = stateful_set::stateful_sets(&set("", "", inner), 1).unwrap();
    let spec = at(&made[0], "/spec");
    assert_eq!(
        (spec.str("podManagementPolicy"), spec.str("serviceName")),
        (Some("OrderedReady"), Some("own"))
    );
    assert_eq!(at(spec, "/updateStrategy/type").as_str(), Some("OnDelete"));
}

#[test]
fn long_names_are_cut_before_their_ending() {
    let mut long = set(r#""zones": ["a"],"#, "", "");
    let name = "d".repeat(60);
    long.get_mut("metadata").unwrap().set("name", name);
    let made = stateful_set::stateful_sets(&long, 12).unwrap();
    let name = names(&made)[0];
    assert!(name.len() == 52 && name.ends_with("-z0-v12"), "{name}");
}

#[test]
fn sets_that_cannot_be_are_refused() {
    for (object, wanted) in [
        (set(r#""zones": ["z1", "z1"],"#, "", ""), "the zone 'z1' occurs twice"),
        (
            set(r#""zones": ["a b"],"#, "", ""),
            "a zone's name is not a valid label value",
        ),
        (
            set(r#""zones": [7],"#, "", ""),
            "a zone's name is not a valid label value",
        ),
        (
            set(r#""zones": ["z1"], "zoneValues": {"z1": "a b"},"#, "", ""),
            "the value of zone 'z1' is not a valid label value",
        ),
        (
            tree(r#"{"kind": "QuarksStatefulSet", "metadata": {"name": "x"}, "spec": {}}"#),
            "it has no template of a StatefulSet",
        ),
    ] {
        let error = stateful_set::stateful_sets(&object, 1).unwrap_err();
        assert!(error.message.ends_with(wanted), "{}", error.message);
    }
}

fn job(strategy: &str) -> Tree {
    tree(&format!(
        r#"{{"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob", "metadata": {{"name": "dep-smoke", "labels": {{"l": "x"}}}},
            "spec": {{"trigger": {{"strategy": "{strategy}"}}, "template": {{"spec": {{"backoffLimit": 2, "template": {{"metadata": {{"labels": {{"a": "b"}}}}, "spec": {{"containers": []}}}}}}}}}}}}"#
    ))
}

#[test]
fn errands_are_suspended_and_auto_errands_run() {
    for (strategy, suspended) in [("manual", true), ("once", false), ("now", false), ("done", true)] {
        let (made, diagnostics) = lower(vec![job(strategy)], &Tree::object()).unwrap();
        assert!(diagnostics.is_empty());
        assert_eq!(
            at(&made[0], "/spec/suspend").as_bool().unwrap_or(false),
            suspended,
            "{strategy}"
        );
        assert_eq!(
            (made[0].str("apiVersion"), made[0].str("kind")),
            (Some("batch/v1"), Some("Job"))
        );
        assert_eq!(names(&made), ["dep-smoke"]);
        assert_eq!(
            at(&made[0], "/spec/template/spec/restartPolicy").as_str(),
            Some("Never")
        );
        assert_eq!(
            json::to_text(at(&made[0], "/spec/template/metadata/labels")),
            r#"{"a":"b","quarks.cloudfoundry.org/qjob-name":"dep-smoke"}"#
        );
    }
    assert!(lower(vec![job("daily")], &Tree::object()).is_err());
}

fn quarks_secret(kind: &str, more: &str) -> Tree {
    tree(&format!(
        r#"{{"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksSecret",
            "metadata": {{"name": "dep.var-my-var", "labels": {{"quarks.cloudfoundry.org/deployment-name": "dep"}}, "annotations": {{"quarks.cloudfoundry.org/variable": "my_var"}}}},
            "spec": {{"type": "{kind}", "secretName": "dep.var-my-var"{more}}}}}"#
    ))
}

fn decoded(secret: &Tree) -> String {
    let text = |value: &Tree| String::from_utf8(STANDARD.decode(value.as_str().unwrap()).unwrap()).unwrap();
    let data = secret.get("data").unwrap().as_object().unwrap();
    data.iter()
        .map(|(key, value)| format!("{key}={}", text(value)))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn values_become_the_keys_of_their_type() {
    let certificate = r#"{"certificate": "C", "private_key": "K", "ca": "A"}"#;
    let is_ca = r#", "request": {"certificate": {"isCA": true}}"#;
    for (kind, more, value, secret_type, wanted) in [
        ("password", "", r#""s3""#, "Opaque", "password=s3"),
        ("password", "", "1.50", "Opaque", "password=1.50"),
        (
            "password",
            "",
            r#"{"a": {"b": 1}, "c": null}"#,
            "Opaque",
            r#"a={"b":1} c="#,
        ),
        (
            "rsa",
            "",
            r#"{"private_key": "K", "public_key": "P"}"#,
            "Opaque",
            "private_key=K public_key=P",
        ),
        (
            "ssh",
            "",
            r#"{"private_key": "K", "public_key": "P", "public_key_fingerprint": "F"}"#,
            "Opaque",
            "private_key=K public_key=P public_key_fingerprint=F",
        ),
        (
            "certificate",
            "",
            certificate,
            "Opaque",
            "certificate=C private_key=K ca=A is_ca=false",
        ),
        (
            "certificate",
            is_ca,
            certificate,
            "Opaque",
            "certificate=C private_key=K ca=A is_ca=true",
        ),
        (
            "user",
            "",
            r#"{"username": "u", "password": "p", "password_hash": "h"}"#,
            "Opaque",
            "username=u password=p password_hash=h",
        ),
        ("tls", "", certificate, "kubernetes.io/tls", "tls.crt=C tls.key=K ca=A"),
        (
            "basic-auth",
            "",
            r#"{"username": "u", "password": "p", "x": 1}"#,
            "kubernetes.io/basic-auth",
            "username=u password=p",
        ),
    ] {
        let values = Tree::object().with("my_var", tree(value));
        let (made, _) = lower(vec![quarks_secret(kind, more)], &values).unwrap();
        assert_eq!(
            (made[0].str("kind"), made[0].str("type")),
            (Some("Secret"), Some(secret_type))
        );
        assert_eq!(decoded(&made[0]), wanted, "{kind}");
        assert_eq!(
            json::to_text(at(&made[0], "/metadata/labels")),
            r#"{"quarks.cloudfoundry.org/deployment-name":"dep","quarks.cloudfoundry.org/secret-kind":"generated"}"#
        );
    }
}

#[test]
fn secrets_without_a_usable_value_are_refused_all_at_once_and_without_the_value() {
    let values = |value: Tree| Tree::object().with("my_var", value);
    let large = Tree::from("s3cret".repeat(200_000));
    for (kind, values, wanted) in [
        ("password", Tree::object(), "its variable has no value for a Secret"),
        ("password", values(large), "it would have 1200000 bytes"),
        (
            "password",
            values(tree(r#"{"a b": "s3cret"}"#)),
            "does not accept the key 'a b'",
        ),
        (
            "tls",
            values(tree(r#"{"private_key": "s3cret"}"#)),
            "no member for the key 'tls.crt'",
        ),
        (
            "dockerconfigjson",
            values("s3cret".into()),
            "only the operator can create",
        ),
    ] {
        let errors = lower(vec![quarks_secret(kind, ""), quarks_secret(kind, "")], &values).unwrap_err();
        assert_eq!(errors.len(), 2);
        assert!(
            errors[0].message.contains(wanted) && errors[0].message.contains("'dep.var-my-var'"),
            "{}",
            errors[0].message
        );
        assert!(!errors[0].message.contains("s3cret"));
    }
}

#[test]
fn work_that_only_the_operator_does_is_a_warning() {
    let copies = quarks_secret("password", r#", "copies": [{"name": "x", "namespace": "y"}]"#);
    let (made, diagnostics) = lower(vec![copies], &Tree::object().with("my_var", "x")).unwrap();
    assert_eq!((made.len(), diagnostics.len()), (1, 1));
    assert!(
        diagnostics
            .iter()
            .all(|d| d.severity == Severity::Warning && d.code == "plain-needs-operator")
    );
}

#[test]
fn plain_objects_stay_as_they_are() {
    let service =
        tree(r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"clusterIP": "None"}}"#);
    assert_eq!(
        lower(vec![service.clone()], &Tree::object()).unwrap(),
        (vec![service], Vec::new())
    );
}

fn group(name: &str, more: &str) -> ResolvedGroup {
    let jobs = r#"[{"properties": {"quarks": {"instances": [{"az": "z1"}, {"az": "z1"}, {"az": "z2"}]}}}]"#;
    let document = tree(&format!(
        r#"{{"z": "{more}", "instance_groups": [{{"name": "{name}", "instances": 3, "jobs": {jobs}}}]}}"#
    ));
    ResolvedGroup {
        name: name.into(),
        document,
    }
}

#[test]
fn the_resolved_document_is_written_to_a_versioned_secret() {
    let names = Names::new("dep", "ns", "cluster.local").unwrap();
    let secret = resolved::resolved_secret(&names, &group("my_group", "b")).unwrap();
    assert_eq!(
        at(&secret, "/metadata/name").as_str(),
        Some("dep.ig-resolved.my-group-v1")
    );
    let data = decoded(&secret);
    assert!(
        data.starts_with("properties.yaml=---\nz: b\ninstance_groups:\n- name: my_group\n  instances: 3\n"),
        "{data}"
    );
    assert!(data.ends_with(" replicas=2"), "the fullest zone's: {data}");
    assert_eq!(
        json::to_text(at(&secret, "/metadata/labels")),
        r#"{"quarks.cloudfoundry.org/deployment-name":"dep","quarks.cloudfoundry.org/instance-group-name":"my-group","quarks.cloudfoundry.org/secret-type":"ig-resolved","quarks.cloudfoundry.org/secret-kind":"versionedSecret","quarks.cloudfoundry.org/secret-version":"1"}"#
    );
}

#[test]
fn a_large_resolved_document_is_compressed_and_one_that_stays_too_large_is_refused() {
    let names = Names::new("dep", "ns", "cluster.local").unwrap();
    let secret = resolved::resolved_secret(&names, &group("g", &"x".repeat(1_100_000))).unwrap();
    let annotation = at(&secret, "/metadata/annotations").str(boson_manifest::labels::ENCODING);
    assert_eq!(annotation, Some("gzip"));
    let data = at(&secret, "/data");
    let document = STANDARD.decode(data.str("properties.yaml").unwrap()).unwrap();
    let document = encoding::unpack(&document).unwrap().into_owned();
    assert!(document.len() > 1_100_000 && document.starts_with(b"---\nz: xxx"));
    assert_eq!(data.str("replicas"), Some("Mg=="), "containers take it as it stands");
    // Digits of a hash: gzip takes half of them.
    let noise: String = (0..70_000_u32)
        .map(|n| {
            format!(
                "{:032x}",
                u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            )
        })
        .collect();
    let error = resolved::resolved_secret(&names, &group("g", &noise)).unwrap_err();
    assert_eq!(error.code, "plain-secret-too-large");
    assert!(error.message.contains("'dep.ig-resolved.g-v1'"), "{}", error.message);
}

#[test]
fn tags_are_on_the_secrets_of_resolved_documents_too() {
    let names = Names::new("dep", "ns", "cluster.local").unwrap();
    let group = ResolvedGroup {
        name: "g".into(),
        document: tree(r#"{"tags": {"a": "1", "b": 2}, "instance_groups": [{"name": "g", "tags": {"a": "own"}}]}"#),
    };
    let secret = resolved::resolved_secret(&names, &group).unwrap();
    let annotations = at(&secret, "/metadata/annotations");
    assert_eq!(json::to_text(annotations), r#"{"a":"own","b":"2"}"#);
}

#[test]
fn a_changed_document_restarts_the_pods_that_render_it() {
    let names = Names::new("dep", "ns", "cluster.local").unwrap();
    let volume = r#""volumes": [{"name": "x", "emptyDir": {}}, {"name": "ig-resolved", "secret": {"secretName": "dep.ig-resolved.nats-v1"}}],"#;
    let digest = |document: &str, volume: &str| {
        let mut objects = stateful_set::stateful_sets(&set("", volume, ""), 1).unwrap();
        resolved::mark_pods(&mut objects, &names, &[group("nats", document)]).unwrap();
        json::to_text(at(&objects[0], "/spec/template/metadata/annotations"))
    };
    assert!(digest("a", volume).starts_with(r#"{"a":"b","quarks.cloudfoundry.org/resolved-digest":""#));
    assert_eq!(digest("a", volume), digest("a", volume));
    assert_ne!(digest("a", volume), digest("b", volume));
    assert_eq!(digest("a", ""), r#"{"a":"b"}"#);
}

#[test]
fn more_instances_restart_only_the_pods_whose_index_moves() {
    let names = Names::new("dep", "ns", "cluster.local").unwrap();
    let volume = r#""volumes": [{"name": "ig-resolved", "secret": {"secretName": "dep.ig-resolved.nats-v1"}}],"#;
    // The zone of each instance, in the order of their indexes.
    let digests = |zones: &[u32], link: &str| {
        let spec = |(index, zone)| format!(r#"{{"index": {index}, "az": "z{zone}"}}"#);
        let specs = zones.iter().enumerate().map(spec).collect::<Vec<_>>();
        let quarks = format!(r#"{{"instances": [{}], "consumes": "{link}"}}"#, specs.join(","));
        let jobs = format!(r#"[{{"name": "nats", "properties": {{"quarks": {quarks}}}}}]"#);
        let document = format!(
            r#"{{"instance_groups": [{{"instances": {}, "jobs": {jobs}}}]}}"#,
            zones.len()
        );
        let (name, document) = ("nats".into(), tree(&document));
        let mut objects = stateful_set::stateful_sets(&set(r#""zones": ["z1", "z2"],"#, volume, ""), 1).unwrap();
        resolved::mark_pods(&mut objects, &names, &[ResolvedGroup { name, document }]).unwrap();
        let digest = |set: &Tree| json::to_text(at(set, "/spec/template/metadata/annotations"));
        objects.iter().map(digest).collect::<Vec<_>>()
    };
    let (two, five, linked) = (
        digests(&[1, 2], "a"),
        digests(&[1, 2, 1, 2, 1], "a"),
        digests(&[1, 2], "b"),
    );
    assert_eq!(two, five, "no index moves");
    assert_ne!(two[0], linked[0], "what a link holds is rendered");
    // With the number of instances in each zone.
    let (one, each) = (digests(&[1, 2], "a"), digests(&[1, 1, 2, 2], "a"));
    assert_eq!(one[0], each[0], "indexes from 0 on stay");
    assert_ne!(one[1], each[1], "the second zone begins at another index");
}

#[test]
fn services_select_all_pods_if_active_ones_are_not_labelled() {
    let service = tree(
        r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"selector": {"a": "b", "quarks.cloudfoundry.org/pod-active": "active", "c": "d"}}}"#,
    );
    let set = set(r#""activePassiveProbes": {"c": {"exec": {}}},"#, "", "");
    let (objects, warnings) = lower(vec![service, set], &Tree::Null).unwrap();
    assert_eq!(json::to_text(at(&objects[0], "/spec/selector")), r#"{"a":"b","c":"d"}"#);
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        (warnings[0].severity, warnings[0].code.as_str()),
        (Severity::Warning, "plain-needs-operator")
    );
}

#[test]
fn secrets_copy_only_annotations_that_describe_the_value() {
    let mut object = quarks_secret(
        "password",
        r#", "secretLabels": {"l": "1"}, "secretAnnotations": {"m": "2"}"#,
    );
    let annotations = object.get_mut("metadata").unwrap().get_mut("annotations").unwrap();
    annotations.set("quarks.cloudfoundry.org/update-mode", "converge");
    annotations
        .set("kubectl.kubernetes.io/last-applied-configuration", "{}")
        .set("tag", "t");
    object
        .get_mut("metadata")
        .unwrap()
        .get_mut("labels")
        .unwrap()
        .set("variableName", "my-var");
    let (made, _) = lower(vec![object], &Tree::object().with("my_var", "x")).unwrap();
    assert_eq!(
        json::to_text(at(&made[0], "/metadata")),
        r#"{"name":"dep.var-my-var","labels":{"quarks.cloudfoundry.org/deployment-name":"dep","l":"1","quarks.cloudfoundry.org/secret-kind":"generated"},"annotations":{"quarks.cloudfoundry.org/variable":"my_var","tag":"t","m":"2"}}"#
    );
}

#[test]
fn replicas_that_the_template_reads_from_another_source_are_not_changed() {
    let mut object = set("", "", "");
    let path = ["spec", "template", "spec", "template", "spec", "containers"];
    let containers = path.iter().fold(&mut object, |tree, key| tree.get_mut(key).unwrap());
    let source = r#"{"name": "REPLICAS", "valueFrom": {"secretKeyRef": {"name": "s", "key": "replicas"}}}"#;
    containers.as_array_mut().unwrap()[0].set("env", vec![tree(source)]);
    let made = stateful_set::stateful_sets(&object, 1).unwrap();
    let pod = at(&made[0], "/spec/template/spec");
    let of = |list: &str| {
        let env = pod.items(list)[0].items("env").iter();
        env.filter(|variable| variable.str("name") == Some("REPLICAS"))
            .map(json::to_text)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("containers"), [json::to_text(&tree(source))]);
    // Not here either: a number in any container would restart the pods when it changes.
    assert!(of("initContainers").is_empty());
}

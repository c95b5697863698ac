//! Objects and checks outside the instance groups: QuarksSecrets, pull Secrets, checks of the whole manifest.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_bpm::convert;
use boson_bpm::request::{Deployment, DeploymentRequest, Named, Reply, Variable};
use boson_document::{Diagnostic, Severity, Tree, json};
use boson_manifest::instances::Spread;

fn convert(name: &str, registry: Option<&str>, document: &str, variables: &[(&str, &str, &str)]) -> Reply {
    let variable = |(index, (name, kind, options)): (usize, &(&str, &str, &str))| Variable {
        name: (*name).into(),
        kind: (*kind).into(),
        options: json::parse(options).unwrap(),
        update_mode: (index == 0).then(|| "converge".to_string()),
        pointer: format!("/variables/{index}"),
    };
    let deployment = Deployment {
        name: name.into(),
        namespace: "default".into(),
        cluster_domain: "cluster.local".into(),
        operator_image: "boson:1".into(),
        registry: registry.map(String::from),
        spread: Spread::Total,
    };
    let variables: Vec<Variable> = variables.iter().enumerate().map(variable).collect();
    convert::deployment(&DeploymentRequest {
        deployment: &deployment,
        manifest: Named::new("m.yml", &json::parse(document).unwrap()),
        variables: &variables,
    })
}

fn errors(reply: Reply) -> Vec<String> {
    let reported = reply.map_or_else(|reported| reported, |(_, diagnostics)| diagnostics);
    reported
        .into_iter()
        .filter(|one| one.severity == Severity::Error)
        .map(|one| format!("{} {}", one.pointer_text(), one.message))
        .collect()
}

const EMPTY: &str = r#"{"name": "demo", "releases": []}"#;

#[test]
fn every_variable_has_its_quarks_secret() {
    let variables = [
        ("admin_password", "password", r#"{"length": 40}"#),
        (
            "/cred/CA",
            "certificate",
            r#"{"is_ca": true, "common_name": "ca", "duration": 30}"#,
        ),
        (
            "leaf",
            "certificate",
            r#"{"ca": "/cred/CA", "common_name": "leaf", "alternative_names": ["a", "10.0.0.1"], "extended_key_usage": ["client_auth"], "key_length": 4096, "organization": "o"}"#,
        ),
        ("key", "ssh", r#"{"key_length": 0}"#),
        ("person", "user", r#"{"username": "u"}"#),
    ];
    let (objects, diagnostics) = convert("demo", None, EMPTY, &variables).unwrap();
    assert_eq!(diagnostics, []);
    let specs: Vec<String> = objects
        .iter()
        .map(|object| json::to_text(object.get("spec").unwrap()))
        .collect();
    let labels = r#""secretLabels":{"quarks.cloudfoundry.org/deployment-name":"demo"}"#;
    let expected = [
        format!(
            r#"{{"type":"password","secretName":"demo.var-admin-password","request":{{"password":{{"length":40}}}},{labels},"secretAnnotations":{{"quarks.cloudfoundry.org/variable":"admin_password"}}}}"#
        ),
        format!(
            r#"{{"type":"certificate","secretName":"demo.var-credca","request":{{"certificate":{{"commonName":"ca","isCA":true,"duration":30}}}},{labels},"secretAnnotations":{{"quarks.cloudfoundry.org/variable":"/cred/CA"}}}}"#
        ),
        format!(
            r#"{{"type":"certificate","secretName":"demo.var-leaf","request":{{"certificate":{{"commonName":"leaf","alternativeNames":["a","10.0.0.1"],"organization":"o","keyLength":4096,"usages":["client auth"],"CARef":{{"name":"demo.var-credca","key":"certificate"}},"CAKeyRef":{{"name":"demo.var-credca","key":"private_key"}}}}}},{labels},"secretAnnotations":{{"quarks.cloudfoundry.org/variable":"leaf"}}}}"#
        ),
        format!(
            r#"{{"type":"ssh","secretName":"demo.var-key",{labels},"secretAnnotations":{{"quarks.cloudfoundry.org/variable":"key"}}}}"#
        ),
        format!(
            r#"{{"type":"user","secretName":"demo.var-person","request":{{"user":{{"username":"u"}}}},{labels},"secretAnnotations":{{"quarks.cloudfoundry.org/variable":"person"}}}}"#
        ),
    ];
    assert_eq!(specs, expected);
    let metadata = json::to_text(objects[0].get("metadata").unwrap());
    let expected = r#"{"name":"demo.var-admin-password","labels":{"quarks.cloudfoundry.org/deployment-name":"demo","variableName":"admin-password"},"annotations":{"quarks.cloudfoundry.org/variable":"admin_password","quarks.cloudfoundry.org/update-mode":"converge"}}"#;
    assert_eq!(metadata, expected);
}

#[test]
fn values_of_variables_are_kept_as_in_bosh_and_certificates_follow_their_options() {
    let kinds = [
        "certificate",
        "password",
        "user",
        "rsa",
        "ssh",
        "basic-auth",
        "certificate",
        "tls",
    ];
    let variables: Vec<(String, &str, &str)> = kinds
        .iter()
        .zip('a'..)
        .map(|(kind, name)| (name.into(), *kind, "null"))
        .collect();
    // The first one has the mode `converge` of its own.
    let variables: Vec<(&str, &str, &str)> = variables
        .iter()
        .map(|(name, kind, options)| (name.as_str(), *kind, *options))
        .collect();
    let kept = ["no-overwrite"; 5];
    for (features, modes) in [
        ("", [&["converge"], &kept[..], &["", ""]].concat()),
        (
            r#", "features": {"converge_variables": true}"#,
            [&["converge"][..], &[""; 7]].concat(),
        ),
        (
            r#", "features": {"converge_variables": false}"#,
            [&["converge"], &kept[..], &kept[..2]].concat(),
        ),
    ] {
        let document = EMPTY.replace('}', &format!("{features}}}"));
        let (objects, diagnostics) = convert("demo", None, &document, &variables).unwrap();
        assert_eq!(diagnostics, [], "{features}");
        let mode = |object: &Tree| {
            let annotations = object.get("metadata").unwrap().get("annotations").unwrap();
            annotations
                .str("quarks.cloudfoundry.org/update-mode")
                .unwrap_or_default()
                .to_string()
        };
        assert_eq!(objects.iter().map(mode).collect::<Vec<_>>(), modes, "{features}");
    }
}

#[test]
fn variables_that_cannot_be_are_refused_together() {
    let variables = [
        ("a_b", "password", "null"),
        ("a-b", "password", "null"),
        ("x", "json", "null"),
        ("//", "rsa", "null"),
    ];
    let expected = [
        "/variables/1/name variable 'a_b' and variable 'a-b' have the same Secret name 'demo.var-a-b' in Kubernetes",
        "/variables/2/type Variable 'x' has the type 'json', which cannot be generated",
        "/variables/3/name The name '//' of the variable has no letter or digit that Kubernetes accepts in names",
    ];
    assert_eq!(errors(convert("demo", None, EMPTY, &variables)), expected);
}

#[test]
fn credhubs_options_of_certificates_are_the_requests_and_wrong_ones_are_reported_with_their_place() {
    let options = r#"{"self_sign": true, "country": "DE", "state": "BE", "locality": "B", "organization_unit": "u",
        "key_usage": ["digital_signature", "crl_sign"], "extended_key_usage": ["code_signing"]}"#;
    let (objects, diagnostics) = convert("demo", None, EMPTY, &[("c", "certificate", options)]).unwrap();
    assert_eq!(diagnostics, []);
    let request = objects[0].get("spec").and_then(|spec| spec.get("request")).unwrap();
    assert_eq!(
        json::to_text(request),
        r#"{"certificate":{"organizationUnit":"u","country":"DE","state":"BE","locality":"B","selfSign":true,"keyUsage":["digital_signature","crl_sign"],"usages":["code signing"]}}"#
    );
    let wrong = r#"{"self_sign": true, "ca": "x", "key_usage": ["digital_signature", "any"]}"#;
    let expected = [
        "/variables/0/options/key_usage/1 The provided key usage 'any' is not supported. Valid values include 'digital_signature', 'non_repudiation', 'key_encipherment', 'data_encipherment', 'key_agreement', 'key_cert_sign', 'crl_sign', 'encipher_only' and 'decipher_only'.",
        "/variables/0/options/self_sign The parameters 'ca' and 'self-sign' cannot be used in combination. Please update and retry your request.",
    ];
    assert_eq!(
        errors(convert("demo", None, EMPTY, &[("c", "certificate", wrong)])),
        expected
    );
}

#[test]
fn numbers_that_the_cluster_would_refuse_are_errors_with_their_place() {
    let duration = "/variables/0/options/duration Invalid duration specified. The supported duration values are whole \
                    numbers between 1-3650.";
    let length = "/variables/0/options/length Failed to generate password, 'length' param cannot be";
    for (kind, options, expected) in [
        ("certificate", r#"{"duration": -1}"#, vec![duration.to_string()]),
        ("certificate", r#"{"duration": 0}"#, vec![duration.to_string()]),
        ("certificate", r#"{"duration": 36500}"#, vec![]),
        ("password", r#"{"length": -1}"#, vec![format!("{length} negative")]),
        (
            "user",
            r#"{"length": 65537}"#,
            vec![format!("{length} greater than 65536")],
        ),
    ] {
        let reply = convert("demo", None, EMPTY, &[("c", kind, options)]);
        if expected.is_empty() {
            assert_eq!(reply.unwrap().1, []);
        } else {
            assert_eq!(errors(reply), expected, "{options}");
        }
    }
}

#[test]
fn zones_are_reported_once_with_all_their_names() {
    let document = r#"{"name": "demo", "releases": [], "instance_groups": [{"name": "a"}, {"name": "b", "azs": ["z1", "z2"]}, {"name": "c", "azs": ["z2", "z3"]}]}"#;
    let (_, diagnostics) = convert("demo", None, document, &[]).unwrap();
    let zones: Vec<(String, &str)> = diagnostics
        .iter()
        .filter(|one| one.code.name == "bpm-zones")
        .map(|one| (one.pointer_text(), one.message.as_str()))
        .collect();
    let message = "AZs are used as values of the node label 'topology.kubernetes.io/zone': 'z1', 'z2', 'z3'";
    assert_eq!(zones, [("/instance_groups/1/azs".to_string(), message)]);
}

#[test]
fn releases_with_credentials_have_a_pull_secret() {
    let document = r#"{"name": "demo", "tags": {"a": 1}, "releases": [
        {"name": "r", "version": "1", "url": "example.org:5000/x", "credentials": {"username": "u\"", "password": "p"}}]}"#;
    let (objects, _) = convert("demo", None, document, &[]).unwrap();
    let expected = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"demo.release-r","labels":{"quarks.cloudfoundry.org/deployment-name":"demo"},"annotations":{"a":"1"}},"type":"kubernetes.io/dockerconfigjson","data":{".dockerconfigjson":"eyJhdXRocyI6eyJleGFtcGxlLm9yZzo1MDAwIjp7InVzZXJuYW1lIjoidVwiIiwicGFzc3dvcmQiOiJwIiwiYXV0aCI6ImRTSTZjQT09In19fQ=="}}"#;
    assert_eq!(json::to_text(&objects[0]), expected);
}

#[test]
fn what_has_no_image_is_refused_unless_a_registry_stands_in() {
    let document = r#"{"name": "demo", "releases": [
        {"name": "none", "version": "1"}, {"name": "download", "version": "1", "url": "https://bosh.io/d/x", "sha1": "abc"},
        {"name": "newest", "version": "latest", "url": "x/y"}, {"name": "prefix", "version": "1", "url": "x/y", "stemcell": {"os": "o", "version": "1.latest"}},
        {"name": "bosh-dns", "version": "1"}]}"#;
    let latest = [
        "/releases/2/version Version 'latest' of release 'newest' is not supported: names of images contain exact versions",
        "/releases/3/stemcell/version Version '1.latest' of release 'prefix' is not supported: names of images contain exact versions",
    ];
    // One fault, however many releases have it.
    let urls = [
        "/releases/0 2 of 4 releases, from 'none' on, have no 'url' that names the registry and organization that hold their images",
    ];
    assert_eq!(
        errors(convert("demo", None, document, &[])),
        [&urls[..], &latest[..]].concat()
    );
    assert_eq!(errors(convert("demo", Some("r/x"), document, &[])), latest);
    for (release, wanted) in [
        (
            r#"{"name": "none", "version": "1"}"#,
            "/releases/0 Release 'none' has no 'url': the registry and organization of its image",
        ),
        (
            r#"{"name": "download", "version": "1", "url": "https://bosh.io/d/x"}"#,
            "/releases/0/url Release 'download' has a download 'url', but needs a registry and organization",
        ),
    ] {
        let document = format!(r#"{{"name": "demo", "releases": [{release}]}}"#);
        assert_eq!(errors(convert("demo", None, &document, &[])), [wanted]);
    }
}

#[test]
fn the_manifest_is_checked_as_a_whole() {
    let document = r#"{"name": "other", "releases": [{"name": "r", "version": "1", "url": "x"}],
        "stemcells": [{"alias": "a", "os": "o", "version": "1"}, {"alias": "a", "version": "latest"}],
        "features": {"use_dns_addresses": false, "converge_variables": "yes", "huh": 1},
        "update": {"canaries": 1, "vm_strategy": "hotswap", "canary_watch_time": "x", "serial": true},
        "tags": {"bad tag": 1, "list": [1]},
        "azs": [], "properties": {},
        "instance_groups": [{"name": "a", "instances": 1, "stemcell": "a"}, {"name": "a-0", "instances": 1, "properties": {"p": 1}}]}"#;
    let expected = [
        "/azs Deployment manifest contains 'azs' section, but this can only be set in a cloud-config.",
        "/properties Key 'properties' is not supported here: move the properties to the jobs that use them",
        "/features/converge_variables Key 'converge_variables' in 'features' expected to be a boolean, but received 'String'",
        "/features/use_dns_addresses Feature 'use_dns_addresses' cannot be false: addresses are always DNS names in Kubernetes",
        "/update/canary_watch_time Watch time should be an integer or a range of two integers",
        "/update/vm_strategy Invalid vm_strategy 'hotswap', valid strategies are: create-swap-delete, delete-create",
        "/stemcells/1/alias Duplicate stemcell alias 'a'",
        "/stemcells/1 Required property 'os' or 'name' was not specified in object ({\"alias\" => \"a\", \"version\" => \"latest\"})",
        "/stemcells/1/version Version 'latest' of stemcell 'a' is not supported: names of images contain exact versions",
        "/instance_groups/1/properties Key 'properties' is not supported here: move the properties to the jobs that use them",
        "/tags/bad tag 'bad tag' is not a valid name of a tag or annotation in Kubernetes",
        "/tags/list The value of 'list' is not a string",
        "/instance_groups/1/name instance 0 of instance group 'a' and instance group 'a-0' have the same Service name 'demo-a-0' in Kubernetes",
    ];
    assert_eq!(errors(convert("demo", None, document, &[])), expected);
}

#[test]
fn what_the_links_stage_reports_is_not_reported_again() {
    for document in [
        r#"{"name": "demo", "releases": null}"#,
        r#"{"name": "demo"}"#,
        r#"{"name": "demo", "releases": [null]}"#,
        r#"{"name": "demo", "releases": [], "instance_groups": 1, "addons": 1}"#,
        r#"{"name": "demo", "releases": [], "addons": [1, {}, {"name": "a", "jobs": 1, "properties": 1, "include": 1}]}"#,
        r#"{"name": "demo", "releases": [], "instance_groups": [1, {}, {"name": "a_b", "instances": "x"}, {"name": "A-b"}, {"name": "-"}]}"#,
        r#"{"name": "demo", "releases": [], "instance_groups": [{"name": "g", "jobs": [1, {}, {"name": 1, "release": 1, "properties": 1}]}]}"#,
    ] {
        assert_eq!(
            errors(convert("demo", Some("r/x"), document, &[])),
            [""; 0],
            "{document}"
        );
    }
    let twice = r#"{"name": "r", "version": "1"}"#;
    let document = format!(r#"{{"name": "demo", "releases": [{twice}, {twice}]}}"#);
    assert_eq!(errors(convert("demo", Some("r/x"), &document, &[])), [""; 0]);
}

#[test]
fn a_deployment_name_begins_with_a_letter() {
    let expected =
        ["/name The deployment name '3scale' does not begin with a letter, as names of Kubernetes Services must"];
    assert_eq!(errors(convert("3scale", None, EMPTY, &[])), expected);
}

#[test]
fn no_secret_is_in_a_message() {
    let document = r#"{"name": ["s3cret"], "releases": [{"name": "r", "credentials": "s3cret", "url": {"a": "s3cret"}, "stemcell": {"os": ["s3cret"]}}],
        "instance_groups": [{"name": "g", "jobs": [{"properties": "s3cret"}, {"name": "j", "release": "r", "properties": {"quarks": {"ports": "s3cret", "envs": {"a": "s3cret"}, "run": {"memory": "s3cret"}}}}]}]}"#;
    let reported = convert("demo", None, document, &[("v", "password", r#"{"length": "s3cret"}"#)]).unwrap_err();
    // A scalar that has the wrong type is shown, as BOSH shows it, where no property can be.
    let shown: Vec<String> = reported
        .iter()
        .filter(|one| one.message.contains("s3cret"))
        .map(Diagnostic::pointer_text)
        .collect();
    assert_eq!(shown, [""; 0]);
}

#[test]
fn errors_come_before_any_number_of_warnings() {
    let unknown: Vec<String> = (0..1000).map(|n| format!(r#""x{n}": 1"#)).collect();
    let reported = convert("demo", None, &format!(r#"{{{}, "azs": []}}"#, unknown.join(",")), &[]).unwrap_err();
    assert_eq!((reported.len(), reported[0].severity), (1001, Severity::Error));
}

const ALIASES: &str = r#"{"name": "demo", "releases": [], "instance_groups": [{"name": "web_ui", "instances": 2, "azs": ["z1"], "jobs": []},
    {"name": "smoke", "lifecycle": "errand", "instances": 1, "jobs": []}],
    "addons": [{"name": "dns", "jobs": [{"name": "bosh-dns-aliases", "release": "bosh-dns-aliases", "properties": {"aliases": [
      {"domain": "web.internal", "targets": [{"query": "*", "instance_group": "web_ui", "network": "default", "deployment": "demo", "domain": "bosh"}]}]}}]}]}"#;

#[test]
fn a_deployment_with_aliases_has_servers_that_answer_them() {
    let (objects, _) = convert("demo", None, ALIASES, &[]).unwrap();
    let kinds: Vec<String> = objects
        .iter()
        .map(|object| {
            let name = object.get("metadata").and_then(|metadata| metadata.str("name"));
            format!("{} {}", object.str("kind").unwrap(), name.unwrap())
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "ConfigMap demo-dns",
            "Service demo-dns",
            "Deployment demo-dns",
            "PodDisruptionBudget demo-dns"
        ]
    );
    let at = |nth: usize, path: &str| {
        let mut keys = path.split('/').skip(1);
        let found = keys.try_fold(&objects[nth], |tree, key| match tree {
            Tree::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => tree.get(key),
        });
        found.map(json::to_text).unwrap_or_default()
    };
    let zone = objects[0].get("data").and_then(|data| data.str("zone.json")).unwrap();
    let zone = json::parse(zone).unwrap();
    let part = |key: &str| json::to_text(zone.get(key).unwrap());
    assert_eq!(part("aliases"), r#"{"web.internal":["*.web-ui.default.demo.bosh"]}"#);
    assert_eq!(part("groups"), r#"[{"name":"web_ui","azs":["z1"],"instances":2}]"#);
    let pod = "/spec/template/spec";
    assert_eq!(at(2, "/spec/replicas"), "2");
    assert_eq!(at(2, &format!("{pod}/serviceAccountName")), r#""boson-dns""#);
    assert_eq!(at(2, &format!("{pod}/containers/0/image")), r#""boson:1""#);
    // What the profile `restricted` asks for.
    assert_eq!(
        at(2, &format!("{pod}/containers/0/securityContext")),
        r#"{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true}"#
    );
    // Files of aliases of a group's jobs may come later.
    assert_eq!(
        at(2, &format!("{pod}/volumes/0/projected/sources/1/configMap")),
        r#"{"name":"demo-dns-web-ui","optional":true}"#
    );
    assert_eq!(
        at(1, "/spec/ports/0"),
        r#"{"name":"dns","protocol":"UDP","port":53,"targetPort":5353}"#
    );
    assert_eq!(at(3, "/spec/maxUnavailable"), "1");
}

#[test]
fn a_deployment_without_aliases_has_no_servers_and_bad_ones_are_refused() {
    assert!(convert("demo", None, EMPTY, &[]).unwrap().0.is_empty());
    let taken = ALIASES.replace("smoke", "dns");
    let reported = errors(convert("demo", None, &taken, &[]));
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].contains("'demo-dns'"), "{reported:?}");
    let circle = ALIASES.replace("*\", \"instance_group\"", "*\", \"instance_grop\"");
    let reported = errors(convert("demo", None, &circle, &[]));
    assert!(reported[0].contains("A target of an alias needs"), "{reported:?}");
}

//! Bad input, one operator for all of it: each mistake is reported in a condition and an event that name it, writes no
//! object, reveals no value, and is no longer reported once it is fixed.

use crate::invalid_additions;
use crate::objects::{OURS, condition, config_map, has_reason, is};
use crate::operator_process::{OperatorProcess, Tenant, small_release};
use boson_tests::registry::layer;
use serde_json::{Value, json};

/// Kinds of what runs; Secrets between the steps of a conversion may be there before it fails.
const OBJECTS: [(&str, &str); 4] = [
    (OURS, "QuarksStatefulSet"),
    (OURS, "QuarksJob"),
    ("v1", "Service"),
    ("apps/v1", "StatefulSet"),
];
/// A value of every deployment that nothing may tell.
const MARKER: &str = "hush-hush-marker";
/// Eight bytes of it in any form are too many.
const TELLING: [&str; 7] = [
    "hush-hus",
    "h-marker",
    "HUSH-HUS",
    "rekram-h",
    "aHVzaC1o",
    "LW1hcmtl",
    "687573682d",
];
/// Forms into which templates of a release change it.
const FORMS: [&str; 7] = [
    "raise \"no domain #{v}\"",
    "JSON.parse(v + '-and-more-than-thirty-two-bytes')",
    "Integer(\"#{v}\\e\")",
    "raise v.upcase",
    "raise v.reverse",
    "raise Base64.encode64(v)",
    "raise v.unpack1('H*')",
];

struct Case {
    /// Name of the deployment.
    name: &'static str,
    /// With the inputs of a good deployment, and before it is created.
    spoil: Vec<Step>,
    /// The condition's type and reason.
    reported: (&'static str, &'static str),
    /// Texts in the message.
    words: &'static [&'static str],
    fix: Vec<Step>,
}

/// What a user does.
enum Step {
    Apply(Value),
    /// Writes an ops file of the deployment: its name and text.
    Ops(&'static str, String),
    /// By API version, kind and name.
    Delete(&'static str, &'static str, &'static str),
    /// Makes a quota for so many Services.
    Few(&'static str),
    /// Creates another deployment.
    Deploy(&'static str),
    /// Checks that the user's Service is as it was.
    HasService(&'static str),
}

// === impl Step ===

impl Step {
    async fn run(self, tenant: &Tenant) {
        match self {
            Self::Apply(object) => tenant.apply(object).await,
            Self::Ops(name, text) => tenant.config_map(name, "ops", &text).await,
            Self::Delete(api_version, kind, name) => tenant.delete(api_version, kind, name).await,
            Self::Few(most) => tenant.few("services", most).await,
            Self::Deploy(name) => {
                tenant.deployment(name, &[]).await;
                tenant.wait_until_applied(name).await;
            }
            Self::HasService(name) => {
                let service = tenant.get("v1", "Service", name).await.unwrap();
                assert_eq!(service["metadata"]["ownerReferences"], Value::Null);
                assert_eq!(service["spec"]["ports"][0]["port"], 1);
            }
        }
    }
}

/// Writes the manifest of a deployment.
fn write(deployment: &str, manifest: &str) -> Step {
    Step::Apply(config_map(&format!("{deployment}-manifest"), "manifest", manifest))
}

/// Writes the good manifest.
fn write_good(deployment: &str) -> Step {
    write(deployment, &manifest("1", "domain"))
}

fn ops(name: &'static str, text: &str) -> Step {
    Step::Ops(name, text.into())
}

fn secret(name: &str, key: &str, text: &str) -> Step {
    Step::Apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: text}}))
}

fn manifest(version: &str, domain: &str) -> String {
    format!(
        r#"releases:
- {{name: demo, version: "{version}", url: registry.example.com/demo}}
stemcells:
- {{alias: default, os: ubuntu-jammy, version: "1.1"}}
variables:
- {{name: pw, type: password}}
instance_groups:
- name: web
  instances: 1
  stemcell: default
  jobs:
  - name: app
    release: demo
    properties: {{app: {{domain: (({domain})), token: ((pw))}}}}
"#
    )
}

/// Text that gzip hardly makes smaller.
fn noise(bytes: usize, mut state: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[(state % 64) as usize])
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

fn cases() -> Vec<Case> {
    const ANTI_AFFINITY: &str = "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, matchLabelKeys: [a]}]}}";
    let converted = |reason| ("Converted", reason);
    let applied = |reason| ("Applied", reason);
    // These cannot be fixed: the plugin breaks every deployment with such a name. It is enough that they can be
    // deleted.
    let broken_by_plugin = |name, reported, words| Case {
        name,
        spoil: Vec::new(),
        reported,
        words,
        fix: vec![Step::Delete(OURS, "BOSHDeployment", name)],
    };
    vec![
        Case {
            name: "no-map",
            spoil: vec![Step::Delete("v1", "ConfigMap", "no-map-manifest")],
            reported: converted("DeploymentNotFound"),
            words: &["there is no ConfigMap 'no-map-manifest'", "boshdeployment"],
            fix: vec![write_good("no-map")],
        },
        Case {
            name: "no-key",
            spoil: vec![Step::Apply(config_map("no-key-manifest", "other", "x"))],
            reported: converted("DeploymentNoKey"),
            words: &["ConfigMap 'no-key-manifest' has no key 'manifest'"],
            fix: vec![write_good("no-key")],
        },
        Case {
            name: "no-ops",
            spoil: vec![ops("absent", "[]"), Step::Delete("v1", "ConfigMap", "absent")],
            reported: converted("DeploymentNotFound"),
            words: &["there is no ConfigMap 'absent'", "boshdeployment", "ops/0"],
            fix: vec![ops("absent", "[]")],
        },
        Case {
            name: "ops-fail",
            spoil: vec![ops("ops", "- type: remove\n  path: /instance_gruops/0\n")],
            reported: converted("OpsMissingKey"),
            words: &["configmap/ops/ops:2:9", "Expected to find a map key 'instance_gruops'"],
            fix: vec![ops("ops", "[]")],
        },
        Case {
            name: "words-long",
            spoil: vec![ops(
                "ops",
                &format!("- type: remove\n  path: /{}\n", "größe".repeat(900)),
            )],
            reported: converted("OpsMissingKey"),
            words: &["Expected to find a map key 'größegröße", "[the message is cut: it has "],
            fix: vec![ops("ops", "[]")],
        },
        // Without the check, the API server refuses the QuarksSecret: a length is a number.
        Case {
            name: "generated-option",
            spoil: vec![write(
                "generated-option",
                &manifest("1", "domain").replace(
                    "{name: pw, type: password}",
                    "{name: pw, type: password, options: {length: ((other))}}\n- {name: other, type: password}",
                ),
            )],
            reported: converted("VariablesGeneratedOption"),
            words: &["The options of variable 'pw' use variable 'other', which is generated"],
            fix: vec![write_good("generated-option")],
        },
        Case {
            name: "no-value",
            spoil: vec![write("no-value", &manifest("1", "pws"))],
            reported: converted("DeploymentNoValue"),
            words: &[
                "there is no Secret 'no-value.var-implicit-pws'",
                "configmap/no-value-manifest/manifest:14",
                "did you mean 'pw'?",
            ],
            fix: vec![secret("no-value.var-implicit-pws", "value", MARKER)],
        },
        Case {
            name: "no-json",
            spoil: vec![Step::Apply(json!({
                "apiVersion": "v1", "kind": "Secret", "stringData": {"value": MARKER},
                "metadata": {"name": "no-json.var-implicit-domain",
                    "annotations": {"quarks.cloudfoundry.org/json-value": "true"}},
            }))],
            reported: converted("DeploymentValue"),
            words: &["key 'value' of Secret 'no-json.var-implicit-domain' is not JSON"],
            fix: vec![secret(
                "no-json.var-implicit-domain",
                "value",
                &json!(MARKER).to_string(),
            )],
        },
        Case {
            name: "no-image",
            spoil: vec![write("no-image", &manifest("2", "domain"))],
            reported: converted("ImageMissing"),
            words: &[
                "there is no image '",
                "/bosh/demo:ubuntu-jammy-1.1-2'",
                "no-image-manifest",
            ],
            fix: vec![write_good("no-image")],
        },
        Case {
            name: "no-bpm",
            spoil: vec![write("no-bpm", &manifest("3", "domain"))],
            reported: converted("BpmNoInformation"),
            words: &["app"],
            fix: vec![write_good("no-bpm")],
        },
        Case {
            name: "template-message",
            spoil: vec![write("template-message", &manifest("4", "domain"))],
            reported: converted("RenderTemplateFailed"),
            words: &[
                "Error filling in template 't0.erb' (line 2: no domain <redacted>)",
                "Error filling in template 't2.erb' (line 2: invalid value for Integer(): ",
            ],
            fix: vec![write_good("template-message")],
        },
        Case {
            name: "too-large",
            spoil: [("one", 1), ("two", 2)]
                .map(|(name, seed)| {
                    let value = noise(900_000, seed);
                    ops(
                        name,
                        &format!("- {{type: replace, path: '/tags?/{name}', value: '{value}'}}\n"),
                    )
                })
                .into(),
            reported: converted("DeploymentTooLarge"),
            words: &["Secret 'too-large.with-ops'", "a Secret may have at most 1048576"],
            fix: vec![ops("two", "- {type: remove, path: /tags}")],
        },
        Case {
            name: "service-of-others",
            spoil: vec![Step::Apply(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "service-of-others-web"},
                "spec": {"ports": [{"port": 1}]},
            }))],
            reported: applied("DeploymentNameConflict"),
            words: &["there is already Service 'service-of-others-web' (not owned by this deployment)"],
            fix: vec![
                Step::HasService("service-of-others-web"),
                Step::Delete("v1", "Service", "service-of-others-web"),
            ],
        },
        Case {
            name: "secret-of-others",
            spoil: vec![secret("secret-of-others.ig-resolved.web-v1", "mine", MARKER)],
            reported: applied("DeploymentNameConflict"),
            words: &["there is already Secret 'secret-of-others.ig-resolved.web-v1' (not owned by this deployment)"],
            fix: vec![Step::Delete("v1", "Secret", "secret-of-others.ig-resolved.web-v1")],
        },
        Case {
            name: "neighbor-b",
            spoil: vec![
                write("neighbor", &manifest("1", "domain").replace("name: web", "name: b-web")),
                secret("neighbor.var-implicit-domain", "value", MARKER),
                Step::Deploy("neighbor"),
            ],
            reported: applied("DeploymentNameConflict"),
            words: &["QuarksStatefulSet 'neighbor-b-web' (of BOSHDeployment 'neighbor')"],
            fix: vec![Step::Delete(OURS, "BOSHDeployment", "neighbor")],
        },
        Case {
            name: "quota",
            spoil: vec![Step::Few("0")],
            reported: applied("DeploymentRefused"),
            words: &["Service 'quota-web'", "exceeded quota: few"],
            fix: vec![Step::Delete("v1", "ResourceQuota", "few")],
        },
        // Either of its two Services would be admitted; without both, none is written.
        Case {
            name: "quota-together",
            spoil: vec![Step::Few("1")],
            reported: applied("DeploymentQuotaExceeded"),
            words: &["the quota 'few' limits count/services to 1: 0 are used, 2 more are needed"],
            fix: vec![Step::Delete("v1", "ResourceQuota", "few")],
        },
        Case {
            name: "typo",
            spoil: vec![ops(
                "typo",
                "- type: replace\n  path: /instance_groups/name=web/jobs/name=app/properties/quarks?/run/security_context\n  \
                 value: {runAsNonroot: true}\n",
            )],
            reported: converted("BpmField"),
            words: &["Kubernetes has no field 'runAsNonroot' here", "configmap/typo/ops"],
            fix: vec![ops("typo", "[]")],
        },
        // The API server would accept the QuarksStatefulSet, and refuse its StatefulSet.
        Case {
            name: "affinity",
            spoil: vec![ops(
                "affinity",
                &format!(
                    "- type: replace\n  path: /instance_groups/name=web/env?/bosh/agent/settings/affinity\n  \
                     value: {ANTI_AFFINITY}\n"
                ),
            )],
            reported: applied("DeploymentRefused"),
            words: &["StatefulSet 'affinity-web'", "matchLabelKeys"],
            fix: vec![ops("affinity", "[]")],
        },
        // The same for the Job of an errand. The other group is good, and is not created either.
        Case {
            name: "errand",
            spoil: vec![ops(
                "errand",
                &format!(
                    "- type: replace\n  path: /instance_groups/-\n  value: {{name: tests, lifecycle: errand, instances: 1, \
                     stemcell: default, jobs: [{{name: app, release: demo, properties: {{app: {{domain: a}}}}}}], \
                     env: {{bosh: {{agent: {{settings: {{affinity: {ANTI_AFFINITY}}}}}}}}}}}\n"
                ),
            )],
            reported: applied("DeploymentRefused"),
            words: &["Job 'errand-tests", "matchLabelKeys"],
            fix: vec![ops("errand", "[]")],
        },
        broken_by_plugin(
            "illegal",
            converted("BundleKindNotAllowed"),
            &["Role 'odd'", "(made by plugin 'hook.wasm', sha256:"],
        ),
        broken_by_plugin(
            "large-object",
            converted("BundleObjectTooLarge"),
            &["ConfigMap 'odd'", "(made by plugin 'hook.wasm', sha256:"],
        ),
        broken_by_plugin(
            "refused",
            applied("DeploymentRefused"),
            &["Service 'odd'", "spec.ports[0].port"],
        ),
    ]
}

/// The inputs of a good deployment.
async fn prepare(tenant: &Tenant, name: &str) {
    tenant.apply_manifest(name, &manifest("1", "domain")).await;
    tenant
        .secret(&format!("{name}.var-implicit-domain"), "value", MARKER)
        .await;
}

async fn play(tenant: Tenant, case: Case) {
    let (name, (kind, reason)) = (case.name, case.reported);
    prepare(&tenant, name).await;
    let mut ops = Vec::new();
    for step in case.spoil {
        if let Step::Ops(name, _) = step {
            ops.push(name);
        }
        step.run(&tenant).await;
    }
    tenant.deployment(name, &ops).await;
    let reported = tenant
        .wait_for_deployment(name, reason, |deployment| {
            is(deployment, kind, "False") && has_reason(deployment, kind, reason)
        })
        .await;
    let message = condition(&reported, kind).unwrap()["message"]
        .as_str()
        .unwrap()
        .to_string();
    for words in case.words {
        assert!(message.contains(words), "{name}: no {words:?} in {message}");
    }
    assert!(is(&reported, "Ready", "False"), "{name}: {:#}", reported["status"]);
    assert!(
        reported["status"]["message"].as_str().unwrap().chars().count() <= 2000,
        "{name}"
    );
    tenant
        .wait_for_event(name, |found, note| {
            found == reason && note.len() < 1024 && case.words.iter().any(|words| note.contains(words))
        })
        .await;
    for (api_version, kind) in OBJECTS {
        let made = tenant.names(api_version, kind, name).await;
        assert!(made.is_empty(), "{name}: {kind} {made:?} before all is well");
    }
    let text = format!("{reported} {:?}", tenant.events().await);
    for form in TELLING {
        assert!(!text.contains(form), "{name}: {form} in {text}");
    }
    for step in case.fix {
        step.run(&tenant).await;
    }
    if tenant.get(OURS, "BOSHDeployment", name).await.is_some() {
        let fixed = tenant.wait_until_applied(name).await;
        assert!(is(&fixed, "Converted", "True"), "{name}: {:#}", fixed["status"]);
        assert_eq!(
            tenant.names(OURS, "QuarksStatefulSet", name).await,
            [format!("{name}-web")]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_reported_harm_nothing_and_disappear_once_fixed() {
    let files = tempfile::tempdir().unwrap();
    let plugin = format!("resources={}", invalid_additions::write(files.path()).display());
    let operator = OperatorProcess::set("mistakes", false, &["--plugin", &plugin]).await;
    // A release whose job has a process and nothing that text how to run it.
    let spec = std::fs::read(small_release().join("jobs/app/spec")).unwrap();
    let spec: String = String::from_utf8(spec)
        .unwrap()
        .replace("  bpm.yml.erb: config/bpm.yml\n", "");
    let files = [
        ("var/vcap/jobs-src/app/job.MF", spec.as_bytes()),
        ("var/vcap/jobs-src/app/monit", b"check process app\n"),
        ("var/vcap/jobs-src/app/templates/app.conf.erb", b"x"),
    ];
    operator
        .registry
        .push("demo:ubuntu-jammy-1.1-3", &[layer(&files).unwrap()])
        .unwrap();
    // A release whose templates fail, and say why.
    let sources: String = (0..FORMS.len())
        .map(|nth| format!("  t{nth}.erb: config/t{nth}\n"))
        .collect();
    let spec = spec.replace("templates:\n", &format!("templates:\n{sources}"));
    let texts = FORMS.map(|form| format!("<% v = p('app.domain') %>\n<% {form} %>"));
    let paths: Vec<String> = (0..FORMS.len())
        .map(|nth| format!("var/vcap/jobs-src/app/templates/t{nth}.erb"))
        .collect();
    let templates = paths
        .iter()
        .zip(&texts)
        .map(|(path, text)| (path.as_str(), text.as_bytes()));
    let common = [
        ("var/vcap/jobs-src/app/job.MF", spec.as_bytes()),
        ("var/vcap/jobs-src/app/monit", b"".as_slice()),
        ("var/vcap/jobs-src/app/templates/app.conf.erb", b"x".as_slice()),
    ];
    let files: Vec<(&str, &[u8])> = common.into_iter().chain(templates).collect();
    operator
        .registry
        .push("demo:ubuntu-jammy-1.1-4", &[layer(&files).unwrap()])
        .unwrap();
    let plays = cases().into_iter().map(|case| {
        let tenant = operator.tenant(case.name);
        tokio::spawn(play(tenant, case))
    });
    let ends = futures::future::join_all(plays.collect::<Vec<_>>()).await;
    let failed = ends.into_iter().filter_map(Result::err).count();
    assert_eq!(failed, 0, "see the panics above");
    let log = operator.log();
    for form in TELLING {
        assert!(!log.contains(form), "the log has {form}");
    }
    assert!(!log.contains("panicked"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_stateful_set_is_reported_at_the_deployment() {
    let operator = OperatorProcess::set("pods", false, &[]).await;
    let tenant = operator.tenant("pods");
    prepare(&tenant, "d").await;
    tenant.config_map("ops", "ops", "[]").await;
    // A dry run does not count StatefulSets.
    tenant.few("statefulsets.apps", "0").await;
    tenant.deployment("d", &["ops"]).await;
    let stuck = tenant.wait_for_reason("d", "Ready", "GroupsRefused").await;
    let message = stuck["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("d-web") && message.contains("exceeded quota: few"),
        "{message}"
    );
    tenant
        .wait_for_event("the quota", |reason, _| reason == "GroupsRefused")
        .await;
    tenant.delete("v1", "ResourceQuota", "few").await;
    tenant.wait_for_reason("d", "Ready", "GroupsNotReady").await;
    // A group that is removed takes its objects with it.
    tenant
        .config_map("ops", "ops", "- {type: remove, path: /instance_groups/name=web}")
        .await;
    let empty = tenant
        .wait_for_deployment("d", "Deployed", |deployment| {
            deployment["status"]["state"] == "Deployed"
        })
        .await;
    assert_eq!(empty["status"]["totalInstanceGroups"], 0);
    assert!(tenant.names(OURS, "QuarksStatefulSet", "d").await.is_empty());
    assert!(tenant.names("v1", "Service", "d").await.is_empty());
    // And a namespace can be deleted during any operation.
    let cluster = boson_tests::cluster::shared().unwrap();
    cluster
        .kubectl(["delete", "namespace", &tenant.namespace, "--timeout=300s"])
        .unwrap();
    let tenant = operator.tenant("later");
    prepare(&tenant, "d").await;
    tenant.deployment("d", &[]).await;
    tenant.wait_until_applied("d").await;
}

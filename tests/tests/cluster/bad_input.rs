//! Bad input, one operator for all of it: each mistake is reported in a condition and an event that name it, writes no
//! object, reveals no value, and is no longer reported once it is fixed.

use crate::invalid_additions;
use crate::operator_process::{OperatorProcess, Tenant, condition, is, small_release};
use boson_tests::registry::layer;
use futures::future::BoxFuture;
use serde_json::{Value, json};

const OURS: &str = "quarks.cloudfoundry.org/v1alpha1";
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
    /// Creates it, after the inputs of a good deployment exist.
    spoil: fn(Tenant, &'static str) -> BoxFuture<'static, ()>,
    /// The condition's type and reason.
    reported: (&'static str, &'static str),
    /// Texts in the message.
    words: &'static [&'static str],
    /// Fixes it.
    fix: fn(Tenant, &'static str) -> BoxFuture<'static, ()>,
}

/// Wraps blocks as functions for the table.
macro_rules! steps {
    ($tenant:ident, $name:ident, $body:block) => {
        |$tenant: Tenant, $name: &'static str| {
            Box::pin(async move {
                let _ = $name;
                $body
            })
        }
    };
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

const DEPLOY: fn(Tenant, &'static str) -> BoxFuture<'static, ()> =
    steps!(tenant, name, { tenant.deployment(name, &[]).await });

fn cases() -> Vec<Case> {
    let converted = |reason| ("Converted", reason);
    let applied = |reason| ("Applied", reason);
    vec![
        Case {
            name: "no-map",
            spoil: steps!(tenant, name, {
                tenant.delete("v1", "ConfigMap", "no-map-manifest").await;
                tenant.deployment(name, &[]).await;
            }),
            reported: converted("DeploymentNotFound"),
            words: &["there is no ConfigMap 'no-map-manifest'", "boshdeployment"],
            fix: steps!(tenant, name, {
                tenant
                    .config_map("no-map-manifest", "manifest", &manifest("1", "domain"))
                    .await
            }),
        },
        Case {
            name: "no-key",
            spoil: steps!(tenant, name, {
                tenant.config_map("no-key-manifest", "other", "x").await;
                tenant.deployment(name, &[]).await;
            }),
            reported: converted("DeploymentNoKey"),
            words: &["ConfigMap 'no-key-manifest' has no key 'manifest'"],
            fix: steps!(tenant, name, {
                tenant
                    .config_map("no-key-manifest", "manifest", &manifest("1", "domain"))
                    .await
            }),
        },
        Case {
            name: "no-ops",
            spoil: steps!(tenant, name, { tenant.deployment(name, &["absent"]).await }),
            reported: converted("DeploymentNotFound"),
            words: &["there is no ConfigMap 'absent'", "boshdeployment", "ops/0"],
            fix: steps!(tenant, name, { tenant.config_map("absent", "ops", "[]").await }),
        },
        Case {
            name: "ops-fail",
            spoil: steps!(tenant, name, {
                tenant
                    .config_map("ops", "ops", "- type: remove\n  path: /instance_gruops/0\n")
                    .await;
                tenant.deployment(name, &["ops"]).await;
            }),
            reported: converted("OpsMissingKey"),
            words: &["configmap/ops/ops:2:9", "Expected to find a map key 'instance_gruops'"],
            fix: steps!(tenant, name, { tenant.config_map("ops", "ops", "[]").await }),
        },
        Case {
            name: "words-long",
            spoil: steps!(tenant, name, {
                let ops = format!("- type: remove\n  path: /{}\n", "größe".repeat(900));
                tenant.config_map("ops", "ops", &ops).await;
                tenant.deployment(name, &["ops"]).await;
            }),
            reported: converted("OpsMissingKey"),
            words: &["Expected to find a map key 'größegröße", "[the message is cut: it has "],
            fix: steps!(tenant, name, { tenant.config_map("ops", "ops", "[]").await }),
        },
        // Without the check, the API server refuses the QuarksSecret: a length is a number.
        Case {
            name: "generated-option",
            spoil: steps!(tenant, name, {
                let length =
                    "{name: pw, type: password, options: {length: ((other))}}\n- {name: other, type: password}";
                let text = manifest("1", "domain").replace("{name: pw, type: password}", length);
                tenant.config_map("generated-option-manifest", "manifest", &text).await;
                tenant.deployment(name, &[]).await;
            }),
            reported: converted("VariablesGeneratedOption"),
            words: &["The options of variable 'pw' use variable 'other', which is generated"],
            fix: steps!(tenant, name, {
                tenant
                    .config_map("generated-option-manifest", "manifest", &manifest("1", "domain"))
                    .await
            }),
        },
        Case {
            name: "no-value",
            spoil: steps!(tenant, name, {
                tenant
                    .config_map("no-value-manifest", "manifest", &manifest("1", "pws"))
                    .await;
                tenant.deployment(name, &[]).await;
            }),
            reported: converted("DeploymentNoValue"),
            words: &[
                "there is no Secret 'no-value.var-implicit-pws'",
                "configmap/no-value-manifest/manifest:14",
                "did you mean 'pw'?",
            ],
            fix: steps!(tenant, name, {
                tenant.secret("no-value.var-implicit-pws", "value", MARKER).await
            }),
        },
        Case {
            name: "no-json",
            spoil: steps!(tenant, name, {
                let metadata = json!({"name": "no-json.var-implicit-domain",
                    "annotations": {"quarks.cloudfoundry.org/json-value": "true"}});
                tenant.apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"value": MARKER}}))
                    .await;
                tenant.deployment(name, &[]).await;
            }),
            reported: converted("DeploymentValue"),
            words: &["key 'value' of Secret 'no-json.var-implicit-domain' is not JSON"],
            fix: steps!(tenant, name, {
                let value = json!(MARKER).to_string();
                tenant.secret("no-json.var-implicit-domain", "value", &value).await;
            }),
        },
        Case {
            name: "no-image",
            spoil: steps!(tenant, name, {
                tenant
                    .config_map("no-image-manifest", "manifest", &manifest("2", "domain"))
                    .await;
                tenant.deployment(name, &[]).await;
            }),
            reported: converted("ImageMissing"),
            words: &[
                "there is no image '",
                "/bosh/demo:ubuntu-jammy-1.1-2'",
                "no-image-manifest",
            ],
            fix: steps!(tenant, name, {
                tenant
                    .config_map("no-image-manifest", "manifest", &manifest("1", "domain"))
                    .await
            }),
        },
        Case {
            name: "no-bpm",
            spoil: steps!(tenant, name, {
                tenant
                    .config_map("no-bpm-manifest", "manifest", &manifest("3", "domain"))
                    .await;
                tenant.deployment(name, &[]).await;
            }),
            reported: converted("BpmNoInformation"),
            words: &["app"],
            fix: steps!(tenant, name, {
                tenant
                    .config_map("no-bpm-manifest", "manifest", &manifest("1", "domain"))
                    .await
            }),
        },
        Case {
            name: "template-message",
            spoil: steps!(tenant, name, {
                tenant
                    .config_map("template-message-manifest", "manifest", &manifest("4", "domain"))
                    .await;
                tenant.deployment(name, &[]).await;
            }),
            reported: converted("RenderTemplateFailed"),
            words: &[
                "Error filling in template 't0.erb' (line 2: no domain <redacted>)",
                "Error filling in template 't2.erb' (line 2: invalid value for Integer(): ",
            ],
            fix: steps!(tenant, name, {
                tenant
                    .config_map("template-message-manifest", "manifest", &manifest("1", "domain"))
                    .await
            }),
        },
        Case {
            name: "too-large",
            spoil: steps!(tenant, name, {
                for (ops, seed) in [("one", 1), ("two", 2)] {
                    let text = format!(
                        "- {{type: replace, path: '/tags?/{ops}', value: '{}'}}\n",
                        noise(900_000, seed)
                    );
                    tenant.config_map(ops, "ops", &text).await;
                }
                tenant.deployment(name, &["one", "two"]).await;
            }),
            reported: converted("DeploymentTooLarge"),
            words: &["Secret 'too-large.with-ops'", "a Secret may have at most 1048576"],
            fix: steps!(tenant, name, {
                tenant.config_map("two", "ops", "- {type: remove, path: /tags}").await
            }),
        },
        Case {
            name: "service-of-others",
            spoil: steps!(tenant, name, {
                let spec = json!({"ports": [{"port": 1}]});
                tenant.apply(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "service-of-others-web"}, "spec": spec}))
                    .await;
                tenant.deployment(name, &[]).await;
            }),
            reported: applied("DeploymentNameConflict"),
            words: &["there is already Service 'service-of-others-web' (not owned by this deployment)"],
            fix: steps!(tenant, name, {
                let service = tenant.get("v1", "Service", "service-of-others-web").await.unwrap();
                assert_eq!(service["metadata"]["ownerReferences"], Value::Null);
                assert_eq!(service["spec"]["ports"][0]["port"], 1);
                tenant.delete("v1", "Service", "service-of-others-web").await;
            }),
        },
        Case {
            name: "secret-of-others",
            spoil: steps!(tenant, name, {
                tenant
                    .secret("secret-of-others.ig-resolved.web-v1", "mine", MARKER)
                    .await;
                tenant.deployment(name, &[]).await;
            }),
            reported: applied("DeploymentNameConflict"),
            words: &["there is already Secret 'secret-of-others.ig-resolved.web-v1' (not owned by this deployment)"],
            fix: steps!(tenant, name, {
                tenant
                    .delete("v1", "Secret", "secret-of-others.ig-resolved.web-v1")
                    .await
            }),
        },
        Case {
            name: "neighbor-b",
            spoil: steps!(tenant, name, {
                let text = manifest("1", "domain").replace("name: web", "name: b-web");
                tenant.config_map("neighbor-manifest", "manifest", &text).await;
                tenant.secret("neighbor.var-implicit-domain", "value", MARKER).await;
                tenant.deployment("neighbor", &[]).await;
                tenant.applied("neighbor").await;
                tenant.deployment(name, &[]).await;
            }),
            reported: applied("DeploymentNameConflict"),
            words: &["QuarksStatefulSet 'neighbor-b-web' (of BOSHDeployment 'neighbor')"],
            fix: steps!(tenant, name, {
                tenant.delete(OURS, "BOSHDeployment", "neighbor").await
            }),
        },
        Case {
            name: "quota",
            spoil: steps!(tenant, name, {
                tenant.few("services", "0").await;
                tenant.deployment(name, &[]).await;
            }),
            reported: applied("DeploymentRefused"),
            words: &["Service 'quota-web'", "exceeded quota: few"],
            fix: steps!(tenant, name, { tenant.delete("v1", "ResourceQuota", "few").await }),
        },
        // Either of its two Services would be admitted; without both, none is written.
        Case {
            name: "quota-together",
            spoil: steps!(tenant, name, {
                tenant.few("services", "1").await;
                tenant.deployment(name, &[]).await;
            }),
            reported: applied("DeploymentQuotaExceeded"),
            words: &["the quota 'few' limits count/services to 1: 0 are used, 2 more are needed"],
            fix: steps!(tenant, name, { tenant.delete("v1", "ResourceQuota", "few").await }),
        },
        Case {
            name: "typo",
            spoil: steps!(tenant, name, {
                let ops = "- type: replace\n  path: /instance_groups/name=web/jobs/name=app/properties/quarks?/run/security_context\n  value: {runAsNonroot: true}\n";
                tenant.config_map("typo", "ops", ops).await;
                tenant.deployment(name, &["typo"]).await;
            }),
            reported: converted("BpmField"),
            words: &["Kubernetes has no field 'runAsNonroot' here", "configmap/typo/ops"],
            fix: steps!(tenant, name, { tenant.config_map("typo", "ops", "[]").await }),
        },
        // The API server would accept the QuarksStatefulSet, and refuse its StatefulSet.
        Case {
            name: "affinity",
            spoil: steps!(tenant, name, {
                let ops = "- type: replace\n  path: /instance_groups/name=web/env?/bosh/agent/settings/affinity\n  value: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, matchLabelKeys: [a]}]}}\n";
                tenant.config_map("affinity", "ops", ops).await;
                tenant.deployment(name, &["affinity"]).await;
            }),
            reported: applied("DeploymentRefused"),
            words: &["StatefulSet 'affinity-web'", "matchLabelKeys"],
            fix: steps!(tenant, name, { tenant.config_map("affinity", "ops", "[]").await }),
        },
        // The same for the Job of an errand. The other group is good, and is not created either.
        Case {
            name: "errand",
            spoil: steps!(tenant, name, {
                let wrong = "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, matchLabelKeys: [a]}]}}";
                let group = format!(
                    "{{name: tests, lifecycle: errand, instances: 1, stemcell: default, jobs: [{{name: app, release: demo, \
                     properties: {{app: {{domain: a}}}}}}], env: {{bosh: {{agent: {{settings: {{affinity: {wrong}}}}}}}}}}}"
                );
                let ops = format!("- type: replace\n  path: /instance_groups/-\n  value: {group}\n");
                tenant.config_map("errand", "ops", &ops).await;
                tenant.deployment(name, &["errand"]).await;
            }),
            reported: applied("DeploymentRefused"),
            words: &["Job 'errand-tests", "matchLabelKeys"],
            fix: steps!(tenant, name, { tenant.config_map("errand", "ops", "[]").await }),
        },
        Case {
            name: "illegal",
            spoil: DEPLOY,
            reported: converted("BundleKindNotAllowed"),
            words: &["Role 'odd'", "(made by plugin 'hook.wasm', sha256:"],
            fix: steps!(tenant, name, { delete_deployment(&tenant, name).await }),
        },
        Case {
            name: "large-object",
            spoil: DEPLOY,
            reported: converted("BundleObjectTooLarge"),
            words: &["ConfigMap 'odd'", "(made by plugin 'hook.wasm', sha256:"],
            fix: steps!(tenant, name, { delete_deployment(&tenant, name).await }),
        },
        Case {
            name: "refused",
            spoil: DEPLOY,
            reported: applied("DeploymentRefused"),
            words: &["Service 'odd'", "spec.ports[0].port"],
            fix: steps!(tenant, name, { delete_deployment(&tenant, name).await }),
        },
    ]
}

/// These cannot be fixed: the plugin breaks every deployment with such a name. It is enough that they can be deleted.
async fn delete_deployment(tenant: &Tenant, name: &str) {
    tenant.delete(OURS, "BOSHDeployment", name).await;
}

/// The inputs of a good deployment.
async fn prepare(tenant: &Tenant, name: &str) {
    tenant
        .config_map(&format!("{name}-manifest"), "manifest", &manifest("1", "domain"))
        .await;
    tenant
        .secret(&format!("{name}.var-implicit-domain"), "value", MARKER)
        .await;
}

async fn play(tenant: Tenant, case: Case) {
    let (name, (kind, reason)) = (case.name, case.reported);
    prepare(&tenant, name).await;
    (case.spoil)(tenant.clone(), name).await;
    let reported = tenant
        .until(name, reason, |deployment| {
            is(deployment, kind, "False") && condition(deployment, kind).is_some_and(|found| found["reason"] == reason)
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
        .reported(name, |found, note| {
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
    (case.fix)(tenant.clone(), name).await;
    if tenant.get(OURS, "BOSHDeployment", name).await.is_some() {
        let fixed = tenant.applied(name).await;
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
    let stuck = tenant
        .until("d", "a refusal", |deployment| {
            condition(deployment, "Ready").is_some_and(|ready| ready["reason"] == "GroupsRefused")
        })
        .await;
    let message = stuck["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("d-web") && message.contains("exceeded quota: few"),
        "{message}"
    );
    tenant
        .reported("the quota", |reason, _| reason == "GroupsRefused")
        .await;
    tenant.delete("v1", "ResourceQuota", "few").await;
    tenant
        .until("d", "Deployed", |deployment| {
            condition(deployment, "Ready").is_some_and(|ready| ready["reason"] == "GroupsNotReady")
        })
        .await;
    // A group that is removed takes its objects with it.
    tenant
        .config_map("ops", "ops", "- {type: remove, path: /instance_groups/name=web}")
        .await;
    let empty = tenant
        .until("d", "Deployed", |deployment| {
            deployment["status"]["state"] == "Deployed"
        })
        .await;
    assert_eq!(empty["status"]["totalInstanceGroups"], 0);
    assert!(tenant.names(OURS, "QuarksStatefulSet", "d").await.is_empty());
    assert!(tenant.names("v1", "Service", "d").await.is_empty());
    // And a namespace can be deleted during any operation.
    let cluster = boson_tests::cluster::shared().unwrap();
    cluster
        .kubectl(["delete", "namespace", &tenant.namespace, "--timeout=60s"])
        .unwrap();
    let tenant = operator.tenant("later");
    prepare(&tenant, "d").await;
    tenant.deployment("d", &[]).await;
    tenant.applied("d").await;
}

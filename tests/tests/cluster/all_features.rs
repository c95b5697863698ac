//! A run of an installed operator that uses all its features: a list of steps, to be extended with each new feature.

use crate::guests::Guest;
use crate::installed::Installed;
use crate::objects::{condition, config_map, deployment_of};
use crate::plugin_objects;
use anyhow::{Result, ensure};
use boson_tests::root;
use serde_json::{Value, json};
use std::fs;

/// An action of a user, and the wait for its result.
pub type Step = fn(&mut Installed) -> Result<()>;

/// All steps, in this order; a step may depend on those before it.
pub const STEPS: &[(&str, Step)] = &[
    ("a deployment is made", deploy),
    ("a mistake is reported, and fixed", mistake),
    ("the manifest changes until versions are garbage", change),
    ("pods of a new version become ready", roll),
    ("pods get one more disk", equip),
    ("a rollout stops", stop),
    ("a pod is resized", resize),
    ("pods are refused", refuse),
    ("objects are deleted by a user", delete),
    ("instance groups are removed", regroup),
    ("values are generated", generate),
    ("values are rotated", rotate),
    ("a value is copied to a namespace that agreed to it", copy),
    ("a job runs, and again when it changes", run),
    ("an invalid plugin is added in a ConfigMap", extend),
    ("a plugin of all namespaces is pulled from a registry", pull),
    ("a plugin is removed", simplify),
    ("pods get links, and roll when a link changes", consume),
];

/// Steps that need permissions in the whole cluster.
pub const CLUSTER_STEPS: &[(&str, Step)] = &[("a certificate is signed by the cluster", sign)];

/// A given value that must not appear anywhere.
pub const GIVEN: &str = "given-marker.example.com";

/// An operation that changes the manifest of both groups.
fn scale(number: u32) -> Value {
    let ops = format!(
        "- type: replace\n  path: /instance_groups/name=broker/jobs/name=broker/properties/broker/limits/connections\n  value: {number}\n\
         - type: replace\n  path: /instance_groups/name=gateway/jobs/name=gateway/properties/gateway/routes/0/subject\n  value: in-{number}\n"
    );
    config_map("scale", "ops", &ops)
}

fn quarks_secret(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksSecret", "metadata": {"name": name}, "spec": spec})
}

fn deployment(it: &Installed) -> Value {
    let registry = format!("{}/bosh", it.registry.host());
    deployment_of("nats", "manifest", &["scale", "more"], &registry)
}

/// Whether the condition has this status.
fn is(it: &Installed, kind: &str, status: &str) -> Result<bool> {
    let deployment = it.get("boshdeployment/nats")?;
    Ok(condition(&deployment, kind).is_some_and(|one| one["status"] == status))
}

fn deploy(it: &mut Installed) -> Result<()> {
    let manifest = fs::read_to_string(root().join("docs/examples/nats/manifest.yml"))?;
    it.apply_all(&[
        config_map("manifest", "manifest", &manifest),
        scale(1),
        config_map("more", "ops", "[]"),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats.var-implicit-system-domain"}, "stringData": {"value": GIVEN}}),
        deployment(it),
    ])?;
    it.wait_until("Applied", || is(it, "Applied", "True"))?;
    for (kind, _) in plugin_objects::objects() {
        it.wait_until_there(&format!("{kind}/extra"), true)?;
    }
    it.wait_until_there("statefulset/nats-gateway-z0-v1", true)
}

/// A workload whose pods ask for the link of the broker.
fn consumer(kind: &str, name: &str) -> Value {
    let labels = json!({"app": name});
    let annotations = json!({"quarks.cloudfoundry.org/deployment": "nats",
        "quarks.cloudfoundry.org/consumes": r#"[{"name": "main-broker", "type": "broker"}]"#});
    let mut object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels, "annotations": annotations},
            "spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}}});
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = name.into();
    }
    object
}

fn consume(it: &mut Installed) -> Result<()> {
    if !it.webhooks {
        return Ok(());
    }
    const DIGEST: &str = "quarks.cloudfoundry.org/links-digest";
    it.wait_until_there("mutatingwebhookconfiguration/boson.boson-system", true)?;
    let workloads = [("Deployment", "web"), ("StatefulSet", "store"), ("DaemonSet", "agent")];
    let all: Vec<Value> = workloads.map(|(kind, name)| consumer(kind, name)).into();
    it.apply_all(&all)?;
    // There is no node, so the DaemonSet creates no pod itself.
    let uid = it.uid("daemonset/agent")?;
    let mut pod = all[2]["spec"]["template"].clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "agent".into();
    pod["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": uid, "controller": true}]);
    it.apply_all(&[pod])?;
    for (_, name) in workloads {
        it.wait_until(&format!("a pod of {name} with its links"), || {
            let pods = it.list("pods", &format!("app={name}"))?;
            let pods = json!(pods).to_string();
            Ok(pods.contains(DIGEST) && pods.contains("LINK_BROKER_PORT"))
        })?;
    }
    // A pod that asks for what does not exist.
    let mut missing = consumer("Deployment", "missing");
    missing["spec"]["template"]["metadata"]["annotations"]["quarks.cloudfoundry.org/deployment"] = "none".into();
    it.apply_all(&[missing])?;
    let user =
        "{type: replace, path: /instance_groups/name=broker/jobs/name=broker/properties/broker/user, value: other}";
    it.apply_all(&[config_map("more", "ops", &format!("[{user}]"))])?;
    for (kind, name) in workloads {
        it.wait_until(&format!("the rollout of {name}"), || {
            let annotations = &it.get(&format!("{kind}/{name}"))?["spec"]["template"]["metadata"]["annotations"];
            Ok(annotations[DIGEST].is_string())
        })?;
    }
    it.kubectl(&[
        "delete",
        "deployment/web",
        "deployment/missing",
        "statefulset/store",
        "daemonset/agent",
        // Its controller may have deleted it already.
        "pod/agent",
        "--ignore-not-found",
        "--wait=false",
    ])?;
    it.apply_all(&[config_map("more", "ops", "[]")])
}

fn mistake(it: &mut Installed) -> Result<()> {
    it.apply_all(&[config_map("more", "ops", "- {type: remove, path: /instance_gruops}")])?;
    it.wait_until("the mistake", || is(it, "Converted", "False"))?;
    it.apply_all(&[config_map("more", "ops", "[]")])?;
    it.wait_until("its end", || is(it, "Converted", "True"))
}

fn change(it: &mut Installed) -> Result<()> {
    for number in 2..=4 {
        it.apply_all(&[scale(number)])?;
        it.wait_until_there(&format!("secret/nats.desired-manifest-v{number}"), true)?;
        it.wait_until_there(&format!("statefulset/nats-gateway-z0-v{number}"), true)?;
    }
    it.wait_until_there("secret/nats.desired-manifest-v1", false)
}

fn roll(it: &mut Installed) -> Result<()> {
    // There is no node. The cluster's own controller soon reverts this, so it is repeated until the operator noticed
    // it.
    let status = json!({"status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 1}})
        .to_string();
    it.wait_until("the end of old versions", || {
        let newest = "statefulset/nats-gateway-z0-v4";
        it.kubectl(&[
            "patch",
            newest,
            "--subresource=status",
            "--type=merge",
            "--patch",
            &status,
        ])?;
        Ok(!it.exists("statefulset/nats-gateway-z0-v1")?)
    })
}

fn equip(it: &mut Installed) -> Result<()> {
    let ops = "- type: replace\n  path: /instance_groups/name=broker/env/bosh/agent/settings/disks?\n  \
               value: [{pvc: {metadata: {name: more}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}, \
               volumeMount: {name: more, mountPath: /more}}]\n";
    it.apply_all(&[config_map("more", "ops", ops)])?;
    it.wait_until("a pod with it", || {
        let pod = it.get("pods")?["items"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|pod| pod["metadata"]["name"] == "nats-broker-z0-v1-0")
            .cloned();
        let pod = pod.unwrap_or_default();
        let volumes = pod["spec"]["volumes"].as_array();
        Ok(volumes.into_iter().flatten().any(|volume| volume["name"] == "more"))
    })
}

/// Two instances with disks, of which the first is not ready in time.
fn stop(it: &mut Installed) -> Result<()> {
    let claims = json!([{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
        "resources": {"requests": {"storage": "1Mi"}}}}]);
    let annotations =
        json!({"quarks.cloudfoundry.org/canaries": "1", "quarks.cloudfoundry.org/canary-watch-time-ms": "0-1"});
    let set = |image: &str| {
        json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet", "metadata": {"name": "stuck"},
            "spec": {"template": {"metadata": {"annotations": annotations}, "spec": {"replicas": 2, "volumeClaimTemplates": claims,
                "template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}}})
    };
    let report = |it: &mut Installed, pod: &str, status: Value| {
        let status = json!({ "status": status }).to_string();
        let pod = format!("pod/{pod}");
        it.kubectl(&[
            "patch",
            &pod,
            "--subresource=status",
            "--type=merge",
            "--patch",
            &status,
        ])
    };
    it.apply_all(&[set("example.com/c:1")])?;
    for pod in ["stuck-v1-0", "stuck-v1-1"] {
        it.wait_until_there(&format!("pod/{pod}"), true)?;
        report(
            it,
            pod,
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
        )?;
    }
    it.wait_until("all instances", || {
        Ok(it.get("quarksstatefulset/stuck")?["status"]["ready"] == true)
    })?;
    it.apply_all(&[set("example.com/c:2")])?;
    it.wait_until("the canary", || {
        // Between its deletion and its creation there is none.
        let pod = it.get("pod/stuck-v1-0").unwrap_or_default();
        Ok(pod["spec"]["containers"][0]["image"] == "example.com/c:2")
    })?;
    let running = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let container =
        json!({"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": running});
    report(
        it,
        "stuck-v1-0",
        json!({"phase": "Running", "containerStatuses": [container]}),
    )?;
    it.wait_until("the earlier template", || {
        let set = it.get("statefulset/stuck-v1")?;
        Ok(set["spec"]["template"]["spec"]["containers"][0]["image"] == "example.com/c:1")
    })
}

/// Another amount of CPU, for a pod with the revision of its files.
fn resize(it: &mut Installed) -> Result<()> {
    let set = |cpu: &str| {
        let annotations = json!({"quarks.cloudfoundry.org/instance-revisions": r#"{"": ["1"]}"#});
        let container = json!({"name": "c", "image": "example.com/c:1", "resources": {"requests": {"cpu": cpu}}});
        let pods = json!({"metadata": {"annotations": annotations}, "spec": {"containers": [container]}});
        json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet", "metadata": {"name": "sized"},
            "spec": {"template": {"spec": {"replicas": 1, "template": pods}}}})
    };
    let pod = "pod/sized-v1-0";
    it.apply_all(&[set("100m")])?;
    it.wait_until_there(pod, true)?;
    let uid = it.uid(pod)?;
    it.apply_all(&[set("200m")])?;
    it.wait_until("its resources", || {
        let pod = it.get(pod)?;
        let requested = &pod["spec"]["containers"][0]["resources"]["requests"]["cpu"];
        let recorded = |object: &Value| {
            let annotations = &object["metadata"]["annotations"];
            annotations["quarks.cloudfoundry.org/resources-digest"].clone()
        };
        let template = &it.get("statefulset/sized-v1")?["spec"]["template"];
        Ok(requested == "200m" && recorded(&pod) == recorded(template))
    })?;
    ensure!(it.uid(pod)? == uid, "it was replaced");
    Ok(())
}

/// Only events of the StatefulSet say why.
fn refuse(it: &mut Installed) -> Result<()> {
    let pods = json!({"serviceAccountName": "missing", "containers": [{"name": "c", "image": "example.com/c:1"}]});
    let set = json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet",
        "metadata": {"name": "refused"}, "spec": {"template": {"spec": {"replicas": 1, "template": {"spec": pods}}}}});
    it.apply_all(&[set])?;
    it.wait_until("the refused pod", || {
        Ok(it.get("quarksstatefulset/refused")?["status"]["problems"][0]["reason"] == "FailedCreate")
    })
}

fn delete(it: &mut Installed) -> Result<()> {
    for what in [
        "service/nats-broker",
        "quarksstatefulset/nats-gateway",
        "secret/nats.var-broker-password",
    ] {
        let uid = it.uid(what)?;
        it.kubectl(&["delete", what, "--wait=false"])?;
        it.wait_until(&format!("another {what}"), || {
            let now = it.uid(what)?;
            Ok(!now.is_empty() && now != uid)
        })?;
    }
    Ok(())
}

fn regroup(it: &mut Installed) -> Result<()> {
    let ops = "- {type: replace, path: /instance_groups/name=gateway/name, value: portal}\n\
               - {type: remove, path: /instance_groups/name=smoke-tests}\n";
    it.apply_all(&[config_map("more", "ops", ops)])?;
    it.wait_until_there("quarksstatefulset/nats-portal", true)?;
    for removed in [
        "quarksstatefulset/nats-gateway",
        "service/nats-gateway",
        "quarksjob/nats-smoke-tests",
    ] {
        it.wait_until_there(removed, false)?;
    }
    Ok(())
}

fn generate(it: &mut Installed) -> Result<()> {
    let ca = json!({"commonName": "ca", "isCA": true, "keyLength": 2048});
    let leaf = json!({"commonName": "leaf", "keyLength": 2048, "serviceRef": [{"name": "nats-broker"}],
        "CARef": {"name": "ca", "key": "certificate"}, "CAKeyRef": {"name": "ca", "key": "private_key"}});
    it.apply_all(&[
        quarks_secret("word", json!({"type": "password", "secretName": "word"})),
        quarks_secret("person", json!({"type": "user", "secretName": "person"})),
        quarks_secret(
            "ca",
            json!({"type": "certificate", "secretName": "ca", "request": {"certificate": ca}}),
        ),
        quarks_secret(
            "leaf",
            json!({"type": "certificate", "secretName": "leaf", "request": {"certificate": leaf}}),
        ),
        quarks_secret("shell", json!({"type": "ssh", "secretName": "shell"})),
    ])?;
    for name in ["word", "person", "ca", "leaf", "shell"] {
        it.wait_until_there(&format!("secret/{name}"), true)?;
    }
    // The type of a Secret cannot change, so this one is recreated.
    it.apply_all(&[quarks_secret(
        "word",
        json!({"type": "basic-auth", "secretName": "word", "request": {"basic-auth": {"username": "admin"}}}),
    )])?;
    it.wait_until("another type", || {
        // Between its deletion and its creation it does not exist.
        Ok(it
            .get("secret/word")
            .is_ok_and(|secret| secret["type"] == "kubernetes.io/basic-auth"))
    })
}

fn rotate(it: &mut Installed) -> Result<()> {
    let before = it.get("secret/person")?["data"].clone();
    let mut order = config_map("rotation", "secrets", r#"["person"]"#);
    order["metadata"]["labels"] = json!({"quarks.cloudfoundry.org/secret-rotation": "true"});
    it.apply_all(&[order])?;
    it.wait_until("a new value", || Ok(it.get("secret/person")?["data"] != before))
}

fn copy(it: &mut Installed) -> Result<()> {
    let [from, to] = it.namespaces.clone();
    let mut consent = quarks_secret("shared", json!({"type": "copy", "secretName": "shared"}));
    consent["metadata"]["namespace"] = to.clone().into();
    consent["metadata"]["annotations"] = json!({"quarks.cloudfoundry.org/secret-copy-of": format!("{from}/shared")});
    let copies = json!([{"name": "shared", "namespace": to}]);
    let original = quarks_secret(
        "shared",
        json!({"type": "password", "secretName": "shared", "copies": copies}),
    );
    it.apply_all(&[consent, original])?;
    it.wait_until("a copy", || {
        let copy = [
            "--namespace",
            &to,
            "get",
            "secret/shared",
            "--ignore-not-found",
            "--output=name",
        ];
        Ok(!it.cluster.kubectl(copy)?.is_empty())
    })
}

fn run(it: &mut Installed) -> Result<()> {
    let job = |script: &str| {
        let container = json!({"name": "work", "image": "example.com/work:1", "command": ["sh", "-c", script]});
        let template = json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}});
        json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob", "metadata": {"name": "work"},
            "spec": {
                "trigger": {"strategy": "once"}, "updateOnConfigChange": true, "template": template,
                "output": {"outputMap": {"work": {"output.json": {"name": "result"}}}}
            }
        })
    };
    let runs = |it: &Installed, count: u64| {
        it.wait_until(&format!("run {count}"), || {
            let jobs = it.get("jobs")?;
            let of = |job: &&Value| job["metadata"]["ownerReferences"][0]["name"] == "work";
            let found = jobs["items"].as_array().into_iter().flatten().filter(of);
            let started = found.filter(|job| job["spec"]["suspend"] != true).count();
            Ok(started == 1 && it.get("quarksjob/work")?["status"]["runs"] == count)
        })
    };
    it.apply_all(&[job("true")])?;
    runs(it, 1)?;
    it.wait_until_there("serviceaccount/boson-output", true)?;
    it.apply_all(&[job("false")])?;
    runs(it, 2)
}

fn extend(it: &mut Installed) -> Result<()> {
    let mut none = config_map("none", "plugin.yaml", "name: none\n");
    none["metadata"]["labels"] = json!({"quarks.cloudfoundry.org/plugin": "ops"});
    it.apply_all(&[none])?;
    it.wait_until("its refusal", || is(it, "PluginsHealthy", "False"))?;
    it.kubectl(&["delete", "configmap/none"])?;
    it.wait_until("its end", || is(it, "PluginsHealthy", "True"))
}

fn pull(it: &mut Installed) -> Result<()> {
    let pulled = config_map("pulled", "a", "b").to_string();
    let digest = it
        .registry
        .push_component("pulled:1", &Guest::resources("pulled", &pulled))?;
    let (image, here) = (it.registry.image("pulled:1"), &it.namespaces[0]);
    let document = format!(
        "name: pulled\nimage: {image}@{digest}\nimagePullSecrets: [{{name: boson-plugin-pull}}]\nselector: {{namespaces: [{here}]}}\n"
    );
    let mut plugin = config_map("pulled", "plugin.yaml", &document);
    plugin["metadata"]["namespace"] = it.system.clone().into();
    plugin["metadata"]["labels"] = json!({"quarks.cloudfoundry.org/plugin": "resources"});
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "boson-plugin-pull", "namespace": it.system},
        "stringData": {".dockerconfigjson": json!({"auths": {}}).to_string()}
    });
    it.apply_all(&[secret, plugin])?;
    it.wait_until("its approval is missing", || is(it, "PluginsHealthy", "False"))?;
    let approve = ["plugin", "approve", "pulled"];
    let approved = it.cluster.host(it.operator.files(), &it.system, &approve)?;
    ensure!(approved.code == 0, "{}", approved.stderr);
    it.wait_until_there("configmap/pulled", true)?;
    let own = [
        "--namespace",
        &it.system,
        "delete",
        "configmap/pulled",
        "pluginapproval/pulled",
        "secret/boson-plugin-pull",
    ];
    it.cluster.kubectl(own)?;
    it.wait_until_there("configmap/pulled", false)
}

fn sign(it: &mut Installed) -> Result<()> {
    let name = format!("signed.{}.svc", it.namespaces[0]);
    let request = json!({"certificate": {"commonName": name, "keyLength": 2048, "signerType": "cluster"}});
    it.apply_all(&[quarks_secret(
        "signed",
        json!({"type": "certificate", "secretName": "signed", "request": request}),
    )])?;
    it.wait_until_there("secret/signed", true)
}

fn simplify(it: &mut Installed) -> Result<()> {
    it.operator.stop()?;
    it.start(false)?;
    for (kind, _) in plugin_objects::objects() {
        // A claim holds data.
        it.wait_until_there(&format!("{kind}/extra"), kind == "persistentvolumeclaim")?;
    }
    Ok(())
}

//! The documented example, as the deployment in the product's documents: every name and every state in them, and the
//! same objects that the command line creates.

use crate::kubelet::Kubelet;
use crate::objects::{OURS, is};
use crate::operator_process::{OperatorProcess, Tenant};
use crate::shared_cluster::documents;
use anyhow::ensure;
use boson_tests::{WAIT_TIMEOUT, host, root, wait_for_value};
use futures::StreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use tokio::time::timeout;

const NAME: &str = "nats-deployment";

async fn prepare(tenant: &Tenant) {
    let example = root().join("docs/examples/nats");
    let manifest = fs::read_to_string(example.join("manifest.yml")).unwrap();
    let scale = fs::read_to_string(example.join("ops/scale.yml")).unwrap();
    tenant
        .config_map("nats-deployment-manifest", "manifest", &manifest)
        .await;
    tenant.config_map("scale", "ops", &scale).await;
}

async fn value(tenant: &Tenant) {
    tenant
        .secret("nats-deployment.var-implicit-system-domain", "value", "example.com")
        .await;
}

async fn state(tenant: &Tenant, wanted: &str) -> Value {
    tenant
        .wait_for_deployment(NAME, wanted, |deployment| deployment["status"]["state"] == wanted)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_name_and_every_state_is_as_documented() {
    let operator = OperatorProcess::set("documented", false, &[]).await;
    let tenant = operator.tenant("nats");
    // Every state of the status, over time.
    let before = tenant.api(OURS, "BOSHDeployment").list(&ListParams::default()).await;
    let version = before.unwrap().metadata.resource_version.unwrap();
    let states_over_time = tokio::spawn(states(tenant.clone(), version));
    prepare(&tenant).await;
    tenant.deployment(NAME, &["scale"]).await;
    let resolving = state(&tenant, "Resolving Manifest").await;
    assert_eq!(resolving["status"]["totalInstanceGroups"], 2, "the manifest says it");
    value(&tenant).await;
    let converting = state(&tenant, "Converting to Kubernetes Resources").await;
    let converting = if is(&converting, "Applied", "True") {
        converting
    } else {
        tenant.wait_until_applied(NAME).await
    };
    let status = &converting["status"];
    assert_eq!(
        (&status["totalJobCount"], &status["completedJobCount"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(status["message"], "waiting for 2 of 2 instance groups");
    names(&tenant).await;
    // A manual errand that was not started does not count.
    let kubelet = Kubelet::of(tenant.pods());
    let deployed = state(&tenant, "Deployed").await;
    drop(kubelet);
    assert!(is(&deployed, "Ready", "True"), "{:#}", deployed["status"]);
    assert_eq!(deployed["status"]["deployedInstanceGroups"], 2);
    assert_eq!(deployed["status"]["message"], Value::Null);
    // A change of the pods: not Deployed until they are ready again.
    tenant
        .config_map(
            "scale",
            "ops",
            "- {type: replace, path: /instance_groups/name=gateway/env?/bosh/agent/settings/tolerations, value: [{key: x, operator: Exists}]}",
        )
        .await;
    let back = state(&tenant, "Converting to Kubernetes Resources").await;
    assert!(!is(&back, "Ready", "True"));
    let states_over_time = timeout(WAIT_TIMEOUT, states_over_time).await.unwrap().unwrap();
    assert_eq!(
        states_over_time,
        [
            "Created",
            "Resolving Manifest",
            "Converting to Kubernetes Resources",
            "Deployed",
            "Converting to Kubernetes Resources"
        ]
    );
}

/// The states of the deployment after this version of the list until it was deployed and changed, in order.
async fn states(tenant: Tenant, mut version: String) -> Vec<String> {
    let mut states_over_time: Vec<String> = Vec::new();
    let deployments = tenant.api(OURS, "BOSHDeployment");
    // The API server ends each watch after some minutes.
    loop {
        let events = deployments.watch(&WatchParams::default(), &version).await;
        let mut events = events.unwrap().boxed();
        while let Some(event) = events.next().await {
            let Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) = event else {
                continue;
            };
            version = object.metadata.resource_version.clone().unwrap();
            let Some(state) = object.data["status"]["state"].as_str() else {
                continue;
            };
            if states_over_time.last().is_none_or(|last| last != state) {
                states_over_time.push(state.into());
            }
            if states_over_time.len() > 1 && states_over_time.contains(&"Deployed".to_string()) && state != "Deployed" {
                return states_over_time;
            }
        }
    }
}

async fn names(tenant: &Tenant) {
    let of = |api_version: &'static str, kind: &'static str| tenant.names(api_version, kind, NAME);
    let secrets = of("v1", "Secret").await;
    for wanted in [
        "nats-deployment.with-ops",
        "nats-deployment.desired-manifest-v1",
        "nats-deployment.ig-resolved.broker-v1",
        "nats-deployment.ig-resolved.gateway-v1",
        "nats-deployment.ig-resolved.smoke-tests-v1",
        "nats-deployment.bpm.broker-v1",
        "nats-deployment.bpm.gateway-v1",
        "nats-deployment.bpm.smoke-tests-v1",
        "nats-deployment.var-nats-ca",
        "nats-deployment.var-broker-tls",
        "nats-deployment.var-broker-password",
    ] {
        assert!(secrets.iter().any(|name| name == wanted), "no {wanted} in {secrets:?}");
    }
    for (secret, key) in [
        ("nats-deployment.with-ops", "manifest.yaml"),
        ("nats-deployment.desired-manifest-v1", "manifest.yaml"),
        ("nats-deployment.ig-resolved.broker-v1", "properties.yaml"),
        ("nats-deployment.bpm.broker-v1", "bpm.yaml"),
        ("nats-deployment.var-broker-password", "password"),
    ] {
        let found = tenant.get("v1", "Secret", secret).await.unwrap();
        assert!(found["data"][key].is_string(), "no {key} in {secret}");
    }
    let variables = [
        "nats-deployment.var-broker-password",
        "nats-deployment.var-broker-tls",
        "nats-deployment.var-nats-ca",
    ];
    assert_eq!(of(OURS, "QuarksSecret").await, variables);
    assert_eq!(
        of(OURS, "QuarksStatefulSet").await,
        ["nats-deployment-broker", "nats-deployment-gateway"]
    );
    assert_eq!(of(OURS, "QuarksJob").await, ["nats-deployment-smoke-tests"]);
    names_of_what_runs(tenant).await;
}

async fn names_of_what_runs(tenant: &Tenant) {
    let of = |api_version: &'static str, kind: &'static str| tenant.names(api_version, kind, NAME);
    let services = of("v1", "Service").await;
    for wanted in [
        "nats-deployment-broker",
        "nats-deployment-broker-0",
        "nats-deployment-broker-1",
        "nats-deployment-broker-2",
        "nats-deployment-gateway",
        "nats-deployment-gateway-0",
    ] {
        assert!(
            services.iter().any(|name| name == wanted),
            "no {wanted} in {services:?}"
        );
    }
    wait_for_value("the StatefulSets", async || {
        let sets = of("apps/v1", "StatefulSet").await;
        let is_both = sets == ["nats-deployment-broker-z0-v1", "nats-deployment-gateway-z0-v1"];
        ensure!(is_both, "{sets:?}");
        Ok(())
    })
    .await;
    let set = tenant
        .get("apps/v1", "StatefulSet", "nats-deployment-broker-z0-v1")
        .await
        .unwrap();
    let pod = &set["spec"]["template"]["spec"];
    let containers = |of: &str| -> Vec<String> {
        let list = pod[of].as_array().unwrap().iter();
        list.map(|container| container["name"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(containers("containers"), ["broker-broker"]);
    assert_eq!(
        containers("initContainers"),
        ["logs", "template-render", "bosh-pre-start-broker"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_applies_what_the_command_line_prints() {
    let operator = OperatorProcess::set("alike", false, &[]).await;
    let tenant = operator.tenant("nats");
    prepare(&tenant).await;
    value(&tenant).await;
    tenant.deployment(NAME, &["scale"]).await;
    tenant.wait_until_applied(NAME).await;
    let mut printed = printed(&tenant);
    let mut kinds: Vec<(String, String)> = printed
        .keys()
        .map(|(api, kind, _)| (api.clone(), kind.clone()))
        .collect();
    kinds.dedup();
    let mut applied = BTreeMap::new();
    for (api_version, kind) in kinds {
        for mut object in tenant.list(&api_version, &kind).await {
            object["apiVersion"] = api_version.as_str().into();
            object["kind"] = kind.as_str().into();
            if object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "boson" {
                applied.insert(key(&object), object);
            }
        }
    }
    assert_eq!(applied.keys().collect::<Vec<_>>(), printed.keys().collect::<Vec<_>>());
    let mut differences = Vec::new();
    for (key, object) in &mut applied {
        let printed = printed.get_mut(key).unwrap();
        mount_job_sources(printed, object);
        without_what_the_cluster_adds(object);
        if key.1 == "Secret" && key.2.starts_with("link-") {
            without_values(printed);
            without_values(object);
        }
        differing(printed, object, &format!("{} {}", key.1, key.2), &mut differences);
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

/// Keys only: each side generates the values that the link contains.
fn without_values(secret: &mut Value) {
    let data = secret["data"].as_object_mut().unwrap();
    data.values_mut().for_each(|value| *value = Value::Null);
}

type Key = (String, String, String);

fn key(object: &Value) -> Key {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    (
        text(&object["apiVersion"]),
        text(&object["kind"]),
        text(&object["metadata"]["name"]),
    )
}

/// The output of `host convert --target quarks` for the same inputs.
fn printed(tenant: &Tenant) -> BTreeMap<Key, Value> {
    let example = root().join("docs/examples/nats");
    let path = |path: &str| example.join(path).display().to_string();
    let registry = format!("{}/bosh", tenant.registry);
    let arguments = [
        "convert",
        &path("manifest.yml"),
        "-o",
        &path("ops/scale.yml"),
        "-v",
        "system_domain=example.com",
        "--release",
        &path("releases/messaging"),
        "--release",
        &path("releases/smoke"),
        "--name",
        NAME,
        "--namespace",
        &tenant.namespace,
        "--registry",
        &registry,
        "--operator-image",
        "example.com/boson:1",
        "--target",
        "quarks",
    ];
    let scratch = tempfile::tempdir().unwrap();
    let ran = host(scratch.path(), arguments).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    documents(&ran.stdout)
        .into_iter()
        .map(|object| (key(&object), object))
        .collect()
}

/// In the cluster, pods mount their job sources. The command line creates no ConfigMaps of them, and prints the
/// containers that copy them.
fn mount_job_sources(printed: &mut Value, there: &Value) {
    const PODS: &str = "/spec/template/spec/template/spec";
    let (Some(pods), Some(there)) = (printed.pointer_mut(PODS), there.pointer(PODS)) else {
        return;
    };
    let list = |value: &mut Value, item: Value| match value.as_array_mut() {
        Some(all) => all.push(item),
        None => *value = Value::Array(vec![item]),
    };
    let volumes = there["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == "job-sources").unwrap();
    assert!(volume["configMap"]["name"].as_str().unwrap().starts_with(NAME));
    list(&mut pods["volumes"], volume.clone());
    let init = pods["initContainers"].as_array_mut().unwrap();
    init.retain(|container| !container["name"].as_str().unwrap().contains("-copier"));
    let mut renderers = init
        .iter_mut()
        .filter(|container| container["name"] == "template-render");
    let renderer = renderers.next().unwrap();
    for word in [
        "--job-sources",
        "/var/run/boson/job-sources/job-sources.json.gz",
        "--install",
        "/usr/bin/container-run",
    ] {
        list(&mut renderer["args"], word.into());
    }
    let mount = json!({"name": "job-sources", "mountPath": "/var/run/boson/job-sources", "readOnly": true});
    list(&mut renderer["volumeMounts"], mount);
    let variables = renderer["env"].as_array_mut().unwrap();
    let contract = variables.iter_mut().find(|one| one["name"] == "BOSON_POD_CONTRACT");
    contract.unwrap()["value"] = "3".into();
}

/// Removes members that exist only in the cluster: owners, the operator's and the API server's bookkeeping, and the
/// status, which is no input. All other metadata and every other member must be in the output. Defaults of the server
/// are ignored because only printed members are compared with the cluster, not the other way around.
fn without_what_the_cluster_adds(object: &mut Value) {
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    for name in [
        "ownerReferences",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
    ] {
        metadata.remove(name);
    }
    // Only the operator knows what instances ran before.
    let pods = object.pointer_mut("/spec/template/spec/template/metadata");
    if let Some(pods) = pods.and_then(Value::as_object_mut)
        && let Some(annotations) = pods.get_mut("annotations").and_then(Value::as_object_mut)
    {
        annotations.retain(|key, _| !key.ends_with("/instance-revisions") && !key.ends_with("/rendered-as"));
        if annotations.is_empty() {
            pods.remove("annotations");
        }
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    // Only the operator counts versions of the manifest.
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
        labels.remove("quarks.cloudfoundry.org/deployment-version");
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !name.ends_with("/applied-digest") && !name.ends_with("/asked-trigger"));
    }
    if metadata
        .get("annotations")
        .is_some_and(|annotations| annotations == &Value::Object(Map::new()))
    {
        metadata.remove("annotations");
    }
}

/// The places where the cluster differs from the output. Metadata must be equal; elsewhere there may be defaults.
fn differing(printed: &Value, there: &Value, place: &str, differences: &mut Vec<String>) {
    match (printed, there) {
        (Value::Object(wanted), Value::Object(found)) => {
            for (name, value) in wanted {
                differing(
                    value,
                    found.get(name).unwrap_or(&Value::Null),
                    &format!("{place}.{name}"),
                    differences,
                );
            }
            if place.ends_with(".metadata") || place.ends_with(".labels") || place.ends_with(".annotations") {
                let more = found.keys().filter(|name| !wanted.contains_key(*name));
                differences.extend(more.map(|name| format!("{place}.{name} is not printed")));
            }
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            for (nth, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                differing(wanted, found, &format!("{place}[{nth}]"), differences);
            }
        }
        (wanted, found) if wanted == found || is_nothing(wanted) && found.is_null() => {}
        (wanted, found) => differences.push(format!("{place}: {wanted} was printed, {found} is there")),
    }
}

/// The server omits empty values.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_nothing),
        _ => false,
    }
}

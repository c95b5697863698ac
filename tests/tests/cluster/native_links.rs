//! Links of native Secrets and Services: which objects change a deployment, and which do not.

use crate::kubelet::report;
use crate::objects::{OURS, condition, has_reason, is};
use crate::operator_process::{OperatorProcess, Tenant};
use anyhow::ensure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::json as text;
use boson_pipeline::convert::stored_documents;
use boson_tests::{root, wait_for_value};
use serde_json::{Value, json};

pub const GROUP: &str = "quarks.cloudfoundry.org";
/// Where the resolved document of a group has the links of its first job.
const LINKS: &str = "/instance_groups/0/jobs/0/properties/quarks/consumes";

/// The group `client` consumes the link `nats`; the group `bystander` consumes nothing.
pub const MANIFEST: &str = r#"releases:
- {name: native, version: "1", url: registry.example.com/native}
- {name: demo, version: "1", url: registry.example.com/demo}
stemcells:
- {alias: default, os: ubuntu-jammy, version: "1.1"}
instance_groups:
- name: client
  instances: 1
  stemcell: default
  jobs: [{name: client, release: native}]
- name: bystander
  instances: 1
  stemcell: default
  jobs: [{name: app, release: demo, properties: {app: {domain: example.com}}}]
"#;

/// A deployment that consumes a link.
pub struct Consumer {
    pub tenant: Tenant,
}

pub async fn set(id: &str) -> OperatorProcess {
    let operator = OperatorProcess::set(id, false, &[]).await;
    let release = root().join("tests/fixtures/releases/native");
    operator
        .registry
        .push_release("native:ubuntu-jammy-1.1-1", &release)
        .unwrap();
    operator
}

pub fn annotations(more: Value) -> Value {
    let mut all = json!({
        format!("{GROUP}/deployment-name"): "d", format!("{GROUP}/provides"): r#"{"name":"nats","type":"nats"}"#,
    });
    all.as_object_mut()
        .unwrap()
        .extend(more.as_object().cloned().unwrap_or_default());
    all
}

pub fn secret(name: &str, password: &str, more: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "annotations": annotations(more)},
        "stringData": {"nats.password": password}})
}

pub fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "annotations": annotations(json!({format!("{GROUP}/link-provider-name"): "nats-secret"}))},
        // No pod has a node here: Kubernetes leaves such pods out of the endpoints otherwise.
        "spec": {"selector": {"app": "mynats"}, "ports": [{"port": 4222}], "publishNotReadyAddresses": true}})
}

// === impl Consumer ===

impl Consumer {
    pub async fn new(operator: &OperatorProcess, name: &str) -> Self {
        let tenant = operator.tenant(name);
        tenant.apply_manifest("d", MANIFEST).await;
        Self { tenant }
    }

    /// The numbers of the versions of a group's resolved document.
    async fn versions(&self, group: &str) -> Vec<u32> {
        self.numbers(&format!("d.ig-resolved.{group}-v")).await
    }

    /// The numbers at the end of the names of the deployment's Secrets that begin so, sorted.
    async fn numbers(&self, prefix: &str) -> Vec<u32> {
        let names = self.tenant.names("v1", "Secret", "d").await;
        let numbers = names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok());
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers
    }

    /// The version of the resolved document that the pods of the consumer mount.
    async fn mounted(&self) -> Option<u32> {
        let set = self.tenant.get(OURS, "QuarksStatefulSet", "d-client").await?;
        let text = set["spec"].to_string();
        let (_, rest) = text.split_once("d.ig-resolved.client-v")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }

    /// The link in that document.
    async fn link(&self) -> Value {
        let Some(mounted) = self.mounted().await else {
            return Value::Null;
        };
        let name = format!("d.ig-resolved.client-v{mounted}");
        let document = self.document(&name, stored_documents::RESOLVED).await;
        document.pointer(&format!("{LINKS}/nats")).cloned().unwrap_or_default()
    }

    /// What the template of the job made of the link: an environment variable of its process.
    pub async fn rendered(&self, variable: &str) -> String {
        let newest = self.numbers("d.bpm.client-v").await.pop().unwrap();
        let document = self
            .document(&format!("d.bpm.client-v{newest}"), stored_documents::BPM)
            .await;
        let bpm = document["jobs"][0]["bpm"][0]["content"].as_str().unwrap();
        let bpm: Value = serde_yaml::from_str(bpm).unwrap();
        bpm["processes"][0]["env"][variable].as_str().unwrap().to_string()
    }

    /// A document that a Secret of the deployment stores.
    async fn document(&self, name: &str, key: &str) -> Value {
        let secret = self.tenant.get("v1", "Secret", name).await.unwrap_or_default();
        let data = secret["data"][key].as_str().unwrap_or_default();
        let document = stored_documents::read(name, &STANDARD.decode(data).unwrap()).unwrap();
        serde_json::from_str(&text::to_text(&document.tree)).unwrap()
    }

    /// Waits for a link that meets the condition.
    pub async fn wait_for_link(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let look = async || {
            let link = self.link().await;
            ensure!(holds(&link), "{link:#}");
            Ok(link)
        };
        let link = wait_for_value(what, look).await;
        self.tenant.wait_until_applied("d").await;
        link
    }

    /// Waits until the deployment is not converted for this reason, and returns the message.
    pub async fn wait_for_failure(&self, reason: &str) -> String {
        let is_wrong =
            |deployment: &Value| is(deployment, "Converted", "False") && has_reason(deployment, "Converted", reason);
        let deployment = self.tenant.wait_for_deployment("d", reason, is_wrong).await;
        let message = &condition(&deployment, "Converted").unwrap()["message"];
        message.as_str().unwrap().to_string()
    }

    /// The generation of a group's workload, and the resolved document that its pods mount.
    pub async fn workload(&self, group: &str) -> Value {
        let name = format!("d-{group}");
        let set = self.tenant.get(OURS, "QuarksStatefulSet", &name).await.unwrap();
        json!([set["metadata"]["generation"], set["spec"]])
    }

    /// A pod as the kubelet reports it.
    pub async fn pod(&self, name: &str, address: &str) {
        self.tenant
            .apply(
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "mynats"}},
                "spec": {"containers": [{"name": "nats", "image": "example.com/nats:1"}]}}),
            )
            .await;
        let status = json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": "True"}]});
        let pods = self.tenant.pods();
        let pod = pods.get(name).await.unwrap();
        report(&pods, &pod.metadata, status).await.unwrap();
    }

    async fn digest_of_inputs(&self) -> Value {
        let deployment = self.tenant.get(OURS, "BOSHDeployment", "d").await.unwrap();
        deployment["status"]["inputs"].clone()
    }
}

pub fn addresses(link: &Value) -> Vec<&str> {
    let instances = link["instances"].as_array().into_iter().flatten();
    instances.filter_map(|instance| instance["address"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_native_link_is_followed_and_only_its_consumers_change() {
    let operator = set("native-links").await;
    let consumer = Consumer::new(&operator, "followed").await;
    let tenant = &consumer.tenant;
    // The deployment waits for the Secret.
    tenant.deployment("d", &[]).await;
    let message = consumer.wait_for_failure("LinksUnresolved").await;
    assert!(
        message.contains("Failed to resolve link 'nats' with type 'nats'"),
        "{message}"
    );
    tenant.apply(secret("nats-secret", "first-password", json!({}))).await;
    let link = consumer
        .wait_for_link("the Secret", |link| link["properties"] != Value::Null)
        .await;
    assert_eq!(link["properties"], json!({"nats": {"password": "first-password"}}));
    assert_eq!((&link["address"], addresses(&link)), (&Value::Null, Vec::new()));
    assert_eq!(consumer.mounted().await, Some(1));
    let bystander = consumer.workload("bystander").await;
    // The address and the instances of a Service.
    consumer.pod("mynats-b", "10.1.0.2").await;
    consumer.pod("mynats-a", "10.1.0.1").await;
    tenant.apply(service("nats-service")).await;
    let link = consumer
        .wait_for_link("two pods", |link| addresses(link).len() == 2)
        .await;
    assert_eq!(link["address"], "nats-service");
    assert_eq!(addresses(&link), ["10.1.0.1", "10.1.0.2"]);
    let pod = tenant.get("v1", "Pod", "mynats-a").await.unwrap();
    let first =
        json!({"name": "mynats-a", "index": 0, "id": pod["metadata"]["uid"], "address": "10.1.0.1", "bootstrap": true});
    assert_eq!(link["instances"][0], first);
    // A password changes once, and so do the consumers.
    let before = consumer.mounted().await.unwrap();
    tenant.apply(secret("nats-secret", "second-password", json!({}))).await;
    let is_second = |link: &Value| link["properties"]["nats"]["password"] == "second-password";
    consumer.wait_for_link("the second password", is_second).await;
    assert_eq!(consumer.mounted().await, Some(before + 1));
    // What does not alter the link is read, and changes nothing.
    let (client, inputs) = (consumer.workload("client").await, consumer.digest_of_inputs().await);
    tenant
        .apply(secret("nats-secret", "second-password", json!({"team": "x"})))
        .await;
    let changed = |deployment: &Value| deployment["status"]["inputs"] != inputs;
    tenant
        .wait_for_deployment("d", "the new state of the Secret", changed)
        .await;
    tenant.wait_until_applied("d").await;
    assert_eq!(consumer.workload("client").await, client);
    assert_eq!(consumer.workload("bystander").await, bystander);
    assert_eq!(consumer.versions("bystander").await, [1]);
}

/// The addresses of the pods that are left of those that come and go.
const LAST_PODS: [&str; 3] = ["10.2.0.5", "10.2.0.6", "10.2.0.7"];

#[tokio::test(flavor = "multi_thread")]
async fn races_of_providers_never_give_a_wrong_link() {
    let operator = set("native-races").await;
    let consumer = Consumer::new(&operator, "races").await;
    let tenant = &consumer.tenant;
    // The provider is there before the deployment.
    tenant.apply(secret("nats-secret", "password", json!({}))).await;
    tenant.apply(service("nats-service")).await;
    tenant.deployment("d", &[]).await;
    consumer
        .wait_for_link("the link", |link| link["address"] == "nats-service")
        .await;
    pods_come_and_go(&consumer).await;
    // A Service that is deleted and created again.
    tenant.delete("v1", "Service", "nats-service").await;
    consumer
        .wait_for_link("no Service", |link| link["address"] == Value::Null)
        .await;
    tenant.apply(service("nats-service")).await;
    consumer
        .wait_for_link("the pods again", |link| addresses(link) == LAST_PODS)
        .await;
    another_selector_selects_other_pods(&consumer).await;
    a_second_provider_is_an_error(&consumer).await;
    // Without its provider, the deployment keeps its state and reports that.
    tenant.delete("v1", "Service", "nats-service").await;
    tenant.delete("v1", "Secret", "nats-secret").await;
    consumer.wait_for_failure("LinksUnresolved").await;
    assert!(tenant.get(OURS, "QuarksStatefulSet", "d-client").await.is_some());
}

/// Pods that come and go quickly: the last state counts, and changes within a few seconds are one update.
async fn pods_come_and_go(consumer: &Consumer) {
    let tenant = &consumer.tenant;
    let before = consumer.mounted().await.unwrap();
    for number in 0..8 {
        consumer
            .pod(&format!("mynats-{number}"), &format!("10.2.0.{number}"))
            .await;
    }
    for number in 0..5 {
        tenant.delete("v1", "Pod", &format!("mynats-{number}")).await;
    }
    consumer
        .wait_for_link("three pods", |link| addresses(link) == LAST_PODS)
        .await;
    let updates = consumer.mounted().await.unwrap() - before;
    assert!(updates <= 3, "{updates} updates for 13 changes");
}

/// Another selector: the pods that the Service selects are others. An annotation of it alters nothing.
async fn another_selector_selects_other_pods(consumer: &Consumer) {
    let tenant = &consumer.tenant;
    let before = consumer.mounted().await.unwrap();
    let mut none = service("nats-service");
    none["spec"]["selector"] = json!({"app": "nobody"});
    tenant.apply(none).await;
    consumer
        .wait_for_link("no pods", |link| addresses(link).is_empty())
        .await;
    tenant.apply(service("nats-service")).await;
    consumer
        .wait_for_link("the pods once more", |link| addresses(link) == LAST_PODS)
        .await;
    assert_eq!(consumer.mounted().await, Some(before + 2));
    let inputs = consumer.digest_of_inputs().await;
    let mut labeled = service("nats-service");
    labeled["metadata"]["annotations"]["team"] = "x".into();
    tenant.apply(labeled).await;
    let changed = |deployment: &Value| deployment["status"]["inputs"] != inputs;
    tenant
        .wait_for_deployment("d", "the new state of the Service", changed)
        .await;
    tenant.wait_until_applied("d").await;
    assert_eq!(consumer.mounted().await, Some(before + 2));
}

/// A second provider: the error names both, and the pods keep their link.
async fn a_second_provider_is_an_error(consumer: &Consumer) {
    let tenant = &consumer.tenant;
    let client = consumer.workload("client").await;
    tenant.apply(secret("other-secret", "other-password", json!({}))).await;
    let message = consumer.wait_for_failure("NativeLinkAmbiguous").await;
    assert!(message.contains("'nats-secret', 'other-secret'"), "{message}");
    assert!(!message.contains("password"), "{message}");
    assert_eq!(consumer.workload("client").await, client);
    tenant.delete("v1", "Secret", "other-secret").await;
    tenant.wait_until_applied("d").await;
    assert_eq!(consumer.workload("client").await, client);
}

/// A deployment that provides the link `main`.
fn provider(instances: u32, provides: &str) -> String {
    format!(
        r#"releases:
- {{name: native, version: "1", url: registry.example.com/native}}
- {{name: demo, version: "1", url: registry.example.com/demo}}
stemcells:
- {{alias: default, os: ubuntu-jammy, version: "1.1"}}
instance_groups:
- name: broker
  instances: {instances}
  stemcell: default
  jobs:
  - {{name: broker, release: native, provides: {{nats: {provides}}}}}
  - {{name: app, release: demo, properties: {{app: {{domain: example.com}}}}}}
"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_takes_a_link_that_another_shares() {
    let operator = set("shared-links").await;
    let consumer = Consumer::new(&operator, "shared").await;
    let tenant = &consumer.tenant;
    let named = "{name: client, release: native, consumes: {nats: {from: main, deployment: p}}}";
    let manifest = MANIFEST.replace("{name: client, release: native}", named);
    tenant.deploy("d", &manifest).await;
    let message = consumer.wait_for_failure("LinksUnknownDeployment").await;
    assert!(
        message.contains("consumes from deployment 'p', but the deployment does not exist."),
        "{message}"
    );
    // It shares nothing yet.
    tenant.deploy("p", &provider(1, "{as: main}")).await;
    consumer.wait_for_failure("LinksUnresolved").await;
    let share = async |instances: u32| {
        let text = provider(instances, "{as: main, shared: true}");
        tenant.apply_manifest("p", &text).await;
    };
    share(1).await;
    let link = consumer.wait_for_link("the link", |link| !link.is_null()).await;
    let address = format!("p-broker.{}.svc.cluster.local", tenant.namespace);
    assert_eq!(
        (&link["address"], &link["deployment_name"]),
        (&json!(address), &json!("p"))
    );
    assert_eq!(link["instances"][0]["id"], "broker-0");
    assert_eq!(consumer.mounted().await, Some(1));
    // It follows the other deployment, and only the consumer changes.
    let bystander = consumer.workload("bystander").await;
    share(2).await;
    consumer
        .wait_for_link("two instances", |link| addresses(link).len() == 2)
        .await;
    assert_eq!(consumer.mounted().await, Some(2));
    assert_eq!(consumer.workload("bystander").await, bystander);
    // Its deletion is reported, and the consumer keeps its objects.
    let client = consumer.workload("client").await;
    tenant.delete(OURS, "BOSHDeployment", "p").await;
    consumer.wait_for_failure("LinksUnknownDeployment").await;
    assert_eq!(consumer.workload("client").await, client);
    tenant
        .wait_for_event("the deployment", |reason, note| {
            reason == "LinksUnknownDeployment" && note.contains("'p'")
        })
        .await;
}

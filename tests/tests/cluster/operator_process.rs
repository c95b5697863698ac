//! One `host operator` process for the tenants of a test: namespaces with deployments in them. Also a registry with the
//! releases of the example and a small one.

use crate::kubelet::{Kubelet, report_ready};
use crate::objects::{MONITORED, OURS, config_map, deployment_of, has_reason, is};
use crate::shared_cluster::SharedCluster;
use anyhow::ensure;
use boson_cluster::client::resource;
use boson_tests::cluster::{Operator, shared};
use boson_tests::registry::{Server, push_example};
use boson_tests::{Ran, root, wait_for_value};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The operator and the servers that it needs.
pub struct OperatorProcess {
    pub client: Client,
    pub registry: Server,
    id: String,
    operator: Operator,
}

/// A namespace that it serves.
#[derive(Clone)]
pub struct Tenant {
    client: Client,
    pub namespace: String,
    pub registry: String,
}

// === impl OperatorProcess ===

impl OperatorProcess {
    /// `asks`: whether the registry asks for a password. `arguments`: more arguments for the operator.
    pub async fn set(id: &str, asks: bool, arguments: &[&str]) -> Self {
        let client = SharedCluster::find().await.client;
        let registry = Server::start(asks).unwrap();
        push_example(&registry).unwrap();
        registry
            .push_release("demo:ubuntu-jammy-1.1-1", &small_release())
            .unwrap();
        let cluster = shared().unwrap();
        let namespace = cluster.namespace(&format!("{id}-operator")).unwrap();
        let operator = Operator::new(cluster, &namespace).unwrap().registry(&registry);
        let mut operator = operator.arguments(["--monitored-id", id]).arguments(arguments);
        operator.start().unwrap();
        Self {
            client,
            registry,
            id: id.into(),
            operator,
        }
    }

    pub fn tenant(&self, name: &str) -> Tenant {
        let tenant = self.unlabelled(name);
        self.label(&tenant);
        tenant
    }

    /// A new namespace, which it does not serve.
    pub fn unlabelled(&self, name: &str) -> Tenant {
        let namespace = shared().unwrap().namespace(&format!("{}-{name}", self.id)).unwrap();
        Tenant {
            client: self.client.clone(),
            namespace,
            registry: self.registry.host().into(),
        }
    }

    /// Lets it serve the namespace.
    pub fn label(&self, tenant: &Tenant) {
        shared()
            .unwrap()
            .label_namespace(&tenant.namespace, MONITORED, &self.id)
            .unwrap();
    }

    /// Kills the operator.
    pub fn kill(&mut self) {
        self.operator.kill();
    }

    /// Starts it again.
    pub fn start(&mut self) {
        self.operator.start().unwrap();
    }

    pub fn log(&self) -> String {
        self.operator.log()
    }
}

impl Drop for OperatorProcess {
    #[allow(clippy::print_stderr, reason = "libtest shows it beside the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

/// A release with one job that uses every feature.
pub fn small_release() -> PathBuf {
    root().join("tests/fixtures/releases/demo")
}

/// Writes the small release with one more template: its name among the job's templates, the file that it becomes, and
/// its text.
pub fn small_release_with(at: &Path, [name, file, text]: [&str; 3]) {
    let templates = at.join("jobs/app/templates");
    fs::create_dir_all(&templates).unwrap();
    fs::create_dir_all(at.join("config")).unwrap();
    for file in [
        "config/final.yml",
        "jobs/app/monit",
        "jobs/app/templates/app.conf.erb",
        "jobs/app/templates/bpm.yml.erb",
    ] {
        fs::copy(small_release().join(file), at.join(file)).unwrap();
    }
    let spec = fs::read_to_string(small_release().join("jobs/app/spec")).unwrap();
    let spec = spec.replace("templates:\n", &format!("templates:\n  {name}: {file}\n"));
    fs::write(at.join("jobs/app/spec"), spec).unwrap();
    fs::write(templates.join(name), text).unwrap();
}

// === impl Tenant ===

impl Tenant {
    /// A namespace that an operator in this process serves, without a registry.
    pub fn of(client: Client, namespace: &str) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            registry: String::new(),
        }
    }

    pub fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource(api_version, kind))
    }

    /// As `kubectl apply --server-side` does.
    pub async fn apply(&self, object: Value) {
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let name = text(&object["metadata"]["name"]);
        let api = self.api(&text(&object["apiVersion"]), &text(&object["kind"]));
        let parameters = PatchParams::apply("user").force();
        api.patch(&name, &parameters, &Patch::Apply(&object)).await.unwrap();
    }

    pub async fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Value> {
        let found = self.api(api_version, kind).get_opt(name).await.unwrap()?;
        Some(serde_json::to_value(found).unwrap())
    }

    pub async fn delete(&self, api_version: &str, kind: &str, name: &str) {
        let deleted = self.api(api_version, kind).delete(name, &DeleteParams::default()).await;
        deleted.unwrap();
    }

    pub async fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        let list = self.api(api_version, kind).list(&ListParams::default()).await.unwrap();
        let items = list.items.into_iter();
        items.map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    /// `host prune` of the deployment 'd'.
    pub fn prune(&self, arguments: &[&str]) -> Ran {
        let scratch = tempfile::tempdir().unwrap();
        let words = [&["prune", "d"], arguments].concat();
        let ran = shared().unwrap().host(scratch.path(), &self.namespace, &words);
        ran.unwrap()
    }

    /// Names of the objects of a kind that belong to a deployment, sorted.
    pub async fn names(&self, api_version: &str, kind: &str, deployment: &str) -> Vec<String> {
        let labels = format!("quarks.cloudfoundry.org/deployment-name={deployment}");
        let query = ListParams::default().labels(&labels);
        let list = self.api(api_version, kind).list(&query).await.unwrap();
        let mut names: Vec<String> = list.items.iter().map(ResourceExt::name_any).collect();
        names.sort();
        names
    }

    pub async fn config_map(&self, name: &str, key: &str, text: &str) {
        self.apply(config_map(name, key, text)).await;
    }

    pub async fn secret(&self, name: &str, key: &str, text: &str) {
        self.apply(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: text}}),
        )
        .await;
    }

    /// A quota for objects of this resource, which is in effect.
    pub async fn few(&self, resource: &str, most: &str) {
        let spec = json!({"hard": {format!("count/{resource}"): most}});
        self.apply(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": spec}))
            .await;
        let quota = ["v1", "ResourceQuota", "few"];
        self.wait_for_object("the quota", quota, |quota| !quota["status"]["hard"].is_null())
            .await;
    }

    /// A BOSHDeployment of the ConfigMap `<name>-manifest` and ops files in ConfigMaps.
    pub fn object(&self, name: &str, ops: &[&str]) -> Value {
        let registry = format!("{}/bosh", self.registry);
        deployment_of(name, &format!("{name}-manifest"), ops, &registry)
    }

    /// Creates or changes this deployment.
    pub async fn deployment(&self, name: &str, ops: &[&str]) {
        self.apply(self.object(name, ops)).await;
    }

    /// Creates or changes the manifest of a deployment.
    pub async fn apply_manifest(&self, name: &str, text: &str) {
        self.config_map(&format!("{name}-manifest"), "manifest", text).await;
    }

    /// Creates or changes a deployment of this manifest, without ops files.
    pub async fn deploy(&self, name: &str, manifest: &str) {
        self.apply_manifest(name, manifest).await;
        self.deployment(name, &[]).await;
    }

    /// The same, and waits until all objects are up to date.
    pub async fn deployed(&self, name: &str, manifest: &str) -> Value {
        self.deploy(name, manifest).await;
        self.wait_until_applied(name).await
    }

    /// Waits until a deployment meets the condition.
    pub async fn wait_for_deployment(&self, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.wait_for_object(what, [OURS, "BOSHDeployment", name], holds).await
    }

    /// Waits until a condition of a deployment has this reason.
    pub async fn wait_for_reason(&self, name: &str, kind: &str, reason: &str) -> Value {
        let has_it = |deployment: &Value| has_reason(deployment, kind, reason);
        self.wait_for_deployment(name, reason, has_it).await
    }

    /// Waits until the object of this API version, kind and name meets the condition; null is none.
    pub async fn wait_for_object(&self, what: &str, object: [&str; 3], holds: impl Fn(&Value) -> bool) -> Value {
        let [api_version, kind, name] = object;
        wait_for_value(&format!("{}/{name}: {what}", self.namespace), async || {
            let found = self.get(api_version, kind, name).await.unwrap_or_default();
            ensure!(holds(&found), "{:#} {:#}", found["spec"], found["status"]);
            Ok(found)
        })
        .await
    }

    /// Waits until all objects are up to date.
    pub async fn wait_until_applied(&self, name: &str) -> Value {
        self.wait_for_deployment(name, "Applied", |deployment| is(deployment, "Applied", "True"))
            .await
    }

    /// Waits until a deployment is ready; meanwhile, pods become ready.
    pub async fn wait_until_ready(&self, name: &str) {
        let _kubelet = Kubelet::of(self.pods());
        self.wait_for_deployment(name, "Ready", |deployment| is(deployment, "Ready", "True"))
            .await;
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Reports all pods as ready, as kubelets would. No pod runs here.
    pub async fn pods_are_ready(&self) {
        report_ready(&self.pods()).await;
    }

    /// Events about anything in the namespace: reason and note.
    pub async fn events(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let events = self.list("events.k8s.io/v1", "Event").await;
        events
            .iter()
            .map(|event| (text(&event["reason"]), text(&event["note"])))
            .collect()
    }

    /// Waits for an event: it can follow the status that says the same.
    pub async fn wait_for_event(&self, what: &str, is_it: impl Fn(&str, &str) -> bool) {
        wait_for_value(&format!("an event about {what}"), async || {
            let events = self.events().await;
            let is_reported = events.iter().any(|(reason, note)| is_it(reason, note));
            ensure!(is_reported, "{events:?}");
            Ok(())
        })
        .await;
    }
}

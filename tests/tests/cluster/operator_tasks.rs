//! A new namespace for each test, and operators that serve it as tasks of this process.

use crate::shared_cluster::{SharedCluster, documents};
use anyhow::{bail, ensure};
use boson_api::{Condition, ConditionStatus, QuarksSecret};
use boson_cluster::lease::Election;
use boson_cluster::namespaces::Namespaces;
use boson_controllers::conversion::{Images, ReleaseImage, Web};
use boson_controllers::{Config, Conversion, OWN_SIGNER, admission, run};
use boson_pipeline::Diagnostic;
use boson_plugins::PluginPolicy;
use boson_plugins::host::{
    Chosen, ComponentImage, Components, Digest, LoadedPlugin, Package, PluginHost, ResolvedPlugins, StoredComponent,
};
use boson_tests::cluster::shared;
use boson_tests::{QUIET_DURATION, is_quiet, wait_for_value};
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A new namespace, and operators that serve it.
pub struct OperatorTasks {
    pub client: Client,
    pub namespace: String,
}

/// Converts no deployments, and pulls no components.
struct Nothing;

impl PluginHost for Nothing {
    fn built_in(&self) -> Vec<boson_api::PluginUse> {
        Vec::new()
    }

    fn load(&self, _: Package) -> BoxFuture<'_, Result<LoadedPlugin, Vec<Diagnostic>>> {
        unreachable!("there is no plugin")
    }

    fn keep(&self, _: &HashSet<Digest>) {}

    fn with(&self, _: &[Chosen], _: &[Chosen], _: &str, _: &str) -> Result<ResolvedPlugins, Vec<Diagnostic>> {
        unreachable!("there is no deployment")
    }
}

impl Images for Nothing {
    fn release<'a>(
        &'a self,
        _: &'a ReleaseImage,
    ) -> BoxFuture<'a, Result<boson_pipeline::release::Release, Vec<Diagnostic>>> {
        unreachable!("there is no deployment")
    }
}

impl Components for Nothing {
    fn pin<'a>(&'a self, _: &'a ComponentImage) -> BoxFuture<'a, Result<Digest, Diagnostic>> {
        unreachable!("there is no plugin")
    }

    fn pull<'a>(&'a self, _: &'a ComponentImage) -> BoxFuture<'a, Result<Digest, Diagnostic>> {
        unreachable!("there is no plugin")
    }

    fn present<'a>(&'a self, _: &'a ComponentImage) -> BoxFuture<'a, Result<Option<Digest>, Diagnostic>> {
        unreachable!("there is no plugin")
    }

    fn read<'a>(&'a self, _: &'a ComponentImage) -> BoxFuture<'a, Result<Option<StoredComponent>, Diagnostic>> {
        unreachable!("there is no plugin")
    }
}

impl Web for Nothing {
    fn document<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<u8>, Diagnostic>> {
        unreachable!("there is no deployment")
    }
}

/// The settings of conversions for an operator that has none.
pub fn no_conversion() -> Conversion {
    Conversion {
        plugin_host: Arc::new(Nothing),
        components: Arc::new(Nothing),
        images: Arc::new(Nothing),
        web: Arc::new(Nothing),
        cluster_domain: "cluster.local".into(),
        operator_image: "boson".into(),
        budget: boson_budget::Budget::default(),
        roll_outdated: 0,
        keep_versions: 2,
        permissions: Default::default(),
    }
}

/// An operator, as a task of this process.
pub struct OperatorTask {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), boson_controllers::RunError>>,
}

impl OperatorTasks {
    pub async fn set(name: &str) -> Self {
        let client = SharedCluster::find().await.client;
        let namespace = shared().unwrap().namespace(name).unwrap();
        Self { client, namespace }
    }

    pub fn api<K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Operators with different lease names work at the same time.
    pub fn operator(&self, lease: &str) -> OperatorTask {
        self.operator_through(self.client.clone(), lease)
    }

    /// An operator with this client.
    pub fn operator_through(&self, client: Client, lease: &str) -> OperatorTask {
        let here = Namespaces::Fixed([self.namespace.clone()].into());
        self.operator_for(client, here, lease)
    }

    /// An operator for these namespaces.
    pub fn operator_for(&self, client: Client, namespaces: Namespaces, lease: &str) -> OperatorTask {
        self.operator_signed_by(OWN_SIGNER, client, namespaces, lease)
    }

    /// An operator with this signer for `signerType: cluster`.
    pub fn operator_signed_by(
        &self,
        signer: &str,
        client: Client,
        namespaces: Namespaces,
        lease: &str,
    ) -> OperatorTask {
        self.operator_that((signer, None), client, namespaces, lease, no_conversion())
    }

    /// An operator with these conversion settings.
    pub fn operator_with(
        &self,
        client: Client,
        namespaces: Namespaces,
        lease: &str,
        conversion: Conversion,
    ) -> OperatorTask {
        self.operator_that((OWN_SIGNER, None), client, namespaces, lease, conversion)
    }

    /// An operator with these conversion settings, which also gives links to pods, on a port of its own.
    pub fn operator_with_links(&self, client: Client, lease: &str, conversion: Conversion) -> OperatorTask {
        let port = boson_tests::ports::free_port().unwrap();
        let admission = admission::Settings {
            listen: (std::net::Ipv4Addr::LOCALHOST, port).into(),
            way: admission::Way::Url(format!("https://127.0.0.1:{port}")),
            links: true,
        };
        let here = Namespaces::Fixed([self.namespace.clone()].into());
        self.operator_that((OWN_SIGNER, Some(admission)), client, here, lease, conversion)
    }

    fn operator_that(
        &self,
        (signer, admission): (&str, Option<admission::Settings>),
        client: Client,
        namespaces: Namespaces,
        lease: &str,
        conversion: Conversion,
    ) -> OperatorTask {
        let (stop, stopped) = oneshot::channel::<()>();
        let config = Config {
            namespaces,
            election: Election {
                namespace: self.namespace.clone(),
                name: lease.into(),
                me: format!("{lease}-{}", rand()),
            },
            address: None,
            concurrency: 4,
            spare_keys: 0,
            plugins: PluginPolicy::default(),
            conversion,
            signer: Some(signer.into()),
            metrics: Arc::default(),
            admission,
        };
        let task = tokio::spawn(run(client, config, async {
            let _ = stopped.await;
        }));
        OperatorTask { stop: Some(stop), task }
    }

    pub async fn apply(&self, texts: &str) {
        for mut object in documents(texts) {
            object["apiVersion"] = "quarks.cloudfoundry.org/v1alpha1".into();
            object["kind"] = "QuarksSecret".into();
            let name = object["metadata"]["name"].as_str().unwrap().to_string();
            let parameters = PatchParams::apply("user").force();
            self.api::<QuarksSecret>()
                .patch(&name, &parameters, &Patch::Apply(object))
                .await
                .unwrap();
        }
    }

    pub async fn wait_until_ready(&self, names: &[&str]) {
        for name in names {
            self.wait_for_object(name, "ready", |object: &QuarksSecret| {
                let status = object.status.clone().unwrap_or_default();
                let current = status.observed_generation == object.metadata.generation;
                let ready =
                    |condition: &Condition| condition.kind == "Ready" && condition.status == ConditionStatus::True;
                current && status.conditions.iter().any(ready)
            })
            .await;
        }
    }

    /// Waits until the object meets the condition, and returns it.
    pub async fn wait_for_object<K>(&self, name: &str, what: &str, is_met: impl Fn(&K) -> bool) -> K
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        wait_for_value(&format!("{name}: {what}"), async || {
            match self.api::<K>().get(name).await {
                Ok(object) if is_met(&object) => Ok(object),
                other => bail!("{:#?}", other.map(|object| json!(object)["status"].take())),
            }
        })
        .await
    }

    pub async fn text(&self, secret: &str, key: &str) -> Option<String> {
        let found = self.api::<Secret>().get_opt(secret).await.unwrap()?;
        String::from_utf8(found.data?.get(key)?.0.clone()).ok()
    }

    pub async fn wait_for_change(&self, secret: &str, key: &str, from: &Option<String>) -> Option<String> {
        wait_for_value(&format!("another {secret}"), async || {
            let now = self.text(secret, key).await;
            ensure!(now.is_some() && now != *from);
            Ok(now)
        })
        .await
    }

    /// Values of all Secrets.
    pub async fn values(&self) -> BTreeMap<String, Secret> {
        let list = self.api::<Secret>().list(&ListParams::default()).await.unwrap();
        list.items
            .into_iter()
            .map(|secret| {
                (
                    secret.name_any(),
                    Secret {
                        data: secret.data,
                        ..Secret::default()
                    },
                )
            })
            .collect()
    }

    /// Asserts that nothing is written once all is converged. Events follow the status that says the same.
    pub async fn is_idle(&self) {
        tokio::time::sleep(QUIET_DURATION).await;
        let before = self.versions().await;
        is_quiet("time", &before, self.versions()).await;
    }

    /// Versions of all objects that the operator writes.
    async fn versions(&self) -> Vec<(String, Option<String>)> {
        let secrets = self.versions_of::<Secret>().await;
        let objects = self.versions_of::<QuarksSecret>().await;
        [secrets, objects, self.versions_of::<Event>().await].concat()
    }

    async fn versions_of<K>(&self) -> Vec<(String, Option<String>)>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let list = self.api::<K>().list(&ListParams::default()).await.unwrap().items;
        let versions = list.iter().map(|object| (object.name_any(), object.resource_version()));
        versions.collect()
    }
}

impl OperatorTask {
    pub async fn stop(mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        self.task.await.unwrap().unwrap();
    }

    /// Like a SIGKILL, as far as one process can: at its next await.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Different in each run.
fn rand() -> u128 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos()
}

//! The documented example in its own namespace, with operators in this process: real plugins, and releases from their
//! directories.

use crate::connection::{AGENT, Connection, Death};
use crate::objects::{OURS, is};
use crate::operator_process::Tenant;
use crate::operator_tasks::{OperatorTask, OperatorTasks, no_conversion};
use anyhow::{bail, ensure};
use boson_api::PluginUse;
use boson_cluster::namespaces::Namespaces;
use boson_controllers::Conversion;
use boson_controllers::conversion::{Images, ReleaseImage};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::Release;
use boson_pipeline::stage::CheckPolicy;
use boson_plugins::host::{Chosen, Digest, LoadedPlugin, Package, PluginHost, ResolvedPlugins};
use boson_sandbox::{Cache, Limits, Plugins, Sandbox};
use boson_tests::{binary, root, wait_for_value};
use futures::future::BoxFuture;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Kinds of which the example makes some.
pub const KINDS: [(&str, &str); 6] = [
    ("v1", "Secret"),
    ("v1", "Service"),
    (OURS, "QuarksSecret"),
    (OURS, "QuarksStatefulSet"),
    (OURS, "QuarksJob"),
    ("apps/v1", "StatefulSet"),
];

/// All objects of the example: kind and name.
pub const OBJECTS: [&str; 28] = [
    "QuarksJob nats-smoke-tests",
    "QuarksSecret nats.var-broker-password",
    "QuarksSecret nats.var-broker-tls",
    "QuarksSecret nats.var-nats-ca",
    "QuarksStatefulSet nats-broker",
    "QuarksStatefulSet nats-gateway",
    "Secret link-nats-broker-main-broker",
    "Secret link-nats-gateway-gateway",
    "Secret nats.bpm.broker-v1",
    "Secret nats.bpm.gateway-v1",
    "Secret nats.bpm.smoke-tests-v1",
    "Secret nats.desired-manifest-v1",
    "Secret nats.ig-resolved.broker-v1",
    "Secret nats.ig-resolved.gateway-v1",
    "Secret nats.ig-resolved.smoke-tests-v1",
    "Secret nats.links-v1",
    "Secret nats.var-broker-password",
    "Secret nats.var-broker-tls",
    "Secret nats.var-implicit-system-domain",
    "Secret nats.var-nats-ca",
    "Secret nats.with-ops",
    "Service nats-broker",
    "Service nats-broker-0",
    "Service nats-broker-1",
    "Service nats-gateway",
    "Service nats-gateway-0",
    "StatefulSet nats-broker-z0-v1",
    "StatefulSet nats-gateway-z0-v1",
];

/// Fast keys, and a number that can be changed.
const OPS: &str = "
- {type: replace, path: /variables/name=nats_ca/options/key_length?, value: 2048}
- {type: replace, path: /variables/name=broker_tls/options/key_length?, value: 2048}
- {type: replace, path: /instance_groups/name=broker/jobs/name=broker/properties/broker/limits/connections, value: 1000}
";

/// A namespace with the example.
pub struct Example {
    pub env: OperatorTasks,
    pub tenant: Tenant,
    /// Number of conversions in this process.
    pub conversions: Arc<AtomicUsize>,
}

/// The plugins of the installation.
struct BuiltIn(Arc<Plugins>);

impl PluginHost for BuiltIn {
    fn built_in(&self) -> Vec<PluginUse> {
        Vec::new()
    }

    fn load(&self, _: Package) -> BoxFuture<'_, Result<LoadedPlugin, Vec<Diagnostic>>> {
        unreachable!("there is no plugin")
    }

    fn keep(&self, _: &HashSet<Digest>) {}

    fn with(&self, _: &[Chosen], _: &[Chosen], _: &str, _: &str) -> Result<ResolvedPlugins, Vec<Diagnostic>> {
        Ok(ResolvedPlugins {
            stages: self.0.clone(),
            uses: Vec::new(),
            shadows: Arc::default(),
            digest: String::new(),
            warnings: Vec::new(),
        })
    }
}

/// The releases of the example, and the number of reads: each conversion reads once.
struct Directories(Arc<AtomicUsize>);

impl Images for Directories {
    fn release<'a>(&'a self, wanted: &'a ReleaseImage) -> BoxFuture<'a, Result<Release, Vec<Diagnostic>>> {
        if wanted.release == "messaging" {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        let path = root().join("docs/examples/nats/releases").join(&wanted.release);
        Box::pin(async move { boson_releases::read(&path, None) })
    }
}

/// One set of plugins for all tests: they are large.
fn plugins() -> Arc<Plugins> {
    static PLUGINS: OnceLock<Arc<Plugins>> = OnceLock::new();
    let load = || {
        let sandbox = Sandbox::new(Limits::default(), Cache::none()).unwrap();
        let folder = binary().unwrap().ancestors().nth(2).unwrap().join("plugins");
        let mut plugins = Plugins::new(sandbox.clone());
        for stage in boson_pipeline::Stage::ALL {
            if stage.has_rule() {
                let file = folder.join(format!("{stage}.wasm"));
                let rule = sandbox.load_built_in(stage, &file).unwrap();
                plugins.add(rule, true, CheckPolicy::default()).unwrap();
            }
        }
        Arc::new(plugins)
    };
    PLUGINS.get_or_init(load).clone()
}

// === impl Example ===

impl Example {
    pub async fn set(name: &str) -> Self {
        let env = OperatorTasks::set(name).await;
        Self {
            tenant: Tenant::of(env.client.clone(), &env.namespace),
            env,
            conversions: Arc::default(),
        }
    }

    /// The example, deployed, and its operator.
    pub async fn running(name: &str) -> (Self, OperatorTask) {
        let example = Self::set(name).await;
        let (operator, _) = example.operator("first");
        example.deploy().await;
        example.wait_until_settled().await;
        (example, operator)
    }

    /// An operator whose writes are counted.
    pub fn operator(&self, lease: &str) -> (OperatorTask, Connection) {
        let line = Connection::default();
        (self.operator_through(&line, Death::Never, lease), line)
    }

    pub fn operator_through(&self, line: &Connection, death: Death, lease: &str) -> OperatorTask {
        let client = line.client(self.env.client.clone(), death);
        self.operator_of(client, "boson", 0, lease)
    }

    /// An operator of this image. `roll_outdated`: number of deployments that may roll to it at a time.
    pub fn operator_of(&self, client: Client, image: &str, roll_outdated: usize, lease: &str) -> OperatorTask {
        let here = Namespaces::Fixed([self.env.namespace.clone()].into());
        let conversion = self.conversion(image, roll_outdated);
        self.env.operator_with(client, here, lease, conversion)
    }

    /// An operator that also gives links to pods.
    pub fn operator_with_links(&self, line: &Connection, death: Death, lease: &str) -> OperatorTask {
        let client = line.client(self.env.client.clone(), death);
        self.env.operator_with_links(client, lease, self.conversion("boson", 0))
    }

    fn conversion(&self, image: &str, roll_outdated: usize) -> Conversion {
        Conversion {
            plugin_host: Arc::new(BuiltIn(plugins())),
            images: Arc::new(Directories(self.conversions.clone())),
            operator_image: image.into(),
            roll_outdated,
            ..no_conversion()
        }
    }

    pub async fn deploy(&self) {
        self.deploy_with(OPS).await;
    }

    /// Deploys it with this ops file.
    pub async fn deploy_with(&self, ops: &str) {
        let manifest = fs::read_to_string(root().join("docs/examples/nats/manifest.yml")).unwrap();
        self.tenant.config_map("manifest", "manifest", &manifest).await;
        self.edit(ops).await;
        let domain = "nats.var-implicit-system-domain";
        self.tenant.secret(domain, "value", "example.com").await;
        let deployment = json!({
            "apiVersion": OURS, "kind": "BOSHDeployment", "metadata": {"name": "nats"},
            "spec": {
                "manifest": {"type": "configmap", "name": "manifest"}, "ops": [{"type": "configmap", "name": "ops"}],
                "conversion": {"mode": "InProcess"}
            }
        });
        self.tenant.apply(deployment).await;
    }

    /// Changes the ops file.
    pub async fn edit(&self, ops: &str) {
        self.tenant.config_map("ops", "ops", ops).await;
    }

    /// The ops file for this number of additional connections.
    pub fn ops(edit: usize) -> String {
        OPS.replace("1000", &(1000 + edit).to_string())
    }

    pub async fn deployment(&self) -> Value {
        self.tenant.get(OURS, "BOSHDeployment", "nats").await.unwrap()
    }

    /// All existing objects of [`KINDS`]: kind and name, and the object.
    pub async fn objects(&self) -> BTreeMap<String, DynamicObject> {
        let mut all = BTreeMap::new();
        for (api_version, kind) in KINDS {
            let list = self
                .tenant
                .api(api_version, kind)
                .list(&ListParams::default())
                .await
                .unwrap();
            all.extend(
                list.items
                    .into_iter()
                    .map(|object| (format!("{kind} {}", object.name_any()), object)),
            );
        }
        all
    }

    /// Waits until exactly the expected objects exist, and the status says so.
    pub async fn wait_until_settled(&self) {
        wait_for_value("the example", async || {
            let found = self.objects().await;
            let deployment = self.deployment().await;
            if found.keys().eq(OBJECTS.iter()) && is_applied(&deployment) {
                return Ok(());
            }
            let namespace = &self.env.namespace;
            bail!("in {namespace}: {:#}\n{:#?}", deployment["status"], found.keys())
        })
        .await;
    }

    /// Waits until the status says that all objects are up to date.
    pub async fn wait_until_applied(&self) {
        wait_for_value("Applied", async || {
            let deployment = self.deployment().await;
            ensure!(is_applied(&deployment), "{:#}", deployment["status"]);
            Ok(())
        })
        .await;
    }

    /// Kubernetes may be faster, if the object's owner was deleted before.
    pub async fn delete(&self, kind: &str, name: &str) {
        let (api_version, kind) = KINDS.into_iter().find(|(_, one)| *one == kind).unwrap();
        let parameters = DeleteParams::background();
        let deleted = self.tenant.api(api_version, kind).delete(name, &parameters).await;
        let is_gone = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 404);
        assert!(deleted.as_ref().err().is_none_or(is_gone), "{deleted:?}");
    }
}

pub fn is_applied(deployment: &Value) -> bool {
    ["Applied", "Converted"].iter().all(|kind| is(deployment, kind, "True"))
}

/// A request: namespace, verb, resource and name, and the answer's code.
pub type Request = (String, String, String, i64);

/// Writes of operators in these namespaces, from the audit log, except for recorded events: these are written some
/// seconds after what they are about.
pub fn writes(namespaces: &[&str]) -> Vec<Request> {
    audited(namespaces, |verb, uri| {
        is_write(verb, uri) && !uri.contains("fieldManager=boson-events")
    })
}

/// Also those of recorded events.
pub fn all_writes(namespaces: &[&str]) -> Vec<Request> {
    audited(namespaces, is_write)
}

fn is_write(verb: &str, uri: &str) -> bool {
    // Dry runs only ask.
    !["get", "list"].contains(&verb) && !uri.contains("dryRun=")
}

/// Requests of operators in these namespaces, from the audit log.
pub fn requests(namespaces: &[&str]) -> Vec<Request> {
    audited(namespaces, |_, _| true)
}

/// The requests whose verb and address meet the condition. Watches and leases are left out: they are renewed on their
/// own schedule.
fn audited(namespaces: &[&str], counts: impl Fn(&str, &str) -> bool) -> Vec<Request> {
    let log = fs::read_to_string(boson_tests::cluster::shared().unwrap().audit_log()).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut found = Vec::new();
    for line in log.lines().filter(|line| line.contains(AGENT)) {
        let event: Value = serde_json::from_str(line).unwrap();
        let target = &event["objectRef"];
        let (verb, namespace) = (text(&event["verb"]), text(&target["namespace"]));
        let is_here = namespaces.contains(&namespace.as_str());
        if !is_here || verb == "watch" || target["resource"] == "leases" || !counts(&verb, &text(&event["requestURI"]))
        {
            continue;
        }
        let what = [&target["resource"], &target["subresource"], &target["name"]].map(text);
        let code = event["responseStatus"]["code"].as_i64().unwrap_or(0);
        found.push((namespace, verb, what.join("/"), code));
    }
    found
}

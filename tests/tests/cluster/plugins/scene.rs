//! An operator with two namespaces, plugins that are added as users add them, and what its deployment says about them.

use crate::objects::{MONITORED, condition};
use crate::operator::{example_of, example_registry};
use crate::shared_cluster::documents;
use crate::world::World;
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_manifest::labels::EVENTS_PAGE;
use boson_tests::WAIT_TIMEOUT;
use boson_tests::cluster::{Cluster, Operator, shared};
use boson_tests::registry::Server;
use boson_tests::{Ran, binary, host};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::time::{Duration, Instant};

/// An operator with its own namespace, and two namespaces that it serves.
pub struct Scene {
    pub own: String,
    /// With a deployment.
    world: World,
    /// Without one.
    pub there: String,
    pub registry: Server,
    pub operator: Operator,
}

// === impl Scene ===

impl Scene {
    /// The operator gets the list of namespaces.
    pub fn new() -> Result<Self> {
        Self::with(|_, here, there| Ok(["--namespace", here, "--namespace", there].map(String::from).into()))
    }

    /// The operator finds them by their label.
    pub fn monitored(id: &str) -> Result<Self> {
        Self::with(|cluster, here, there| {
            for namespace in [here, there] {
                cluster.label_namespace(namespace, MONITORED, id)?;
            }
            Ok(["--monitored-id", id].map(String::from).into())
        })
    }

    /// `serve`: the operator's arguments for these two namespaces.
    pub fn with(serve: impl FnOnce(&Cluster, &str, &str) -> Result<Vec<String>>) -> Result<Self> {
        let cluster = shared()?;
        cluster.define()?;
        let registry = example_registry()?;
        let (own, there) = (cluster.namespace("plugins-own")?, cluster.namespace("plugins-there")?);
        let world = World::new(cluster, "plugins-here")?;
        let served = serve(cluster, &world.namespace, &there)?;
        let mut scene = Self {
            operator: Operator::new(cluster, &own)?.registry(&registry).arguments(served),
            own,
            world,
            there,
            registry,
        };
        scene.operator.start()?;
        Ok(scene)
    }

    /// Stops the operator once it has started: a process that has not started completely does not exit on its own.
    pub fn stop(&mut self) -> Result<()> {
        let started = || Ok(self.operator.ask("/live").is_ok());
        self.operator
            .wait_until("the start", WAIT_TIMEOUT, started, String::new)?;
        self.operator.stop()
    }

    /// The documented example.
    pub fn deploy(&self) -> Result<()> {
        let example = example_of(&self.registry, &["nats-scale"])?;
        self.cluster.force_apply(&self.namespace, &example)
    }

    pub fn apply(&self, text: &str) -> Result<()> {
        self.apply_in(&self.namespace, text)
    }

    pub fn apply_in(&self, namespace: &str, text: &str) -> Result<()> {
        self.cluster.force_apply(namespace, &documents(text))
    }

    /// Packs a component as a user would, and applies the resulting ConfigMaps; returns them.
    pub fn add(&self, stage: &str, component: &[u8], more: &[&str]) -> Result<String> {
        self.add_in(&self.namespace, stage, component, more)
    }

    pub fn add_in(&self, namespace: &str, stage: &str, component: &[u8], more: &[&str]) -> Result<String> {
        let file = self.operator.files().join("plugin.wasm");
        fs::write(&file, component)?;
        let file = file.to_str().context("a path of text")?;
        let packed = host(
            self.operator.files(),
            ["plugin", "pack", stage, file].iter().chain(more),
        )?;
        ensure!(packed.code == 0, "{}", packed.stderr);
        self.apply_in(namespace, &packed.stdout)?;
        Ok(packed.stdout)
    }

    pub fn remove(&self, maps: &str) -> Result<()> {
        self.remove_in(&self.namespace, maps)
    }

    pub fn remove_in(&self, namespace: &str, maps: &str) -> Result<()> {
        for map in documents(maps) {
            let name = map["metadata"]["name"].as_str().context("no name")?;
            self.cluster.delete(namespace, &format!("configmap/{name}"))?;
        }
        Ok(())
    }

    /// Waits until the deployment meets the condition.
    pub fn wait_for_deployment(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.wait_for_example(&self.operator, what, holds).unwrap()
    }

    /// Waits until all plugins are healthy.
    pub fn wait_until_healthy(&self) -> Value {
        self.wait_for_deployment("health", |deployment| healthy(deployment, "True").is_some())
    }

    /// Waits until plugins are not healthy for this reason, with this text in the message; returns the message.
    pub fn wait_for_refusal(&self, reason: &str, text: &str) -> String {
        let deployment = self.wait_for_deployment(&format!("{reason}: {text}"), |deployment| {
            is_unhealthy(deployment, reason) && why_unhealthy(deployment).contains(text)
        });
        why_unhealthy(&deployment).to_string()
    }

    /// `host plugin` in the namespace of the deployment.
    pub fn plugin(&self, words: &[&str]) -> Ran {
        let words = [&["plugin"], words].concat();
        let ran = self.cluster.host(self.operator.files(), &self.namespace, &words);
        ran.unwrap()
    }

    /// Waits until it holds.
    pub fn wait_until(&self, what: &str, holds: impl FnMut() -> Result<bool>) {
        let waited = self.operator.wait_until(what, WAIT_TIMEOUT, holds, String::new);
        waited.unwrap();
    }

    /// Waits until the object of [`hooked`] has this value.
    pub fn wait_for_hooked(&self, value: &str) {
        let look = || {
            let map = self.get("configmap/hooked")?;
            ensure!(map["data"]["a"] == value, "{map:#}");
            Ok(())
        };
        let what = format!("the object of version {value}");
        self.operator.wait_for_value(&what, WAIT_TIMEOUT, look).unwrap();
    }

    /// Waits until the deployment was converted with a plugin of this stage and name.
    pub fn wait_until_used(&self, stage: &str, name: &str) -> Value {
        self.wait_for_deployment(&format!("{name} in {stage}"), |deployment| {
            uses(deployment, stage, name)
        })
    }

    /// Every object of the deployment's namespace, by kind and name, with its version, without pods and Kubernetes' own
    /// objects.
    fn versions(&self) -> Result<BTreeMap<String, String>> {
        let kinds = "boshdeployments,quarkssecrets,quarksstatefulsets,quarksjobs,secrets,configmaps,services,statefulsets.apps,jobs.batch,events.events.k8s.io";
        let list = self.get(kinds)?;
        let version = |object: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            let name = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
            (name, text(&object["metadata"]["resourceVersion"]))
        };
        // Controllers of Kubernetes count their own events as long as pods are not scheduled.
        let theirs = |object: &&Value| {
            object["kind"] == "Event"
                && !object["reportingController"]
                    .as_str()
                    .is_some_and(|name| name.starts_with("quarks.cloudfoundry.org/"))
        };
        // Written some seconds after what they are about.
        let recorded = |object: &&Value| !object["metadata"]["labels"][EVENTS_PAGE].is_null();
        let items = list["items"].as_array().into_iter().flatten();
        let items = items.filter(|object| !theirs(object) && !recorded(object));
        Ok(items.map(version).collect())
    }

    /// Waits until nothing has changed for some time; returns all objects.
    pub fn wait_until_settled(&self) -> BTreeMap<String, String> {
        let (mut versions, mut since) = (BTreeMap::new(), Instant::now());
        let quiet = || {
            let now = self.versions()?;
            if now != versions {
                (versions, since) = (now, Instant::now());
            }
            Ok(since.elapsed() > Duration::from_secs(5))
        };
        self.wait_until("silence", quiet);
        versions
    }

    pub fn manifest(&self) -> String {
        self.text("secret/nats.with-ops")
    }

    /// A Secret as text, its data decoded.
    fn text(&self, what: &str) -> String {
        let secret = self.get(what).unwrap();
        let values = secret["data"].as_object().unwrap().values();
        let plain = values.map(|value| STANDARD.decode(value.as_str().unwrap()).unwrap());
        String::from_utf8(plain.collect::<Vec<_>>().concat()).unwrap()
    }

    /// The newest Secret of a series, as text.
    pub fn newest(&self, series: &str) -> String {
        let all = self.list("secret", "").unwrap();
        let names = all.iter().filter_map(|secret| secret["metadata"]["name"].as_str());
        let numbered = names.filter_map(|name| {
            let number = name.strip_prefix(series)?.strip_prefix("-v")?;
            Some((number.parse::<u32>().ok()?, name))
        });
        let (_, newest) = numbered.max().unwrap();
        self.text(&format!("secret/{newest}"))
    }
}

impl Deref for Scene {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

pub fn uses(deployment: &Value, stage: &str, name: &str) -> bool {
    let used = deployment["status"]["plugins"].as_array();
    used.is_some_and(|used| used.iter().any(|one| one["stage"] == stage && one["name"] == name))
}

pub fn healthy<'v>(deployment: &'v Value, status: &str) -> Option<&'v Value> {
    condition(deployment, "PluginsHealthy").filter(|one| one["status"] == status)
}

pub fn is_unhealthy(deployment: &Value, reason: &str) -> bool {
    healthy(deployment, "False").is_some_and(|one| one["reason"] == reason)
}

/// The message about plugins that are not healthy.
pub fn why_unhealthy(deployment: &Value) -> &str {
    healthy(deployment, "False").unwrap()["message"].as_str().unwrap()
}

/// The installation's component of a stage.
pub fn built_in(stage: &str) -> Vec<u8> {
    let binary = binary().unwrap();
    let plugins = binary.ancestors().nth(2).unwrap().join("plugins");
    fs::read(plugins.join(format!("{stage}.wasm"))).unwrap()
}

/// A component with changed texts.
pub fn altered(mut component: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = component
        .windows(from.len())
        .position(|window| window == from.as_bytes())
        .unwrap();
    component[at..at + to.len()].copy_from_slice(to.as_bytes());
    component
}

pub const HOOKED: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hooked"},"data":{"a":"b"}}"#;

/// [`HOOKED`] with this value.
pub fn hooked(value: &str) -> String {
    HOOKED.replace("\"b\"", &format!("\"{value}\""))
}

//! `host operator` with a real API server and a real registry: the objects of a BOSHDeployment. No pods run here.

pub use crate::operator_process::{condition, is};
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, Limited, Operator, shared};
use boson_tests::registry::{Server, push_example};
use boson_tests::{WAIT_TIMEOUT, root, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// A namespace with its own operator.
pub struct Environment {
    pub cluster: &'static Cluster,
    pub namespace: String,
    pub registry: Server,
    pub operator: Operator,
    /// For conversions.
    pub mode: &'static str,
    /// After the operator, which would create them again.
    pods: Option<Pods>,
}

/// The pods of a namespace. The node is shared: those that go on running would keep their CPU from those of other
/// tests.
struct Pods {
    cluster: &'static Cluster,
    namespace: String,
}

// === impl Environment ===

impl Environment {
    pub fn new(name: &str) -> Result<Self> {
        Self::with(name, &[])
    }

    /// With additional arguments for the operator.
    pub fn with(name: &str, more: &[&str]) -> Result<Self> {
        let registry = Server::start(false)?;
        push_example(&registry)?;
        let namespace = shared()?.namespace(name)?;
        Self::set(shared()?, namespace, registry, more)
    }

    /// With a memory limit for the operator, which also serves another namespace, by their labels; `None` if this user
    /// cannot set limits.
    pub fn limited(name: &str, bytes: u64, other: &str, more: &[&str]) -> Result<Option<Self>> {
        let Some(limit) = Limited::to(bytes)? else {
            return Ok(None);
        };
        let registry = Server::start(false)?;
        push_example(&registry)?;
        let namespace = shared()?.namespace(name)?;
        for monitored in [namespace.as_str(), other] {
            shared()?.label_namespace(monitored, "quarks.cloudfoundry.org/monitored", &namespace)?;
        }
        let mut env = Self::prepare(shared()?, namespace, registry)?;
        let scope = ["--monitored-id", &env.namespace].map(str::to_string);
        env.operator = env.operator.arguments(scope).arguments(more);
        env.operator = env.operator.within(limit);
        env.operator.start()?;
        Ok(Some(env))
    }

    /// In a cluster with a node, which has the operator's image.
    pub fn with_pods(cluster: &'static Cluster, name: &str) -> Result<Self> {
        Self::with_pods_and(cluster, name, &[])
    }

    /// The same with additional arguments for the operator.
    pub fn with_pods_and(cluster: &'static Cluster, name: &str, more: &[&str]) -> Result<Self> {
        let more = [&["--operator-image", cluster.operator_image()?], more].concat();
        let registry = Server::start(false)?;
        push_example(&registry)?;
        let mut env = Self::set(cluster, cluster.namespace(name)?, registry, &more)?;
        env.mode = "Jobs";
        let namespace = env.namespace.clone();
        env.pods = Some(Pods { cluster, namespace });
        Ok(env)
    }

    /// Gives registry and node the release of `tests/fixtures/releases/shop`.
    pub fn load_shop(&self) -> Result<()> {
        let release = root().join("tests/fixtures/releases/shop");
        self.registry.push_release("shop:busybox-1-1", &release)?;
        let image = format!("{}/bosh/shop:busybox-1-1", self.registry.host());
        self.cluster.load_image(&Image::release(&image, &release)?)
    }

    /// Another operator for the same namespace.
    pub fn beside(&self, more: &[&str]) -> Result<Self> {
        Self::set(self.cluster, self.namespace.clone(), Server::start(false)?, more)
    }

    fn set(cluster: &'static Cluster, namespace: String, registry: Server, more: &[&str]) -> Result<Self> {
        let mut env = Self::prepare(cluster, namespace, registry)?;
        let scope = ["--namespace", &env.namespace].map(str::to_string);
        env.operator = env.operator.arguments(scope).arguments(more);
        env.operator.start()?;
        Ok(env)
    }

    fn prepare(cluster: &'static Cluster, namespace: String, registry: Server) -> Result<Self> {
        cluster.define()?;
        let operator = Operator::new(cluster, &namespace)?.registry(&registry);
        Ok(Self {
            operator,
            cluster,
            namespace,
            registry,
            mode: "InProcess",
            pods: None,
        })
    }

    /// The value of an entry of a Secret.
    pub fn decoded(&self, entry: &Value) -> Result<String> {
        let bytes = STANDARD.decode(entry.as_str().context("an entry")?)?;
        Ok(String::from_utf8(bytes)?)
    }

    /// A file with the value of an entry of a Secret.
    pub fn file(&self, name: &str, entry: &Value) -> Result<PathBuf> {
        let path = self.operator.files().join(name);
        fs::write(&path, self.decoded(entry)?)?;
        Ok(path)
    }

    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let namespaced = ["--namespace", &self.namespace]
            .into_iter()
            .chain(arguments.iter().copied());
        self.cluster.kubectl(namespaced)
    }

    pub fn apply(&self, objects: &[Value]) -> Result<()> {
        self.cluster.apply(&self.namespace, objects)
    }

    /// The names of all objects of a kind, sorted.
    pub fn names(&self, kind: &str) -> Result<Vec<String>> {
        let objects = self.list(kind, "")?;
        let names = objects.iter().filter_map(|object| object["metadata"]["name"].as_str());
        let mut names: Vec<String> = names.map(str::to_string).collect();
        names.sort();
        Ok(names)
    }

    pub fn get(&self, what: &str) -> Result<Value> {
        self.cluster.get(&self.namespace, what)
    }

    /// The objects of a kind that a label selector selects.
    pub fn list(&self, kind: &str, selector: &str) -> Result<Vec<Value>> {
        self.cluster.list(&self.namespace, kind, selector)
    }

    /// Waits until the deployment meets the condition.
    pub fn wait(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut deployment = Value::Null;
        let look = || {
            deployment = self.get("boshdeployment/nats")?;
            Ok(holds(&deployment))
        };
        let status = || format!("{:#}", self.get("boshdeployment/nats").unwrap_or_default()["status"]);
        self.operator.until(what, WAIT_TIMEOUT, look, status)?;
        Ok(deployment)
    }

    /// The documented example, with its releases in the registry of this test.
    pub fn deploy(&self) -> Result<()> {
        self.deploy_as(self.deployment(&["nats-scale"]))
    }

    /// Deploys the example with this object.
    pub fn deploy_as(&self, deployment: Value) -> Result<()> {
        let example = root().join("docs/examples/nats");
        let manifest = fs::read_to_string(example.join("manifest.yml"))?;
        let ops = fs::read_to_string(example.join("ops/scale.yml"))?;
        self.apply(&[
            config_map("nats-manifest", "manifest", &manifest),
            config_map("nats-scale", "ops", &ops),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats.var-implicit-system-domain"},
                "stringData": {"value": "example.com"}}),
            deployment,
        ])
    }

    pub fn deployment(&self, ops: &[&str]) -> Value {
        let ops: Vec<Value> = ops
            .iter()
            .map(|name| json!({"type": "configmap", "name": name}))
            .collect();
        json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "nats"},
            "spec": {
                "manifest": {"type": "configmap", "name": "nats-manifest"}, "ops": ops,
                "conversion": {"mode": self.mode, "registry": format!("{}/bosh", self.registry.host())}
            }
        })
    }
}

pub fn config_map(name: &str, key: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}})
}

#[test]
fn the_example_becomes_the_documented_objects() {
    let env = Environment::new("example").unwrap();
    env.deploy().unwrap();
    let deployment = env
        .wait("Applied", |deployment| is(deployment, "Applied", "True"))
        .unwrap();
    let secrets = env.names("secret").unwrap();
    for wanted in [
        "nats.with-ops",
        "nats.desired-manifest-v1",
        "nats.ig-resolved.broker-v1",
        "nats.ig-resolved.gateway-v1",
        "nats.ig-resolved.smoke-tests-v1",
        "nats.bpm.broker-v1",
        "nats.bpm.gateway-v1",
        "nats.bpm.smoke-tests-v1",
        "nats.var-nats-ca",
        "nats.var-broker-tls",
        "nats.var-broker-password",
    ] {
        assert!(secrets.iter().any(|name| name == wanted), "no {wanted} in {secrets:?}");
    }
    assert_eq!(env.names("quarksstatefulset").unwrap(), ["nats-broker", "nats-gateway"]);
    assert_eq!(env.names("quarksjob").unwrap(), ["nats-smoke-tests"]);
    let status = &deployment["status"];
    assert_eq!(status["totalInstanceGroups"], 2);
    assert_eq!(status["completedJobCount"], 3);
    // No node: no pod is ever ready. An errand that was not started does not count.
    assert_eq!(status["totalJobCount"], 3);
    assert_eq!(status["state"], "Converting to Kubernetes Resources");
    assert_eq!(status["message"], "waiting for 2 of 2 instance groups");
    let ready = env.operator.ask("/ready").unwrap();
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    wait_for("both StatefulSets", || {
        env.names("statefulset").unwrap() == ["nats-broker-z0-v1", "nats-gateway-z0-v1"]
    });
}

#[test]
fn a_mistake_is_reported_with_its_place_and_fixing_it_is_enough() {
    let env = Environment::new("mistake").unwrap();
    env.deploy().unwrap();
    env.apply(&[
        config_map("broken", "ops", "- type: remove\n  path: /instance_gruops/0\n"),
        env.deployment(&["nats-scale", "broken"]),
    ])
    .unwrap();
    let deployment = env
        .wait("a failure", |deployment| is(deployment, "Converted", "False"))
        .unwrap();
    let reported = condition(&deployment, "Converted").unwrap();
    assert_eq!(reported["reason"], "OpsMissingKey");
    let message = reported["message"].as_str().unwrap();
    assert!(message.contains("configmap/broken/ops:2:9"), "{message}");
    assert!(
        message.contains("Expected to find a map key 'instance_gruops'"),
        "{message}"
    );
    env.apply(&[config_map(
        "broken",
        "ops",
        "- type: replace\n  path: /tags?/x\n  value: y\n",
    )])
    .unwrap();
    env.wait("Applied", |deployment| {
        is(deployment, "Applied", "True") && is(deployment, "Converted", "True")
    })
    .unwrap();
}

#[test]
fn a_deleted_object_is_recreated_and_a_restart_changes_nothing() {
    let mut env = Environment::new("back").unwrap();
    env.deploy().unwrap();
    env.wait("Applied", |deployment| is(deployment, "Applied", "True"))
        .unwrap();
    let password = |env: &Environment| env.get("secret/nats.var-broker-password").unwrap()["data"].clone();
    let before = (password(&env), env.names("secret").unwrap());
    let uid = env.get("service/nats-broker").unwrap()["metadata"]["uid"].clone();
    env.kubectl(&["delete", "service/nats-broker"]).unwrap();
    wait_for("the Service", || {
        env.get("service/nats-broker")
            .is_ok_and(|service| service["metadata"]["uid"] != uid)
    });
    env.operator.kill();
    env.operator.start().unwrap();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!((password(&env), env.names("secret").unwrap()), before);
}

impl Drop for Pods {
    fn drop(&mut self) {
        let arguments = ["delete", "namespace", &self.namespace, "--wait=false"];
        let _ = self.cluster.try_kubectl(arguments, "");
    }
}

//! `host operator` with a real API server and a real registry: the objects of a BOSHDeployment. No pods run here.

use crate::objects::{MONITORED, condition, config_map, deployment_of, is};
use crate::world::World;
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, Limited, Operator, shared};
use boson_tests::registry::{Server, push_example};
use boson_tests::{WAIT_TIMEOUT, quiet, root, wait_until_ok};
use serde_json::{Value, json};
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;

/// A namespace with its own operator, a process.
pub struct Environment {
    pub registry: Server,
    pub operator: Operator,
    /// For conversions.
    pub mode: &'static str,
    /// After the operator, which would create deleted pods again.
    world: World,
}

// === impl Environment ===

impl Environment {
    pub fn new(name: &str) -> Result<Self> {
        Self::with(name, &[])
    }

    /// With additional arguments for the operator.
    pub fn with(name: &str, more: &[&str]) -> Result<Self> {
        Self::set(World::new(shared()?, name)?, example_registry()?, more)
    }

    /// With a memory limit for the operator, which also serves another namespace, by their labels; `None` if this user
    /// cannot set limits.
    pub fn limited(name: &str, bytes: u64, other: &str, more: &[&str]) -> Result<Option<Self>> {
        let Some(limit) = Limited::to(bytes)? else {
            return Ok(None);
        };
        let world = World::new(shared()?, name)?;
        for monitored in [world.namespace.as_str(), other] {
            world.cluster.label_namespace(monitored, MONITORED, &world.namespace)?;
        }
        let mut env = Self::prepare(world, example_registry()?)?;
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
        let mut env = Self::set(World::with_pods(cluster, name)?, example_registry()?, &more)?;
        env.mode = "Jobs";
        Ok(env)
    }

    /// Another operator for the same namespace.
    pub fn beside(&self, more: &[&str]) -> Result<Self> {
        let world = World::existing(self.cluster, self.namespace.clone());
        Self::set(world, Server::start(false)?, more)
    }

    fn set(world: World, registry: Server, more: &[&str]) -> Result<Self> {
        let mut env = Self::prepare(world, registry)?;
        let scope = ["--namespace", &env.namespace].map(str::to_string);
        env.operator = env.operator.arguments(scope).arguments(more);
        env.operator.start()?;
        Ok(env)
    }

    fn prepare(world: World, registry: Server) -> Result<Self> {
        world.cluster.define()?;
        let operator = Operator::new(world.cluster, &world.namespace)?.registry(&registry);
        Ok(Self {
            registry,
            operator,
            mode: "InProcess",
            world,
        })
    }

    /// The image of a release of `tests/fixtures/releases`.
    pub fn image(&self, release: &str) -> String {
        self.registry.image(&format!("{release}:busybox-1-1"))
    }

    /// Gives registry and node a release of `tests/fixtures/releases`. `change`: adds files to the image of the node.
    pub fn load(&self, release: &str, change: impl FnOnce(Image) -> Result<Image>) -> Result<()> {
        let folder = root().join("tests/fixtures/releases").join(release);
        self.registry.push_release(&format!("{release}:busybox-1-1"), &folder)?;
        let image = change(Image::release(&self.image(release), &folder)?)?;
        self.cluster.load_image(&image)
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

    pub fn wait_until(&self, what: &str, holds: impl FnMut() -> Result<bool>) -> Result<()> {
        self.operator
            .wait_until(what, WAIT_TIMEOUT, holds, || self.everything())
    }

    /// Waits until the deployment of this name is ready.
    pub fn wait_until_ready(&self, deployment: &str) -> Result<()> {
        let name = format!("boshdeployment/{deployment}");
        self.wait_until(&format!("{name}: Ready"), || Ok(is(&self.get(&name)?, "Ready", "True")))
    }

    /// Waits until all objects of the example are up to date.
    pub fn wait_until_applied(&self) -> Result<Value> {
        self.wait_for_deployment("Applied", |deployment| is(deployment, "Applied", "True"))
    }

    /// Waits until the deployment meets the condition.
    pub fn wait_for_deployment(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        self.wait_for_example(&self.operator, what, holds)
    }

    /// The documented example, with its releases in the registry of this test.
    pub fn deploy(&self) -> Result<()> {
        self.deploy_as(self.deployment(&["nats-scale"]))
    }

    /// Deploys the example with this object.
    pub fn deploy_as(&self, deployment: Value) -> Result<()> {
        self.apply(&example_objects(deployment)?)
    }

    pub fn deployment(&self, ops: &[&str]) -> Value {
        self.deployment_of("nats", "nats-manifest", ops)
    }

    /// A BOSHDeployment of the ConfigMap `manifest`, and of ops files in ConfigMaps.
    pub fn deployment_of(&self, name: &str, manifest: &str, ops: &[&str]) -> Value {
        let mut deployment = deployment_of(name, manifest, ops, &format!("{}/bosh", self.registry.host()));
        deployment["spec"]["conversion"]["mode"] = self.mode.into();
        deployment
    }

    /// Creates or changes a deployment of this manifest.
    pub fn deploy_manifest(&self, name: &str, manifest: &str) -> Result<()> {
        let deployment = self.deployment_of(name, "manifest", &[]);
        self.apply(&[config_map("manifest", "manifest", manifest), deployment])
    }
}

impl Deref for Environment {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

/// A registry with the releases of the example.
pub fn example_registry() -> Result<Server> {
    let registry = Server::start(false)?;
    push_example(&registry)?;
    Ok(registry)
}

/// The documented example, with its releases in this registry.
pub fn example_of(registry: &Server, ops: &[&str]) -> Result<Vec<Value>> {
    let releases = format!("{}/bosh", registry.host());
    example_objects(deployment_of("nats", "nats-manifest", ops, &releases))
}

/// The documented example: its ConfigMaps `nats-manifest` and `nats-scale`, its given value, and this BOSHDeployment.
fn example_objects(deployment: Value) -> Result<Vec<Value>> {
    let example = root().join("docs/examples/nats");
    let manifest = fs::read_to_string(example.join("manifest.yml"))?;
    let ops = fs::read_to_string(example.join("ops/scale.yml"))?;
    Ok(vec![
        config_map("nats-manifest", "manifest", &manifest),
        config_map("nats-scale", "ops", &ops),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats.var-implicit-system-domain"},
            "stringData": {"value": "example.com"}}),
        deployment,
    ])
}

#[test]
fn the_example_becomes_the_documented_objects() {
    let env = Environment::new("example").unwrap();
    env.deploy().unwrap();
    let deployment = env.wait_until_applied().unwrap();
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
    wait_until_ok("both StatefulSets", || {
        Ok(env.names("statefulset")? == ["nats-broker-z0-v1", "nats-gateway-z0-v1"])
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
        .wait_for_deployment("a failure", |deployment| is(deployment, "Converted", "False"))
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
    env.wait_for_deployment("Applied", |deployment| {
        is(deployment, "Applied", "True") && is(deployment, "Converted", "True")
    })
    .unwrap();
}

#[test]
fn a_deleted_object_is_recreated_and_a_restart_changes_nothing() {
    let mut env = Environment::new("back").unwrap();
    env.deploy().unwrap();
    env.wait_until_applied().unwrap();
    let password = |env: &Environment| env.get("secret/nats.var-broker-password").unwrap()["data"].clone();
    let before = (password(&env), env.names("secret").unwrap());
    let uid = env.get("service/nats-broker").unwrap()["metadata"]["uid"].clone();
    env.kubectl(&["delete", "service/nats-broker"]).unwrap();
    wait_until_ok("the Service", || {
        Ok(env.get("service/nats-broker")?["metadata"]["uid"] != uid)
    });
    // Not killed: the lease of a killed one would hold the next one up.
    env.operator.stop().unwrap();
    env.operator.start().unwrap();
    quiet("a restart", &before, || (password(&env), env.names("secret").unwrap()));
}

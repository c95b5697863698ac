//! `host operator` with a real API server and a real registry: what a BOSHDeployment becomes. No pods run here.

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::{Cluster, shared};
use boson_tests::registry::{Server, push_example};
use boson_tests::{binary, root};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long something may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(90);
/// The same where pods run.
const PODS: Duration = Duration::from_secs(300);

/// A namespace with an operator of its own.
pub struct Stage {
    pub cluster: &'static Cluster,
    pub namespace: String,
    pub registry: Server,
    files: TempDir,
    operator: Option<Child>,
    /// Where it answers.
    port: u16,
    /// Of conversions.
    pub mode: &'static str,
    /// Reference of the operator's image.
    image: &'static str,
    patience: Duration,
    /// More arguments for it.
    more: Vec<String>,
}

// === impl Stage ===

impl Stage {
    pub fn new(name: &str) -> Result<Self> {
        Self::with(name, &["--webhook-listen", "off"])
    }

    /// With these arguments for the operator, too.
    pub fn with(name: &str, more: &[&str]) -> Result<Self> {
        static DEFINITIONS: Once = Once::new();
        let cluster = shared()?;
        let mut installed = Ok(String::new());
        DEFINITIONS.call_once(|| installed = install(cluster));
        installed?;
        Self::set(cluster, name, "example.com/boson:1", more)
    }

    /// In a cluster that has a node, which knows the operator's image under this name.
    pub fn with_pods(cluster: &'static Cluster, name: &str, image: &'static str) -> Result<Self> {
        install(cluster)?;
        let mut stage = Self::set(cluster, name, image, &["--webhook-listen", "off"])?;
        stage.mode = "Jobs";
        stage.patience = PODS;
        Ok(stage)
    }

    fn set(cluster: &'static Cluster, name: &str, image: &'static str, more: &[&str]) -> Result<Self> {
        let registry = Server::start(false)?;
        push_example(&registry)?;
        let mut stage = Self {
            cluster,
            namespace: cluster.namespace(name)?,
            registry,
            files: tempfile::tempdir()?,
            operator: None,
            port: free_port()?,
            mode: "InProcess",
            image,
            patience: PATIENCE,
            more: more.iter().map(|one| (*one).to_string()).collect(),
        };
        stage.start()?;
        Ok(stage)
    }

    /// Another operator for the same namespace.
    pub fn beside(&self, more: &[&str]) -> Result<Self> {
        let mut other = Self {
            cluster: self.cluster,
            namespace: self.namespace.clone(),
            registry: Server::start(false)?,
            files: tempfile::tempdir()?,
            operator: None,
            port: free_port()?,
            mode: self.mode,
            image: self.image,
            patience: self.patience,
            more: more.iter().map(|one| (*one).to_string()).collect(),
        };
        other.start()?;
        Ok(other)
    }

    pub fn start(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let child = Command::new(binary()?)
            .arg("-V")
            .arg("operator")
            .arg("--kubeconfig")
            .arg(self.cluster.kubeconfig())
            .args(["--namespace", &self.namespace, "--operator-namespace", &self.namespace])
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .args(&self.more)
            .args(["--operator-image", self.image])
            .args(["--registry-without-tls", self.registry.host()])
            .arg("--image-cache")
            .arg(self.files.path().join("images"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.operator = Some(child);
        Ok(())
    }

    /// Ends the operator at once, as the kernel would.
    pub fn kill(&mut self) {
        if let Some(mut operator) = self.operator.take() {
            let _ = operator.kill();
            let _ = operator.wait();
        }
    }

    /// What it says of itself: the answer to `/ready`, with its first line.
    fn readiness(&self) -> Result<String> {
        self.answer("/ready")
    }

    /// Its answer to this path.
    pub fn answer(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    pub fn log(&self) -> PathBuf {
        self.files.path().join("operator.log")
    }

    /// The value of an entry of a Secret.
    pub fn decoded(&self, entry: &Value) -> Result<String> {
        let bytes = STANDARD.decode(entry.as_str().context("an entry")?)?;
        Ok(String::from_utf8(bytes)?)
    }

    /// A file with the value of an entry of a Secret.
    pub fn file(&self, name: &str, entry: &Value) -> Result<PathBuf> {
        let path = self.files.path().join(name);
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
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let arguments = ["--namespace", &self.namespace, "apply", "--server-side", "--filename=-"];
        let answer = self.cluster.try_kubectl(arguments, &list.to_string())?;
        ensure!(answer.success, "{}", answer.stderr);
        Ok(())
    }

    /// The names of all objects of a kind, sorted.
    pub fn names(&self, kind: &str) -> Result<Vec<String>> {
        let names = self.kubectl(&["get", kind, "--output=name"])?;
        let mut names: Vec<String> = names
            .lines()
            .filter_map(|line| line.rsplit('/').next())
            .map(str::to_string)
            .collect();
        names.sort();
        Ok(names)
    }

    pub fn get(&self, what: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.kubectl(&["get", what, "--output=json"])?)?)
    }

    /// Waits until it holds of the deployment.
    pub fn wait(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        let began = Instant::now();
        loop {
            let deployment = self.get("boshdeployment/nats")?;
            if holds(&deployment) {
                return Ok(deployment);
            }
            if began.elapsed() > self.patience {
                let log = fs::read_to_string(self.log()).unwrap_or_default();
                anyhow::bail!("{what} did not come:\n{:#}\n{log}", deployment["status"]);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The documented example, with its releases in the registry of this test.
    pub fn deploy(&self) -> Result<()> {
        let example = root().join("docs/examples/nats");
        let manifest = fs::read_to_string(example.join("manifest.yml"))?;
        let ops = fs::read_to_string(example.join("ops/scale.yml"))?;
        self.apply(&[
            config_map("nats-manifest", "manifest", &manifest),
            config_map("nats-scale", "ops", &ops),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats.var-implicit-system-domain"},
                "stringData": {"value": "example.com"}}),
            self.deployment(&["nats-scale"]),
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

impl Drop for Stage {
    fn drop(&mut self) {
        self.kill();
    }
}

fn install(cluster: &Cluster) -> Result<String> {
    let definitions = root().join("crds");
    let definitions = definitions.to_str().context("a path of text")?;
    cluster.kubectl(["apply", "--server-side", "--filename", definitions])?;
    cluster.kubectl([
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd/boshdeployments.quarks.cloudfoundry.org",
        "crd/quarkssecrets.quarks.cloudfoundry.org",
        "crd/quarksstatefulsets.quarks.cloudfoundry.org",
        "crd/quarksjobs.quarks.cloudfoundry.org",
    ])
}

/// A port that nothing listens at.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

pub fn config_map(name: &str, key: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}})
}

pub fn condition<'v>(deployment: &'v Value, kind: &str) -> Option<&'v Value> {
    let conditions = deployment["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

pub fn is(deployment: &Value, kind: &str, status: &str) -> bool {
    let generation = &deployment["metadata"]["generation"];
    condition(deployment, kind)
        .is_some_and(|condition| condition["status"] == status && &condition["observedGeneration"] == generation)
}

#[test]
fn the_example_becomes_the_documented_objects() {
    let stage = Stage::new("example").unwrap();
    stage.deploy().unwrap();
    let deployment = stage
        .wait("Applied", |deployment| is(deployment, "Applied", "True"))
        .unwrap();
    let secrets = stage.names("secret").unwrap();
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
    assert_eq!(
        stage.names("quarksstatefulset").unwrap(),
        ["nats-broker", "nats-gateway"]
    );
    assert_eq!(stage.names("quarksjob").unwrap(), ["nats-smoke-tests"]);
    let status = &deployment["status"];
    assert_eq!(status["totalInstanceGroups"], 2);
    assert_eq!(status["completedJobCount"], 3);
    // No node: no pod is ever ready. An errand that nobody has started does not count.
    assert_eq!(status["totalJobCount"], 3);
    assert_eq!(status["state"], "Converting to Kubernetes Resources");
    assert_eq!(status["message"], "waiting for 2 of 2 instance groups");
    let ready = stage.readiness().unwrap();
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let began = Instant::now();
    while stage.names("statefulset").unwrap() != ["nats-broker-z0-v1", "nats-gateway-z0-v1"] {
        assert!(began.elapsed() < PATIENCE, "{:?}", stage.names("statefulset"));
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_mistake_is_told_with_its_place_and_mending_it_is_enough() {
    let stage = Stage::new("mistake").unwrap();
    stage.deploy().unwrap();
    stage
        .apply(&[
            config_map("broken", "ops", "- type: remove\n  path: /instance_gruops/0\n"),
            stage.deployment(&["nats-scale", "broken"]),
        ])
        .unwrap();
    let deployment = stage
        .wait("a failure", |deployment| is(deployment, "Converted", "False"))
        .unwrap();
    let told = condition(&deployment, "Converted").unwrap();
    assert_eq!(told["reason"], "OpsMissingKey");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("configmap/broken/ops:2:9"), "{message}");
    assert!(
        message.contains("Expected to find a map key 'instance_gruops'"),
        "{message}"
    );
    stage
        .apply(&[config_map(
            "broken",
            "ops",
            "- type: replace\n  path: /tags?/x\n  value: y\n",
        )])
        .unwrap();
    stage
        .wait("Applied", |deployment| {
            is(deployment, "Applied", "True") && is(deployment, "Converted", "True")
        })
        .unwrap();
}

#[test]
fn a_deleted_object_comes_back_and_a_restart_changes_nothing() {
    let mut stage = Stage::new("back").unwrap();
    stage.deploy().unwrap();
    stage
        .wait("Applied", |deployment| is(deployment, "Applied", "True"))
        .unwrap();
    let password = |stage: &Stage| stage.get("secret/nats.var-broker-password").unwrap()["data"].clone();
    let before = (password(&stage), stage.names("secret").unwrap());
    let uid = stage.get("service/nats-broker").unwrap()["metadata"]["uid"].clone();
    stage.kubectl(&["delete", "service/nats-broker"]).unwrap();
    let began = Instant::now();
    while stage
        .get("service/nats-broker")
        .map_or(true, |service| service["metadata"]["uid"] == uid)
    {
        assert!(began.elapsed() < PATIENCE, "the Service stays away");
        std::thread::sleep(Duration::from_millis(200));
    }
    stage.kill();
    stage.start().unwrap();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!((password(&stage), stage.names("secret").unwrap()), before);
}

//! Two brokers and a client on a node: they verify each other's generated certificates for names of BOSH DNS, listen on
//! their own address, and a message that an errand sends to one arrives at the other. In both modes of conversion.

use crate::operator::{Environment, config_map, is};
use anyhow::{Context, Result, ensure};
use boson_tests::WAIT_TIMEOUT;
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, with_node};
use boson_tests::root;
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_message_sent_to_one_broker_by_tls_arrives_at_the_other() {
    let Some(cluster) = with_node().unwrap() else { return };
    for (mode, name) in [("InProcess", "bus-in-process"), ("Jobs", "bus-jobs")] {
        let bus = Bus::new(cluster, name, mode).unwrap();
        bus.deploy("").unwrap();
        bus.gets_job_sources().unwrap();
        bus.round_trip().unwrap();
        bus.tags_restart_nothing().unwrap();
    }
}

/// The deployment of `tests/fixtures/releases/bus`.
struct Bus {
    env: Environment,
    mode: &'static str,
}

// === impl Bus ===

impl Bus {
    fn new(cluster: &'static Cluster, name: &str, mode: &'static str) -> Result<Self> {
        let env = Environment::with_pods(cluster, name)?;
        let release = root().join("tests/fixtures/releases/bus");
        env.registry.push_release("bus:busybox-1-1", &release)?;
        let image = format!("{}/bosh/bus:busybox-1-1", env.registry.host());
        cluster.load_image(&Image::release(&image, &release)?.installed("/usr/bin/openssl")?)?;
        Ok(Self { env, mode })
    }

    /// `more`: members to add to the manifest.
    fn deploy(&self, more: &str) -> Result<()> {
        let manifest = fs::read_to_string(root().join("tests/fixtures/releases/bus/manifest.yml"))?;
        let manifest = format!("{manifest}\n{more}");
        let registry = format!("{}/bosh", self.env.registry.host());
        let deployment = json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "bus"},
            "spec": {
                "manifest": {"type": "configmap", "name": "manifest"},
                "conversion": {"mode": self.mode, "registry": registry}
            }
        });
        self.env
            .apply(&[config_map("manifest", "manifest", &manifest), deployment])?;
        self.until("ready brokers", || {
            Ok(is(&self.get("boshdeployment/bus")?, "Ready", "True"))
        })
    }

    fn gets_job_sources(&self) -> Result<()> {
        let path = "jsonpath={.items[0].spec.initContainers[*].name}";
        let selector = "quarks.cloudfoundry.org/instance-group-name=brokers";
        let names = self
            .env
            .kubectl(&["get", "pods", "--selector", selector, "--output", path])?;
        ensure!(names == "template-render", "{names}");
        Ok(())
    }

    /// Runs the errand and waits for its result.
    fn round_trip(&self) -> Result<()> {
        let now = r#"{"spec": {"trigger": {"strategy": "now"}}}"#;
        self.env
            .kubectl(&["patch", "quarksjob/bus-check", "--type=merge", "--patch", now])?;
        let mut run = Value::Null;
        self.until("the end of the errand", || {
            run = self.get("quarksjob/bus-check")?;
            Ok(run["status"]["endedRuns"] == 1)
        })?;
        let log = self.logs().context("no logs")?;
        ensure!(run["status"]["completed"] == true, "{:#}\n{log}", run["status"]);
        Ok(())
    }

    /// Pods get them while they run.
    fn tags_restart_nothing(&self) -> Result<()> {
        let pods = || -> Result<Vec<(Value, Value)>> {
            let list = self.get("pods")?["items"].as_array().cloned().unwrap_or_default();
            let brokers = list
                .iter()
                .filter(|pod| pod["metadata"]["labels"]["quarks.cloudfoundry.org/instance-group-name"] == "brokers");
            let of = |pod: &Value| {
                (
                    pod["metadata"]["uid"].clone(),
                    pod["metadata"]["annotations"]["team"].clone(),
                )
            };
            Ok(brokers.map(of).collect())
        };
        let before = pods()?;
        self.deploy("tags: {team: blue}\n")?;
        self.until("the tag on all pods", || {
            Ok(pods()?.iter().all(|(_, team)| team == "blue"))
        })?;
        let uids = |pods: Vec<(Value, Value)>| pods.into_iter().map(|(uid, _)| uid).collect::<Vec<_>>();
        ensure!(uids(pods()?) == uids(before), "pods were replaced");
        Ok(())
    }

    fn get(&self, what: &str) -> Result<Value> {
        self.env.get(what)
    }

    fn logs(&self) -> Result<String> {
        let selector = "quarks.cloudfoundry.org/deployment-name=bus";
        let logs = [
            "logs",
            "--selector",
            selector,
            "--all-containers",
            "--prefix",
            "--tail=30",
        ];
        self.env.kubectl(&logs)
    }

    fn until(&self, what: &str, holds: impl FnMut() -> Result<bool>) -> Result<()> {
        let otherwise = || {
            let pods = self.env.kubectl(&["describe", "pods"]).unwrap_or_default();
            let status = self.get("boshdeployment/bus").unwrap_or_default()["status"].clone();
            format!("{status:#}\n{pods}\n{}", self.logs().unwrap_or_default())
        };
        self.env.operator.until(what, WAIT_TIMEOUT, holds, otherwise)
    }
}

//! Two brokers and a client on a node: they verify each other's generated certificates for names of BOSH DNS, listen on
//! their own address, and a message that an errand sends to one arrives at the other. In both modes of conversion.

use super::{deploy, manifest_of};
use crate::operator::Environment;
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, with_node};
use serde_json::Value;

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
}

// === impl Bus ===

impl Bus {
    fn new(cluster: &'static Cluster, name: &str, mode: &'static str) -> Result<Self> {
        let mut env = Environment::with_pods(cluster, name)?;
        env.mode = mode;
        env.load("bus", |image| image.installed("/usr/bin/openssl"))?;
        Ok(Self { env })
    }

    /// `more`: members to add to the manifest.
    fn deploy(&self, more: &str) -> Result<()> {
        deploy(&self.env, "bus", &format!("{}\n{more}", manifest_of("bus")?))
    }

    fn gets_job_sources(&self) -> Result<()> {
        let brokers = self.brokers()?;
        let init = brokers[0]["spec"]["initContainers"].as_array().context("no list")?;
        let names: Vec<&Value> = init.iter().map(|one| &one["name"]).collect();
        ensure!(names == ["template-render"], "{names:?}");
        Ok(())
    }

    /// Runs the errand and waits for its result.
    fn round_trip(&self) -> Result<()> {
        let now = r#"{"spec": {"trigger": {"strategy": "now"}}}"#;
        self.env
            .kubectl(&["patch", "quarksjob/bus-check", "--type=merge", "--patch", now])?;
        let mut run = Value::Null;
        self.env.wait_until("the end of the errand", || {
            run = self.env.get("quarksjob/bus-check")?;
            Ok(run["status"]["endedRuns"] == 1)
        })?;
        ensure!(run["status"]["completed"] == true, "{}", self.env.everything());
        Ok(())
    }

    /// Pods get them while they run.
    fn tags_restart_nothing(&self) -> Result<()> {
        let pods = || -> Result<Vec<(Value, Value)>> {
            let of = |pod: &Value| {
                (
                    pod["metadata"]["uid"].clone(),
                    pod["metadata"]["annotations"]["team"].clone(),
                )
            };
            Ok(self.brokers()?.iter().map(of).collect())
        };
        let before = pods()?;
        self.deploy("tags: {team: blue}\n")?;
        self.env.wait_until("the tag on all pods", || {
            Ok(pods()?.iter().all(|(_, team)| team == "blue"))
        })?;
        let uids = |pods: Vec<(Value, Value)>| pods.into_iter().map(|(uid, _)| uid).collect::<Vec<_>>();
        ensure!(uids(pods()?) == uids(before), "pods were replaced");
        Ok(())
    }

    fn brokers(&self) -> Result<Vec<Value>> {
        self.env
            .list("pods", "quarks.cloudfoundry.org/instance-group-name=brokers")
    }
}

//! A deployment with disks: health checks act on its pods, and the data on its disks and its generated password survive
//! a rolling change, and deletion and re-creation of the deployment.

use super::deploy_with_ops;
use super::lifecycle::{CLAIMS, check_start, check_stop};
use crate::objects::is;
use crate::operator::Environment;
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, with_node};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Timeout of pods on a busy machine.
const PODS_TIMEOUT: Duration = Duration::from_secs(900);
/// One probe fails while a file exists; the other fails once, and deletes its file.
const PROBES: &str = r#"
- type: replace
  path: /instance_groups/name=server/jobs/name=first/properties/quarks/run?
  value:
    healthcheck:
      server:
        readiness:
          exec: {command: [sh, -c, "! test -e /var/vcap/data/first/unready"]}
          periodSeconds: 1
          failureThreshold: 1
          timeoutSeconds: 60
        liveness:
          exec: {command: [sh, -c, "! rm /var/vcap/data/first/hung"]}
          periodSeconds: 1
          failureThreshold: 1
          timeoutSeconds: 60
"#;
/// Changes an argument of a process.
pub const CHANGE: &str = "
- {type: replace, path: /instance_groups/name=server/jobs/name=first/properties/word, value: changed}
";

#[test]
fn health_checks_act_and_disks_and_passwords_survive_changes_and_re_creation() {
    let Some(cluster) = with_node().unwrap() else { return };
    let lifecycle = Lifecycle::new(cluster, "survives", 2).unwrap();
    lifecycle.deploy(PROBES).unwrap();
    lifecycle.wait_until_ready().unwrap();
    a_failed_readiness_probe_makes_a_pod_unready(&lifecycle).unwrap();
    a_failed_liveness_probe_restarts_the_container_alone(&lifecycle).unwrap();
    disks_survive_a_rolling_change(&lifecycle).unwrap();
    disks_and_the_password_survive_re_creation(&lifecycle).unwrap();
}

fn a_failed_readiness_probe_makes_a_pod_unready(lifecycle: &Lifecycle) -> Result<()> {
    lifecycle.inside(0, "touch /var/vcap/data/first/unready")?;
    lifecycle.wait_until("an unready pod", || Ok(!is_ready(&lifecycle.pod(0)?)))?;
    ensure!(is_ready(&lifecycle.pod(1)?), "the other pod has its own probe");
    lifecycle.inside(0, "rm /var/vcap/data/first/unready")?;
    lifecycle.wait_until("a ready pod", || Ok(is_ready(&lifecycle.pod(0)?)))?;
    ensure!(restarts(&lifecycle.pod(0)?, "first-server") == Some(0), "it restarted");
    Ok(())
}

fn a_failed_liveness_probe_restarts_the_container_alone(lifecycle: &Lifecycle) -> Result<()> {
    let before = lifecycle.notes(0)?;
    lifecycle.inside(0, "touch /var/vcap/data/first/hung")?;
    lifecycle.wait_until("a restart", || {
        let pod = lifecycle.pod(0)?;
        // The process notes its start a moment after its container has started.
        let has_noted = lifecycle.notes(0)?.len() >= before.len() + 2;
        Ok(restarts(&pod, "first-server") == Some(1) && is_ready(&pod) && has_noted)
    })?;
    let notes = lifecycle.notes(0)?;
    ensure!(notes.starts_with(&before), "{notes:#?}");
    let new = &notes[before.len()..];
    ensure!(
        new.len() == 2 && new[0] == "first stops 1000" && new[1].starts_with("first starts 1000 "),
        "{new:#?}"
    );
    for other in ["second-second", "by-monit-by-monit"] {
        ensure!(restarts(&lifecycle.pod(0)?, other) == Some(0), "{other} restarted");
    }
    Ok(())
}

fn disks_survive_a_rolling_change(lifecycle: &Lifecycle) -> Result<()> {
    let disks = lifecycle.disks()?;
    let before = [lifecycle.notes(0)?, lifecycle.notes(1)?];
    lifecycle.deploy(&format!("{PROBES}{CHANGE}"))?;
    let changed = |index: usize| -> Result<bool> {
        let notes = lifecycle.notes(index)?;
        let started = notes
            .iter()
            .any(|line| line.starts_with("first starts 1000 --word changed "));
        Ok(started && is_ready(&lifecycle.pod(index)?))
    };
    lifecycle.wait_until("the change in both pods", || {
        let pods = lifecycle.pods()?;
        ensure!(pods.iter().any(is_ready), "no pod is ready during the change");
        Ok(changed(0)? && changed(1)?)
    })?;
    lifecycle.wait_until_ready()?;
    ensure!(lifecycle.disks()? == disks, "the disks are others");
    for (index, before) in before.iter().enumerate() {
        lifecycle.check_restart(index, before)?;
    }
    Ok(())
}

fn disks_and_the_password_survive_re_creation(lifecycle: &Lifecycle) -> Result<()> {
    let env = &lifecycle.env;
    let disks = lifecycle.disks()?;
    let before = [lifecycle.notes(0)?, lifecycle.notes(1)?];
    let password = || -> Result<String> {
        let secret = env.get("secret/lifecycle.var-word")?;
        env.decoded(&secret["data"]["password"])
    };
    let generated = password()?;
    env.kubectl(&["delete", "boshdeployment/lifecycle", "--timeout=300s"])?;
    lifecycle.wait_until("the end of all pods", || Ok(lifecycle.pods()?.is_empty()))?;
    lifecycle.deploy(PROBES)?;
    lifecycle.wait_until_ready()?;
    ensure!(password()? == generated, "the password was generated again");
    ensure!(lifecycle.disks()? == disks, "the disks are others");
    let argument = format!("first starts 1000 --word {generated} ");
    for (index, before) in before.iter().enumerate() {
        let new = lifecycle.check_restart(index, before)?;
        ensure!(new.iter().any(|line| line.starts_with(&argument)), "{new:#?}");
    }
    Ok(())
}

pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        && pod["metadata"]["deletionTimestamp"].is_null()
}

fn restarts(pod: &Value, container: &str) -> Option<u64> {
    let all = pod["status"]["containerStatuses"].as_array()?;
    all.iter().find(|status| status["name"] == container)?["restartCount"].as_u64()
}

/// The deployment of `tests/fixtures/releases/lifecycle`, by an operator.
pub struct Lifecycle {
    pub env: Environment,
    instances: usize,
}

// === impl Lifecycle ===

impl Lifecycle {
    pub fn new(cluster: &'static Cluster, name: &str, instances: usize) -> Result<Self> {
        let mut env = Environment::with_pods(cluster, name)?;
        env.mode = "InProcess";
        env.load("lifecycle", Ok)?;
        cluster.disks(&env.namespace, CLAIMS, instances)?;
        Ok(Self { env, instances })
    }

    /// Creates or changes the deployment.
    pub fn deploy(&self, ops: &str) -> Result<()> {
        let instances = self.instances;
        let ops =
            format!("- {{type: replace, path: /instance_groups/name=server/instances, value: {instances}}}\n{ops}");
        deploy_with_ops(&self.env, "lifecycle", &ops)
    }

    /// Waits until the deployment and all its pods are ready.
    pub fn wait_until_ready(&self) -> Result<()> {
        self.wait_until("a ready deployment", || {
            // The API server may be down.
            let ready = || -> Result<bool> {
                let pods = self.pods()?;
                let all = pods.len() == self.instances && pods.iter().all(is_ready);
                Ok(all && is(&self.env.get("boshdeployment/lifecycle")?, "Ready", "True"))
            };
            Ok(ready().unwrap_or(false))
        })
    }

    /// All pods of the group.
    pub fn pods(&self) -> Result<Vec<Value>> {
        self.env
            .list("pods", "quarks.cloudfoundry.org/instance-group-name=server")
    }

    /// A pod, or null if it does not exist.
    pub fn pod(&self, index: usize) -> Result<Value> {
        let end = format!("-{index}");
        let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap_or_default().to_string();
        let found = self.pods()?.into_iter().find(|pod| name(pod).ends_with(&end));
        Ok(found.unwrap_or_default())
    }

    pub fn inside(&self, index: usize, script: &str) -> Result<String> {
        let pod = self.pod(index)?;
        let name = pod["metadata"]["name"].as_str().context("no pod")?;
        self.env.inside(name, "first-server", script)
    }

    /// The directories of the disks on this machine, by instance.
    pub fn disks(&self) -> Result<Vec<PathBuf>> {
        let volumes = self.env.list("persistentvolumes", "")?;
        let disk = |index: usize| {
            let end = format!("-{index}");
            let volume = volumes.iter().find(|volume| {
                let claim = &volume["spec"]["claimRef"];
                claim["namespace"] == self.env.namespace.as_str()
                    && claim["name"].as_str().is_some_and(|name| name.ends_with(&end))
            });
            let path = volume.and_then(|volume| volume["spec"]["hostPath"]["path"].as_str());
            path.map(PathBuf::from)
                .with_context(|| format!("no disk {index} in {volumes:?}"))
        };
        (0..self.instances).map(disk).collect()
    }

    /// What was noted on a disk.
    pub fn notes(&self, index: usize) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.disks()?[index].join("order"))?;
        Ok(text.lines().map(String::from).collect())
    }

    /// Checks that a pod stopped and started in order, once, and that the disk has what it had before. Returns the new
    /// notes.
    pub fn check_restart(&self, index: usize, before: &[String]) -> Result<Vec<String>> {
        let notes = self.notes(index)?;
        ensure!(notes.starts_with(before), "{before:#?} is not the start of {notes:#?}");
        let new = notes[before.len()..].to_vec();
        let starts = new.iter().position(|line| line.starts_with("first pre-start"));
        let (stop, start) = new.split_at(starts.with_context(|| format!("no start in {new:#?}"))?);
        check_stop(stop)?;
        check_start(start, index)?;
        let again = start.iter().filter(|line| line.starts_with("first pre-start")).count();
        ensure!(again == 1, "it started {again} times: {start:#?}");
        Ok(new)
    }

    pub fn wait_until(&self, what: &str, holds: impl FnMut() -> Result<bool>) -> Result<()> {
        let otherwise = || {
            let disks = self.disks().unwrap_or_default();
            let notes: Vec<_> = disks
                .iter()
                .map(|disk| fs::read_to_string(disk.join("order")))
                .collect();
            format!("{notes:#?}\n{}", self.env.everything())
        };
        self.env.operator.wait_until(what, PODS_TIMEOUT, holds, otherwise)
    }
}

//! One pod of a group with an active/passive probe has the label to which the Service leads; another one takes over
//! when its probe fails, when it does not answer any more, and when it is deleted. Two pods never have the label. A
//! group that gets its probe while it runs serves from all pods until one is active.

use super::disks::is_ready;
use crate::operator::Environment;
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, program, with_node};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Instant;
use tempfile::TempDir;

const ACTIVE: &str = "quarks.cloudfoundry.org/pod-active";
/// The process of a pod is active while this file exists.
const FILE: &str = "/var/vcap/sys/log/app/active";
const MANIFEST: &str = r#"
name: pair
releases: [{name: shop, version: "1", url: boson.test}]
stemcells: [{alias: default, os: busybox, version: "1"}]
instance_groups:
- name: web
  instances: 2
  stemcell: default
  jobs:
  - name: app
    release: shop
    properties:
      word: first
      quarks:
        ports: [{name: http, protocol: TCP, internal: 8080}]
"#;
/// It follows the manifest.
const PROBE: &str =
    "        activePassiveProbes: {app-app: {exec: {command: [test, -e, /var/vcap/sys/log/app/active]}}}\n";

#[test]
fn the_service_leads_to_one_active_pod_and_another_one_takes_over() {
    let Some(cluster) = with_node().unwrap() else { return };
    let pair = Pair::new(cluster).unwrap();
    pair.deploy("").unwrap();
    pair.wait_until_ready(&[]).unwrap();
    pair.deploy(PROBE).unwrap();
    let mut watch = Watch::begin(&pair).unwrap();
    let [first, second] = pair.wait_until_ready(&["active-app-app"]).unwrap();
    let both = BTreeSet::from([first.clone(), second.clone()]);
    pair.env
        .wait_until("pods that served before the probe do so until one is active", || {
            Ok(pair.led_to()? == both)
        })
        .unwrap();
    pair.inside(&first, &format!("touch {FILE}")).unwrap();
    let begun = pair.wait_until_led("it is active", &first).unwrap();
    // The sidecars run their probes at different times, so only now is it known which pod is the first.
    pair.inside(&second, &format!("touch {FILE}")).unwrap();
    pair.inside(&first, &format!("rm {FILE}")).unwrap();
    let failed = pair.wait_until_led("its probe fails", &second).unwrap();
    pair.inside(&first, &format!("touch {FILE}")).unwrap();
    pair.stop_answering(&second).unwrap();
    let silent = pair.wait_until_led("it does not answer", &first).unwrap();
    let gone = ["delete", "pod", &second, "--wait=false", "--grace-period=0", "--force"];
    pair.env.kubectl(&gone).unwrap();
    let again = pair.wait_until_ready(&["active-app-app"]).unwrap();
    pair.inside(&again[1], &format!("touch {FILE}")).unwrap();
    pair.env.kubectl(&["delete", "pod", &first, "--wait=false"]).unwrap();
    let deleted = pair.wait_until_led("it is deleted", &second).unwrap();
    println!("active after {begun:.1} s; failed {failed:.1} s, silent {silent:.1} s, deleted {deleted:.1} s");
    watch.check(&[&first, &second, &first, &second]).unwrap();
    pair.deploy(&PROBE.replace("app-app:", "app-ap:")).unwrap();
    let words = "the pod has no container of this name";
    let refused = || Ok(pair.env.get("boshdeployment/pair")?.to_string().contains(words));
    pair.env.wait_until("a mistyped name is refused", refused).unwrap();
    let events = pair.env.get("events.events.k8s.io").unwrap().to_string();
    assert!(events.contains(&format!("pod '{second}' is active")), "{events}");
}

/// A deployment with a group of two instances.
struct Pair {
    env: Environment,
}

// === impl Pair ===

impl Pair {
    fn new(cluster: &'static Cluster) -> Result<Self> {
        let env = Environment::with_pods(cluster, "pair")?;
        env.load("shop", Ok)?;
        Ok(Self { env })
    }

    /// `probe`: the end of the manifest.
    fn deploy(&self, probe: &str) -> Result<()> {
        self.env.deploy_manifest("pair", &format!("{MANIFEST}{probe}"))
    }

    fn pods(&self) -> Result<Vec<Value>> {
        let mut pods = self
            .env
            .list("pods", "quarks.cloudfoundry.org/instance-group-name=web")?;
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        Ok(pods)
    }

    /// The names of the pods, once both are ready and have these sidecars.
    fn wait_until_ready(&self, sidecars: &[&str]) -> Result<[String; 2]> {
        let has_sidecars = |pod: &Value| {
            let containers = pod["spec"]["initContainers"].as_array().into_iter().flatten();
            let names: Vec<&str> = containers.filter_map(|one| one["name"].as_str()).collect();
            sidecars.iter().all(|name| names.contains(name))
        };
        let mut pods = Vec::new();
        self.env.wait_until("ready pods", || {
            pods = self.pods()?;
            Ok(pods.len() == 2 && pods.iter().all(|pod| is_ready(pod) && has_sidecars(pod)))
        })?;
        let mut names: Vec<String> = pods
            .iter()
            .filter_map(|pod| pod["metadata"]["name"].as_str())
            .map(str::to_string)
            .collect();
        names.sort();
        names.try_into().ok().context("two names")
    }

    /// Waits until the Service leads to this pod alone. Returns the seconds that this took.
    fn wait_until_led(&self, what: &str, pod: &str) -> Result<f64> {
        let began = Instant::now();
        self.env
            .wait_until(what, || Ok(self.led_to()? == BTreeSet::from([pod.to_string()])))?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// The pods to which the Service of the group leads.
    fn led_to(&self) -> Result<BTreeSet<String>> {
        let slices = self.env.list("endpointslices", "kubernetes.io/service-name=pair-web")?;
        let endpoints = slices
            .iter()
            .flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
        let names = endpoints.filter_map(|one| one["targetRef"]["name"].as_str());
        Ok(names.map(str::to_string).collect())
    }

    fn inside(&self, pod: &str, script: &str) -> Result<String> {
        self.env.inside(pod, "app-app", script)
    }

    /// Freezes the sidecar of a pod, as if its node were lost: it accepts connections, and says nothing.
    fn stop_answering(&self, pod: &str) -> Result<()> {
        let is_sidecar = |process: &&PathBuf| {
            let text = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
            text("root/etc/hostname").trim() == pod && text("cmdline").contains("container-run\0active\0")
        };
        let processes = self.env.cluster.processes_of_pods()?;
        let found = processes.iter().find(is_sidecar).context("the sidecar does not run")?;
        let number = found.file_name().and_then(|name| name.to_str()?.parse().ok());
        let sidecar = number.and_then(Pid::from_raw).context("a number")?;
        kill_process(sidecar, Signal::STOP)?;
        Ok(())
    }
}

/// Follows the labels of the pods.
struct Watch {
    kubectl: Child,
    files: TempDir,
}

// === impl Watch ===

impl Watch {
    fn begin(pair: &Pair) -> Result<Self> {
        let files = tempfile::tempdir()?;
        let label = ACTIVE.replace('.', "\\.");
        let columns = format!("{{.type}} {{.object.metadata.name}} {{.object.metadata.labels.{label}}}{{\"\\n\"}}");
        let kubectl = Command::new(program("kubectl")?)
            .arg("--kubeconfig")
            .arg(pair.env.cluster.kubeconfig())
            .args([
                "--namespace",
                &pair.env.namespace,
                "get",
                "pods",
                "--watch",
                "--output-watch-events",
            ])
            .arg(format!("--output=jsonpath={columns}"))
            .stdout(File::create(files.path().join("events"))?)
            .spawn()?;
        Ok(Self { kubectl, files })
    }

    /// Checks that at most one pod had the label after each event, and which ones had it, in this order.
    fn check(&mut self, expected: &[&str]) -> Result<()> {
        self.kubectl.kill()?;
        let text = fs::read_to_string(self.files.path().join("events"))?;
        let (mut active, mut order) = (BTreeSet::new(), Vec::new());
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (kind, name) = (words.first().context("a type")?, words.get(1).context("a name")?);
            if *kind != "DELETED" && words.get(2) == Some(&"active") {
                active.insert(*name);
                order.push(*name);
            } else {
                active.remove(name);
            }
            ensure!(active.len() <= 1, "two are active: {active:?}\n{text}");
        }
        order.dedup();
        ensure!(order == expected, "{order:?}\n{text}");
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.kubectl.kill();
        let _ = self.kubectl.wait();
    }
}

//! Clients of web servers on a node lose no request while instances are updated, evicted, added and removed, and while
//! the operator restarts. The groups have one pod more than instances at most, and adding and removing instances
//! restarts none. The manifest is rendered by Jobs.

use super::disks::is_ready;
use crate::operator::{Environment, config_map};
use anyhow::{Context, Result, ensure};
use boson_tests::WAIT_TIMEOUT;
use boson_tests::cluster::{Cluster, with_node};
use boson_tests::root;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// Claims of the group `store`, without the pod's number.
const CLAIMS: &str = "store-pvc-shop-store-v1";
/// The update block's.
const MAX_IN_FLIGHT: usize = 1;
/// Asks again and again, and counts: requests, and those without an answer.
const CLIENT: &str = "
sent=0 lost=0
while :; do
  timeout 20 wget -q -O /tmp/answer http://$ADDRESS:8080/word 2>>/tmp/errors || lost=$((lost + 1))
  sent=$((sent + 1))
  echo $sent $lost >/tmp/next && mv /tmp/next /tmp/count
  sleep 0.02
done
";

#[test]
fn no_request_is_lost_while_instances_are_updated_added_and_removed() {
    let Some(cluster) = with_node().unwrap() else { return };
    let mut shop = Shop::new(cluster).unwrap();
    shop.deploy("first", 2).unwrap();
    shop.reached("first", 2).unwrap();
    shop.serve().unwrap();
    let mut scenario = |what: &str, run: &dyn Fn(&mut Shop) -> Result<()>| {
        let before = shop.counts().unwrap();
        run(&mut shop).unwrap();
        let after = shop.counts().unwrap();
        for (group, before, after) in [("web", before[0], after[0]), ("store", before[1], after[1])] {
            let (sent, lost) = (after.sent - before.sent, after.lost - before.lost);
            println!("{what}: {group}: {sent} requests, {lost} lost");
            assert_eq!(lost, 0, "{what}: {group}: {}", shop.errors(group));
        }
    };
    scenario("2 to 3 instances", &|shop| {
        let before = shop.uids()?;
        shop.deploy("first", 3)?;
        shop.reached("first", 3)?;
        ensure!(shop.uids()?.is_superset(&before), "an instance was restarted");
        Ok(())
    });
    scenario("an update while the operator is killed", &|shop| {
        shop.deploy("second", 3)?;
        shop.begun("second")?;
        shop.env.operator.kill();
        shop.env.operator.start()?;
        shop.reached("second", 3)
    });
    scenario("an update that is reverted", &|shop| {
        shop.deploy("third", 3)?;
        shop.begun("third")?;
        shop.deploy("second", 3)?;
        shop.reached("second", 3)
    });
    // As `kubectl drain` does it, which also cordons the node; other tests need it.
    scenario("eviction of all pods", &|shop| {
        for pod in [shop.pods("web")?, shop.pods("store")?].concat() {
            let name = pod["metadata"]["name"].as_str().context("a name")?.to_string();
            shop.until("the eviction", || shop.evict(&name))?;
        }
        shop.reached("second", 3)
    });
    for (what, instances) in [("3 to 2 instances", 2), ("2 to 1 instances", 1)] {
        scenario(what, &|shop| {
            let before = shop.uids()?;
            shop.deploy("second", instances)?;
            shop.reached("second", instances)?;
            ensure!(shop.uids()?.is_subset(&before), "an instance was restarted");
            Ok(())
        });
    }
    scenario("an update of one instance", &|shop| {
        shop.deploy("fourth", 1)?;
        shop.reached("fourth", 1)
    });
}

/// What a client has counted.
#[derive(Clone, Copy)]
struct Count {
    sent: u64,
    lost: u64,
}

/// The deployment of `tests/fixtures/releases/shop`, and a client for each of its groups.
struct Shop {
    env: Environment,
    image: String,
}

// === impl Shop ===

impl Shop {
    fn new(cluster: &'static Cluster) -> Result<Self> {
        let env = Environment::with_pods(cluster, "shop")?;
        let image = env.load_shop()?;
        cluster.disks(&env.namespace, CLAIMS, 2)?;
        Ok(Self { env, image })
    }

    /// `instances`: of the group without a disk.
    fn deploy(&self, word: &str, instances: usize) -> Result<()> {
        let manifest = fs::read_to_string(root().join("tests/fixtures/releases/shop/manifest.yml"))?;
        let manifest = manifest.replacen("instances: 2", &format!("instances: {instances}"), 1);
        let manifest = manifest.replace("word: first", &format!("word: {word}"));
        let registry = format!("{}/bosh", self.env.registry.host());
        let deployment = json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "shop"},
            "spec": {
                "manifest": {"type": "configmap", "name": "manifest"},
                "conversion": {"mode": self.env.mode, "registry": registry}
            }
        });
        self.env
            .apply(&[config_map("manifest", "manifest", &manifest), deployment])
    }

    /// Starts the clients. Their Services are those that a user writes.
    fn serve(&self) -> Result<()> {
        for group in ["web", "store"] {
            let name = format!("{group}-public");
            let selector = json!({
                "quarks.cloudfoundry.org/deployment-name": "shop",
                "quarks.cloudfoundry.org/instance-group-name": group
            });
            let service = json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"selector": selector, "ports": [{"port": 8080}]}
            });
            self.env.apply(&[service])?;
            let address = self.env.get(&format!("service/{name}"))?["spec"]["clusterIP"].clone();
            let container = json!({
                "name": "client", "image": self.image, "imagePullPolicy": "Never", "command": ["sh", "-c", CLIENT],
                "env": [{"name": "ADDRESS", "value": address}]
            });
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("client-{group}")},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 0}
            });
            self.env.apply(&[pod])?;
        }
        self.until("the first requests", || {
            Ok(self
                .counts()
                .is_ok_and(|counts| counts.iter().all(|count| count.sent > count.lost)))
        })
    }

    /// Of both clients.
    fn counts(&self) -> Result<[Count; 2]> {
        let of = |group: &str| {
            let text = self.inside(group, "cat /tmp/count")?;
            let (sent, lost) = text.trim().split_once(' ').context("no count")?;
            let (sent, lost) = (sent.parse()?, lost.parse()?);
            anyhow::Ok(Count { sent, lost })
        };
        Ok([of("web")?, of("store")?])
    }

    /// What the client of a group has reported.
    fn errors(&self, group: &str) -> String {
        self.inside(group, "tail -n 5 /tmp/errors").unwrap_or_default()
    }

    /// Runs a script in the client of a group.
    fn inside(&self, group: &str, script: &str) -> Result<String> {
        self.env
            .kubectl(&["exec", &format!("client-{group}"), "--", "sh", "-c", script])
    }

    /// The pods of a group that are not being deleted.
    fn pods(&self, group: &str) -> Result<Vec<Value>> {
        let selector = format!("quarks.cloudfoundry.org/instance-group-name={group}");
        let mut pods = self.env.list("pods", &selector)?;
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        Ok(pods)
    }

    /// Whether the disruption budget allows the eviction of this pod now.
    fn evict(&self, pod: &str) -> Result<bool> {
        let path = format!("/api/v1/namespaces/{}/pods/{pod}/eviction", self.env.namespace);
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}});
        let arguments = ["create", "--raw", &path, "--filename=-"];
        let answer = self.env.cluster.try_kubectl(arguments, &eviction.to_string())?;
        ensure!(
            answer.success || answer.stderr.contains("disruption budget"),
            "{}",
            answer.stderr
        );
        Ok(answer.success)
    }

    /// Of the pods of both groups.
    fn uids(&self) -> Result<BTreeSet<String>> {
        let pods = [self.pods("web")?, self.pods("store")?].concat();
        Ok(pods.iter().map(|pod| pod["metadata"]["uid"].to_string()).collect())
    }

    /// Whether a pod is ready and answers with this word.
    fn answers(&self, pod: &Value, word: &str) -> bool {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let file = "/var/vcap/jobs/app/config/www/word";
        let exec = ["exec", name, "--container", "app-app", "--", "cat", file];
        is_ready(pod) && self.env.kubectl(&exec).is_ok_and(|found| found.trim() == word)
    }

    /// Waits until an instance of each group has this word.
    fn begun(&self, word: &str) -> Result<()> {
        self.until("the first updated instances", || {
            let has = |group: &str| anyhow::Ok(self.pods(group)?.iter().any(|pod| self.answers(pod, word)));
            Ok(has("web")? && has("store")?)
        })
    }

    /// Waits until all instances have this word.
    fn reached(&self, word: &str, instances: usize) -> Result<()> {
        let mut most = 0;
        self.until(word, || {
            let (web, store) = (self.pods("web")?, self.pods("store")?);
            most = most.max(web.len());
            let is_whole =
                |pods: &[Value], count| pods.len() == count && pods.iter().all(|pod| self.answers(pod, word));
            Ok(is_whole(&web, instances) && is_whole(&store, 2))
        })?;
        // The number before may have been one more.
        ensure!(most <= instances + 1 + MAX_IN_FLIGHT, "{most} pods");
        Ok(())
    }

    fn until(&self, what: &str, holds: impl FnMut() -> Result<bool>) -> Result<()> {
        let otherwise = || {
            let pods = self.env.kubectl(&["get", "pods,quarksstatefulsets", "--output=wide"]);
            let sets = self.env.kubectl(&["describe", "quarksstatefulsets"]);
            format!("{}\n{}", pods.unwrap_or_default(), sets.unwrap_or_default())
        };
        self.env.operator.until(what, WAIT_TIMEOUT, holds, otherwise)
    }
}

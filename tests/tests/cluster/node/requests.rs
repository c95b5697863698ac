//! Clients of web servers on a node lose no request while instances are updated, evicted, added and removed, and while
//! the operator restarts. The groups have one pod more than instances at most, and adding and removing instances
//! restarts none. The manifest is rendered by Jobs.

use super::disks::is_ready;
use super::manifest_of;
use crate::operator::Environment;
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, with_node};
use boson_tests::web::{self, Client, Count};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// Claims of the group `store`, without the pod's number.
const CLAIMS: &str = "store-pvc-shop-store-v1";
const GROUPS: [&str; 2] = ["web", "store"];
/// The update block's.
const MAX_IN_FLIGHT: usize = 1;
/// Of the web servers.
const PORT: u16 = 8080;

#[test]
fn no_request_is_lost_while_instances_are_updated_added_and_removed() {
    let Some(cluster) = with_node().unwrap() else { return };
    let mut shop = Shop::new(cluster).unwrap();
    shop.deploy("first", 2).unwrap();
    shop.wait_until_reached("first", 2).unwrap();
    shop.serve().unwrap();
    let mut scenario = |what: &str, run: &dyn Fn(&mut Shop) -> Result<()>| {
        let before: Vec<Count> = shop.clients.iter().map(Client::count).collect();
        run(&mut shop).unwrap();
        for ((group, client), before) in GROUPS.iter().zip(&shop.clients).zip(before) {
            let after = client.count();
            let (sent, lost) = (after.sent - before.sent, after.lost - before.lost);
            println!("{what}: {group}: {sent} requests, {lost} lost");
            assert_eq!(lost, 0, "{what}: {group}: {}", client.errors());
        }
    };
    scenario("2 to 3 instances", &|shop| {
        let before = shop.uids()?;
        shop.deploy("first", 3)?;
        shop.wait_until_reached("first", 3)?;
        ensure!(shop.uids()?.is_superset(&before), "an instance was restarted");
        Ok(())
    });
    scenario("an update while the operator is killed", &|shop| {
        shop.deploy("second", 3)?;
        shop.wait_until_begun("second")?;
        shop.env.operator.kill();
        shop.env.operator.start()?;
        shop.wait_until_reached("second", 3)
    });
    scenario("an update that is reverted", &|shop| {
        shop.deploy("third", 3)?;
        shop.wait_until_begun("third")?;
        shop.deploy("second", 3)?;
        shop.wait_until_reached("second", 3)
    });
    // As `kubectl drain` does it, which also cordons the node; other tests need it.
    scenario("eviction of all pods", &|shop| {
        for pod in [shop.pods("web")?, shop.pods("store")?].concat() {
            let name = pod["metadata"]["name"].as_str().context("a name")?.to_string();
            shop.env
                .wait_until("the eviction", || shop.env.cluster.evict(&shop.env.namespace, &name))?;
        }
        shop.wait_until_reached("second", 3)
    });
    for (what, instances) in [("3 to 2 instances", 2), ("2 to 1 instances", 1)] {
        scenario(what, &|shop| {
            let before = shop.uids()?;
            shop.deploy("second", instances)?;
            shop.wait_until_reached("second", instances)?;
            ensure!(shop.uids()?.is_subset(&before), "an instance was restarted");
            Ok(())
        });
    }
    scenario("an update of one instance", &|shop| {
        shop.deploy("fourth", 1)?;
        shop.wait_until_reached("fourth", 1)
    });
}

/// The deployment of `tests/fixtures/releases/shop`, and a client for each of its groups.
struct Shop {
    env: Environment,
    clients: Vec<Client>,
}

// === impl Shop ===

impl Shop {
    fn new(cluster: &'static Cluster) -> Result<Self> {
        let env = Environment::with_pods(cluster, "shop")?;
        env.load("shop", Ok)?;
        cluster.disks(&env.namespace, CLAIMS, 2)?;
        Ok(Self {
            env,
            clients: Vec::new(),
        })
    }

    /// `instances`: of the group without a disk.
    fn deploy(&self, word: &str, instances: usize) -> Result<()> {
        let manifest = manifest_of("shop")?.replacen("instances: 2", &format!("instances: {instances}"), 1);
        let manifest = manifest.replace("word: first", &format!("word: {word}"));
        self.env.deploy_manifest("shop", &manifest)
    }

    /// Starts the clients. Their Services are those that a user writes.
    fn serve(&mut self) -> Result<()> {
        for group in GROUPS {
            let name = format!("{group}-public");
            let selector = json!({
                "quarks.cloudfoundry.org/deployment-name": "shop",
                "quarks.cloudfoundry.org/instance-group-name": group
            });
            let service = json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"type": "NodePort", "selector": selector, "ports": [{"port": PORT}]}
            });
            self.env.apply(&[service])?;
            let port = self.env.get(&format!("service/{name}"))?["spec"]["ports"][0]["nodePort"].as_u64();
            let port = u16::try_from(port.context("no port")?)?;
            let server = SocketAddr::from((self.env.cluster.node_address()?, port));
            self.env
                .wait_until("the first answer", || Ok(web::get(server, "/word").is_ok()))?;
            self.clients.push(Client::start(server, "/word"));
        }
        Ok(())
    }

    /// The pods of a group that are not being deleted.
    fn pods(&self, group: &str) -> Result<Vec<Value>> {
        let selector = format!("quarks.cloudfoundry.org/instance-group-name={group}");
        let mut pods = self.env.list("pods", &selector)?;
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        Ok(pods)
    }

    /// Of the pods of both groups.
    fn uids(&self) -> Result<BTreeSet<String>> {
        let pods = [self.pods("web")?, self.pods("store")?].concat();
        Ok(pods.iter().map(|pod| pod["metadata"]["uid"].to_string()).collect())
    }

    /// Whether a pod is ready and answers with this word.
    fn answers(&self, pod: &Value, word: &str) -> bool {
        let address = pod["status"]["podIP"].as_str().unwrap_or_default();
        let found = |address: IpAddr| web::get((address, PORT).into(), "/word");
        is_ready(pod)
            && address
                .parse()
                .is_ok_and(|address| found(address).is_ok_and(|found| found.trim() == word))
    }

    /// Waits until an instance of each group has this word.
    fn wait_until_begun(&self, word: &str) -> Result<()> {
        self.env.wait_until("the first updated instances", || {
            let has = |group: &str| anyhow::Ok(self.pods(group)?.iter().any(|pod| self.answers(pod, word)));
            Ok(has("web")? && has("store")?)
        })
    }

    /// Waits until all instances have this word.
    fn wait_until_reached(&self, word: &str, instances: usize) -> Result<()> {
        let mut most = 0;
        self.env.wait_until(word, || {
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
}

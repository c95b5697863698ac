//! What a change restarts where Jobs render the manifest, counted by the UIDs of pods: groups with and without disks
//! and with `delete-create`, without zones and in three or four zones. `restarts` is the same for the operator.
//!
//! Run by hand with `BOSON_NODE_RESTARTS=1`: beside the other tests, the node has no room for these pods.

use crate::objects::{config_map, is};
use crate::operator::Environment;
use anyhow::{Context, Result};
use boson_tests::cluster::{Cluster, with_node};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// All zones are on the node.
const CLOUD_CONFIG: &str = "azs: [{name: z1, cloud_properties: {zone: here}}, {name: z2, cloud_properties: {zone: here}}, {name: z3, cloud_properties: {zone: here}}, {name: z4, cloud_properties: {zone: here}}]";
const GROUPS: [&str; 5] = ["plain", "disk", "in-place", "zones", "zones-disk"];

#[test]
fn a_change_that_jobs_render_restarts_only_instances_whose_files_or_pods_differ() {
    if std::env::var_os("BOSON_NODE_RESTARTS").is_none() {
        return;
    }
    let Some(cluster) = with_node().unwrap() else { return };
    let table = Table::new(cluster).unwrap();
    let first = Row::default();
    let mut before = table.deployed(&first).unwrap();
    let change = |change: &dyn Fn(&mut Row)| {
        let mut row = first.clone();
        change(&mut row);
        row
    };
    let nothing = BTreeSet::new();
    let all: BTreeSet<String> = before.keys().cloned().collect();
    // In a group that is not updated in place, all instances.
    let of_second = [
        "plain-0",
        "plain-1",
        "disk-1",
        "in-place-1",
        "zones-z0-0",
        "zones-z1-0",
        "zones-z2-0",
        "zones-disk-z1-0",
    ];
    let of_second = of_second.map(str::to_string).into();
    for (what, row, expected) in [
        ("more instances", change(&|row| row.more = true), &nothing),
        ("fewer instances", first.clone(), &nothing),
        ("another zone", change(&|row| row.zones = 4), &nothing),
        ("no last zone", first.clone(), &nothing),
        ("tags", change(&|row| row.manifest = "tags: {team: blue}"), &nothing),
        (
            "update block",
            change(&|row| row.update = "{canaries: 1, max_in_flight: 9}"),
            &nothing,
        ),
        (
            "unused property",
            change(&|row| row.properties = "word: a, unused: x"),
            &nothing,
        ),
        ("comment", change(&|row| row.manifest = "# a comment"), &nothing),
        ("memory", change(&|row| row.memory = 96), &nothing),
        (
            "a file of one instance",
            change(&|row| row.properties = "word: a, second: x"),
            &of_second,
        ),
        (
            "a file of all",
            change(&|row| row.properties = "word: b, second: x"),
            &all,
        ),
    ] {
        let after = table.deployed(&row).unwrap();
        let is_restarted = |(place, uid): &(&String, &String)| after.get(*place).is_some_and(|now| now != *uid);
        let restarted: BTreeSet<String> = before
            .iter()
            .filter(is_restarted)
            .map(|(place, _)| place.clone())
            .collect();
        assert_eq!(restarted, *expected, "{what}");
        before = after;
    }
}

#[derive(Clone)]
struct Row {
    manifest: &'static str,
    update: &'static str,
    properties: &'static str,
    /// MiB of the job's containers.
    memory: u32,
    /// Whether the groups have more instances.
    more: bool,
    /// The number of zones, each with an instance.
    zones: usize,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            manifest: "",
            update: "{max_in_flight: 9}",
            properties: "word: a",
            memory: 64,
            more: false,
            zones: 3,
        }
    }
}

// === impl Row ===

impl Row {
    /// The number of instances of a group.
    fn instances(&self, group: &str) -> usize {
        let first = if group.starts_with("zones") { self.zones } else { 2 };
        first + usize::from(self.more && group != "disk" && group != "zones-disk")
    }

    fn text(&self) -> String {
        let Self {
            manifest,
            update,
            properties,
            memory,
            ..
        } = self;
        let group = |name: &str| {
            let azs = if name.starts_with("zones") {
                let azs: Vec<String> = (1..=self.zones).map(|zone| format!("z{zone}")).collect();
                format!("azs: [{}]", azs.join(", "))
            } else {
                String::new()
            };
            let disk = if name.ends_with("disk") { 10 } else { 0 };
            let update = if name == "in-place" {
                "update: {vm_strategy: delete-create}"
            } else {
                ""
            };
            format!(
                r#"
- name: {name}
  {azs}
  {update}
  instances: {}
  persistent_disk: {disk}
  stemcell: default
  jobs: [{{name: app, release: shop, properties: {{{properties}, quarks: {{ports: [], run: {{memory: {memory}}}}}}}}}]"#,
                self.instances(name)
            )
        };
        format!(
            r#"{manifest}
releases: [{{name: shop, version: "1", url: boson.test}}]
stemcells: [{{alias: default, os: busybox, version: "1"}}]
update: {update}
instance_groups:{}
"#,
            GROUPS.map(group).concat()
        )
    }
}

struct Table {
    env: Environment,
}

// === impl Table ===

impl Table {
    fn new(cluster: &'static Cluster) -> Result<Self> {
        let env = Environment::with_pods(cluster, "table")?;
        env.load("shop", Ok)?;
        cluster.disks(&env.namespace, "disk-pvc-table-disk-v1", 2)?;
        for zone in 0..4 {
            cluster.disks(
                &env.namespace,
                &format!("zones-disk-pvc-table-zones-disk-z{zone}-v1"),
                1,
            )?;
        }
        cluster.kubectl([
            "label",
            "nodes",
            "--all",
            "--overwrite",
            "topology.kubernetes.io/zone=here",
        ])?;
        env.apply(&[config_map("cloud", "cloud-config", CLOUD_CONFIG)])?;
        Ok(Self { env })
    }

    /// Deploys a manifest. The UIDs of the pods by group, zone and number, when all are ready.
    fn deployed(&self, row: &Row) -> Result<BTreeMap<String, String>> {
        let digest = |deployment: &Value| deployment["status"]["inputsDigest"].clone();
        let before = self.env.get("boshdeployment/table").unwrap_or_default();
        let mut deployment = self.env.deployment_of("table", "manifest", &[]);
        deployment["spec"]["cloudConfig"] = json!({"type": "configmap", "name": "cloud"});
        self.env
            .apply(&[config_map("manifest", "manifest", &row.text()), deployment])?;
        let count: usize = GROUPS.iter().map(|group| row.instances(group)).sum();
        let mut pods = BTreeMap::new();
        self.env.wait_until("the manifest", || {
            let now = self.env.get("boshdeployment/table")?;
            if digest(&now) == digest(&before) || !is(&now, "Applied", "True") {
                return Ok(false);
            }
            let sets = self.env.get("quarksstatefulsets")?;
            let sets = sets["items"].as_array().cloned().unwrap_or_default();
            let is_done = |set: &Value| {
                let status = &set["status"];
                status["ready"] == true && status["observedGeneration"] == set["metadata"]["generation"]
            };
            pods = self.pods()?;
            Ok(sets.len() == GROUPS.len() && sets.iter().all(is_done) && pods.len() == count)
        })?;
        Ok(pods)
    }

    fn pods(&self) -> Result<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        for pod in self
            .env
            .list("pods", "quarks.cloudfoundry.org/quarks-statefulset-name")?
        {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            let name = text(&pod["metadata"]["name"]);
            // `table-<group>[-z<zone>]-v<version>-<number>`
            let (set, number) = name.rsplit_once('-').context("a number")?;
            let (place, _) = set.rsplit_once("-v").context("a version")?;
            let place = place.strip_prefix("table-").context("a deployment")?;
            let earlier = found.insert(format!("{place}-{number}"), text(&pod["metadata"]["uid"]));
            if earlier.is_some() {
                // Two versions have this instance.
                return Ok(BTreeMap::new());
            }
        }
        Ok(found)
    }
}

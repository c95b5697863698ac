//! What a change restarts, counted by the UIDs of pods: see docs/operator.md. No pod runs here.

use crate::objects::{OURS, is};
use crate::operator_process::{OperatorProcess, Tenant, small_release_with};
use crate::rollout::{Found, found};
use anyhow::{bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::shared;
use boson_tests::wait_for_value;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// How the instances of a group are updated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    HandedOver,
    WithDisk,
    DeleteCreate,
}

/// An instance group of the release of [`release`].
#[derive(Clone)]
struct Group {
    zones: &'static str,
    instances: u32,
    kind: Kind,
    /// Members of the manifest.
    manifest: &'static str,
    /// Members of the group.
    group: &'static str,
    settings: &'static str,
    /// MiB of the job's containers.
    memory: u32,
    /// Properties of the job `app`.
    properties: &'static str,
}

// === impl Group ===

impl Group {
    fn manifest(&self) -> String {
        let Self {
            zones,
            instances,
            kind,
            manifest,
            group,
            settings,
            memory,
            properties,
        } = self;
        let azs = if zones.is_empty() {
            String::new()
        } else {
            format!("azs: [{zones}]")
        };
        let disk = if *kind == Kind::WithDisk { 10 } else { 0 };
        let update = match kind {
            Kind::DeleteCreate => "update: {vm_strategy: delete-create}",
            Kind::HandedOver | Kind::WithDisk => "",
        };
        format!(
            r#"{manifest}
{update}
releases:
- {{name: demo, version: "1", url: registry.example.com/demo}}
stemcells:
- {{alias: default, os: ubuntu-jammy, version: "1.1"}}
instance_groups:
- name: web
  {azs}
  instances: {instances}
  persistent_disk: {disk}
  stemcell: default
  {group}
  env: {{bosh: {{agent: {{settings: {{{settings}}}}}}}}}
  jobs:
  - name: app
    release: demo
    properties: {{app: {{{properties}}}, quarks: {{run: {{memory: {memory}}}}}}}
"#
        )
    }
}

/// One template is the same for all instances, the other one differs for the instance with index 1. No template uses
/// `app.unused`.
fn release(operator: &OperatorProcess) -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let text = "<%= p('app.port') if spec.index == 1 %>";
    small_release_with(scratch.path(), ["second.erb", "config/second", text]);
    let spec = scratch.path().join("jobs/app/spec");
    let properties = fs::read_to_string(&spec).unwrap();
    let properties = properties.replace("properties:\n", "properties:\n  app.unused: {default: 1}\n");
    fs::write(spec, properties).unwrap();
    let name = "demo:ubuntu-jammy-1.1-1";
    operator.registry.push_release(name, scratch.path()).unwrap();
    scratch
}

/// The instances that `host diff` says this manifest would restart, in the form of [`deployed`].
fn announced(tenant: &Tenant, release: &Path, group: &Group) -> BTreeSet<String> {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("manifest.yml"), group.manifest()).unwrap();
    let release = release.display().to_string();
    let diff = [
        "diff",
        "manifest.yml",
        "--deployment",
        "d",
        "--json",
        "--release",
        &release,
    ];
    let ran = shared().unwrap().host(scratch.path(), &tenant.namespace, &diff);
    let ran = ran.unwrap();
    assert!([0, 2].contains(&ran.code), "{}", ran.stderr);
    let differences: Value = serde_json::from_str(&ran.stdout).unwrap();
    let instances = differences["instances"].as_array().unwrap().iter();
    let zones: Vec<&str> = group.zones.split(", ").collect();
    let place = |one: &Value| {
        let index = usize::try_from(one["index"].as_u64().unwrap()).unwrap();
        let zone = one["az"]
            .as_str()
            .map(|az| zones.iter().position(|zone| *zone == az).unwrap());
        zone.map_or(format!("d-web-{index}"), |zone| {
            format!("d-web-z{zone}-{}", index / zones.len())
        })
    };
    instances.filter(|one| one["action"] == "restart").map(place).collect()
}

/// Waits until a manifest is applied and all pods are ready. Returns their UIDs by the zone and ordinal of the pod.
async fn deployed(tenant: &Tenant, group: &Group) -> Vec<(String, String)> {
    let before = tenant.get(OURS, "BOSHDeployment", "d").await.unwrap_or_default();
    tenant.deploy("d", &group.manifest()).await;
    let observed = |deployment: &Value| deployment["status"]["inputsDigest"].clone();
    let applied = |deployment: &Value| observed(deployment) != observed(&before) && is(deployment, "Applied", "True");
    tenant.wait_for_deployment("d", "the manifest", applied).await;
    wait_for_value("all pods", async || {
        let sets = found(tenant).await;
        let set = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap_or_default();
        let status = &set["status"];
        let is_observed = status["observedGeneration"] == set["metadata"]["generation"];
        let pods = tenant.list("v1", "Pod").await;
        let count = usize::try_from(group.instances).unwrap();
        if is_observed && status["ready"] == true && pods.len() == count {
            let place = |pod: &Value| {
                let name = pod["metadata"]["name"].as_str().unwrap();
                // Without the version.
                let (set, ordinal) = name.rsplit_once('-').unwrap();
                let (set, _) = set.rsplit_once("-v").unwrap();
                format!("{set}-{ordinal}")
            };
            let uid = |pod: &Value| pod["metadata"]["uid"].as_str().unwrap().to_string();
            let mut all: Vec<_> = pods.iter().map(|pod| (place(pod), uid(pod))).collect();
            all.sort();
            return Ok(all);
        }
        bail!("{sets:#?} {set:#}")
    })
    .await
}

/// The instances that both have, and whose pods differ.
fn restarted(before: &[(String, String)], after: &[(String, String)]) -> BTreeSet<String> {
    let other = |(place, uid): &&(String, String)| after.iter().any(|(same, new)| same == place && new != uid);
    before.iter().filter(other).map(|(place, _)| place.clone()).collect()
}

/// Deploys groups, one after the other. `before`: the pods of the one before.
async fn each_restarts(
    tenant: &Tenant,
    release: &Path,
    before: &mut Vec<(String, String)>,
    changes: impl IntoIterator<Item = (&'static str, Group, BTreeSet<String>)>,
) {
    for (what, group, expected) in changes {
        let announced = announced(tenant, release, &group);
        let after = deployed(tenant, &group).await;
        let restarted = restarted(before, &after);
        let Group { zones, kind, .. } = group;
        assert_eq!(
            (&restarted, &announced),
            (&expected, &expected),
            "{what}, {zones}, {kind:?}"
        );
        let limit = format!("{}Mi", group.memory);
        for pod in tenant.list("v1", "Pod").await {
            let mut containers = pod["spec"]["containers"].as_array().into_iter().flatten();
            let has_limit = containers.any(|one| one["resources"]["limits"]["memory"] == limit);
            assert!(has_limit, "{what}, {zones}, {kind:?}: {pod:#}");
        }
        *before = after;
    }
}

/// Zones that are added and removed at the end, in a group in three zones.
fn other_zones(first: &Group) -> [(&'static str, Group, BTreeSet<String>); 4] {
    let group = |zones, instances| Group {
        zones,
        instances,
        ..first.clone()
    };
    let (three, four) = (first.zones, "z1, z2, z3, z4");
    let moved: &[&str] = match first.kind {
        Kind::WithDisk | Kind::DeleteCreate => &["d-web-z0-1", "d-web-z1-1"],
        // All instances that stay.
        Kind::HandedOver => &["d-web-z0-0", "d-web-z0-1", "d-web-z1-0", "d-web-z1-1", "d-web-z2-0"],
    };
    let moved = moved.iter().map(ToString::to_string).collect();
    [
        ("another zone", group(four, 4), BTreeSet::new()),
        ("more instances in four zones", group(four, 6), BTreeSet::new()),
        ("other indexes", group(three, 6), moved),
        ("fewer instances in three zones", group(three, 3), BTreeSet::new()),
    ]
}

/// `second`: the pod of the instance with index 1.
async fn each_change(tenant: &Tenant, release: &Path, zones: &'static str, kind: Kind, second: &str) {
    let first = Group {
        zones,
        instances: 3,
        kind,
        manifest: "",
        group: "",
        settings: "",
        memory: 64,
        properties: "domain: a",
    };
    let with = |change: &dyn Fn(&mut Group)| {
        let mut group = first.clone();
        change(&mut group);
        group
    };
    let nothing = [
        ("more instances", with(&|group| group.instances = 6)),
        ("fewer instances", with(&|group| group.instances = 3)),
        ("tags", with(&|group| group.manifest = "tags: {team: blue}")),
        ("labels", with(&|group| group.settings = "labels: {tier: web}")),
        (
            "update block",
            with(&|group| group.group = "update: {max_in_flight: 7, canaries: 2}"),
        ),
        (
            "unused property",
            with(&|group| group.properties = "domain: a, unused: 2"),
        ),
        ("comment", with(&|group| group.manifest = "# a comment")),
        // The cluster resizes pods.
        ("memory", with(&|group| group.memory = 96)),
        ("less memory", first.clone()),
    ];
    let mut before = deployed(tenant, &first).await;
    let nothing = nothing.map(|(what, group)| (what, group, BTreeSet::new()));
    each_restarts(tenant, release, &mut before, nothing).await;
    if !zones.is_empty() {
        each_restarts(tenant, release, &mut before, other_zones(&first)).await;
    }
    let all: BTreeSet<String> = before.iter().map(|(place, _)| place.clone()).collect();
    let one = BTreeSet::from([second.to_string()]);
    let of_second = if kind == Kind::HandedOver { all.clone() } else { one };
    let some = [
        (
            "a file of one instance",
            with(&|group| group.properties = "domain: a, port: 1"),
            of_second,
        ),
        (
            "a file of all",
            with(&|group| group.properties = "domain: b, port: 1"),
            all.clone(),
        ),
        (
            "the pod",
            with(&|group| {
                group.properties = "domain: b, port: 1";
                group.settings = "tolerations: [{key: a, operator: Exists}]";
            }),
            all,
        ),
    ];
    each_restarts(tenant, release, &mut before, some).await;
    let set = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap();
    let is_first = set["status"]["version"] == 1;
    assert_eq!(is_first, kind != Kind::HandedOver, "{set:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_restarts_only_instances_whose_files_or_pods_differ() {
    let operator = OperatorProcess::set("restarts", false, &[]).await;
    let release = release(&operator);
    let release = release.path();
    let cases = [
        ("one", "", Kind::HandedOver, "d-web-1"),
        ("one-disk", "", Kind::WithDisk, "d-web-1"),
        ("one-in-place", "", Kind::DeleteCreate, "d-web-1"),
        ("zones", "z1, z2, z3", Kind::HandedOver, "d-web-z1-0"),
        ("zones-disk", "z1, z2, z3", Kind::WithDisk, "d-web-z1-0"),
        ("zones-in-place", "z1, z2, z3", Kind::DeleteCreate, "d-web-z1-0"),
    ];
    let cases = cases.map(|(name, zones, kind, second)| {
        let tenant = operator.tenant(name);
        async move { each_change(&tenant, release, zones, kind, second).await }
    });
    futures::future::join_all(cases).await;
}

/// Two groups with the same job, updated one after the other. `db`: a toleration of the first one's pods.
fn in_order(db: &str, domain: &str) -> String {
    let group = |name: &str, toleration: &str| {
        format!(
            r#"
- name: {name}
  instances: 1
  stemcell: default
  env: {{bosh: {{agent: {{settings: {{tolerations: [{{key: {toleration}, operator: Exists}}]}}}}}}}}
  jobs: [{{name: app, release: demo, properties: {{app: {{domain: {domain}}}}}}}]"#
        )
    };
    format!(
        r#"
releases:
- {{name: demo, version: "1", url: registry.example.com/demo}}
stemcells:
- {{alias: default, os: ubuntu-jammy, version: "1.1"}}
update: {{serial: true, canaries: 1, max_in_flight: 1, canary_watch_time: 0-1500, update_watch_time: 0-1500}}
instance_groups: {}{}"#,
        group("db", db),
        group("web", "any")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serial_group_is_updated_when_the_group_before_it_is_done() {
    let operator = OperatorProcess::set("serial", false, &[]).await;
    let tenant = operator.tenant("order");
    let deploy = async |db: &str, domain: &str| {
        let manifest = in_order(db, domain);
        tenant.deploy("d", &manifest).await;
    };
    let wait_for_groups = async |what: &str, holds: &dyn Fn(&Found, &[Value; 2]) -> bool| {
        wait_for_value(what, async || {
            let status = async |name: &str| {
                let set = tenant.get(OURS, "QuarksStatefulSet", name).await.unwrap_or_default();
                set["status"].clone()
            };
            let both = [status("d-db").await, status("d-web").await];
            let pods = found(&tenant).await;
            let is_met = holds(&pods, &both);
            ensure!(is_met, "{pods:#?} {both:#?}");
            Ok(pods)
        })
        .await
    };
    let are_ready = |sets: [&'static str; 2]| {
        move |pods: &Found, both: &[Value; 2]| pods.keys().eq(sets) && both.iter().all(|status| status["ready"] == true)
    };
    deploy("any", "a").await;
    let first = wait_for_groups("both groups", &are_ready(["d-db-v1", "d-web-v1"])).await;
    deploy("broken", "b").await;
    let waiting = wait_for_groups("the group that waits", &|pods, both| {
        let message = both[1]["conditions"][0]["message"].as_str().unwrap_or_default();
        pods.get("d-db-v2").is_some_and(|pods| pods.len() == 1) && message.ends_with("after 'd-db'")
    })
    .await;
    assert_eq!(waiting["d-web-v1"], first["d-web-v1"]);
    assert!(waiting.get("d-web-v2").is_none_or(Vec::is_empty), "{waiting:#?}");
    deploy("any", "b").await;
    let last = wait_for_groups("both groups", &are_ready(["d-db-v3", "d-web-v2"])).await;
    assert!(last.values().all(|pods| pods.len() == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_deployment_restarts_nothing_until_it_is_resumed() {
    let operator = OperatorProcess::set("paused", false, &[]).await;
    release(&operator);
    let kinds = [
        ("version", Kind::HandedOver),
        ("with-disk", Kind::WithDisk),
        ("in-place", Kind::DeleteCreate),
    ];
    let cases = kinds.map(|(name, kind)| {
        let tenant = operator.tenant(name);
        async move { pause_and_resume(&tenant, kind).await }
    });
    futures::future::join_all(cases).await;
}

/// Waits until the rollout has this reason and number of updated pods; returns the pods.
async fn wait_for_pods(tenant: &Tenant, reason: &str, updated: i64) -> Vec<String> {
    wait_for_value(reason, async || {
        let status = async |kind: &str, name: &str| {
            let object = tenant.get(OURS, kind, name).await.unwrap_or_default();
            object["status"].clone()
        };
        let (deployment, set) = (
            status("BOSHDeployment", "d").await,
            status("QuarksStatefulSet", "d-web").await,
        );
        // The pods of this status or a later one.
        let pods = found(tenant).await;
        let mut conditions = deployment["conditions"].as_array().into_iter().flatten();
        let progressing = conditions.find(|one| one["type"] == "Progressing");
        let is_reported = progressing.is_some_and(|one| one["reason"] == reason);
        if is_reported && set["updatedReplicas"] == updated && set["readyReplicas"] == 2 {
            let mut pods: Vec<String> = pods.into_values().flatten().collect();
            pods.sort();
            return Ok(pods);
        }
        bail!("{deployment:#} {set:#}")
    })
    .await
}

async fn pause_and_resume(tenant: &Tenant, kind: Kind) {
    let group = |properties| Group {
        zones: "",
        instances: 2,
        kind,
        manifest: "",
        group: "update: {canaries: 1, max_in_flight: 1, canary_watch_time: 0-9000, update_watch_time: 0-9000}",
        settings: "",
        memory: 64,
        properties,
    };
    let pause = async |paused: bool| {
        let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
        let api = tenant.api(OURS, "BOSHDeployment");
        api.patch("d", &PatchParams::default(), &patch).await.unwrap();
    };
    deployed(tenant, &group("domain: a")).await;
    let first = wait_for_pods(tenant, "RolledOut", 2).await;
    pause(true).await;
    let changed = group("domain: b").manifest();
    tenant.apply_manifest("d", &changed).await;
    assert_eq!(wait_for_pods(tenant, "Paused", 0).await, first, "{kind:?}");
    let stored = async |key: &str| {
        let secret = tenant.get("v1", "Secret", "d.with-ops").await.unwrap_or_default();
        let text = secret["data"][key].as_str().map(|text| STANDARD.decode(text).unwrap());
        text.map(|text| String::from_utf8(text).unwrap())
    };
    let changes = stored("changes").await.unwrap();
    assert!(
        changes.contains("-         domain: \"<redacted>\"\n+         domain: \"<redacted>\"\n"),
        "{changes}"
    );
    let before = stored("manifest-before-pause.yaml").await.unwrap();
    assert!(
        before.contains("domain: a") && !before.contains("domain: b"),
        "{before}"
    );
    pause(false).await;
    let last = wait_for_pods(tenant, "RolledOut", 2).await;
    assert_eq!(
        (stored("changes").await, stored("manifest-before-pause.yaml").await),
        (None, None)
    );
    assert!(
        last.len() == 2 && last.iter().all(|uid| !first.contains(uid)),
        "{kind:?}"
    );
}

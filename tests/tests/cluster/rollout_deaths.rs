//! Changes of an instance group, with the operator dying at each write: before the request is sent, or after it
//! succeeded but before the answer arrived. No pod runs here.

use crate::connection::{Connection, Death};
use crate::objects::OURS;
use crate::operator_process::Tenant;
use crate::operator_tasks::OperatorTasks;
use crate::rollout::work_as_kubelets;
use anyhow::ensure;
use boson_tests::{WAIT_TIMEOUT, wait_for_value};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const INSTANCES: usize = 2;
/// Between two looks at the pods.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A group of which one instance is updated at a time.
struct Group {
    env: OperatorTasks,
    tenant: Tenant,
    with_disks: bool,
}

// === impl Group ===

impl Group {
    async fn set(name: &str, with_disks: bool) -> Self {
        let env = OperatorTasks::set(name).await;
        let tenant = Tenant::of(env.client.clone(), &env.namespace);
        Self {
            env,
            tenant,
            with_disks,
        }
    }

    async fn write(&self, tier: &str) {
        let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
            "resources": {"requests": {"storage": "1Mi"}}}});
        let claims = if self.with_disks { vec![claim] } else { Vec::new() };
        let annotations =
            json!({"quarks.cloudfoundry.org/canaries": "1", "quarks.cloudfoundry.org/max-in-flight": "1"});
        let pods = json!({"metadata": {"labels": {"tier": tier}}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
        let template = json!({"metadata": {"annotations": annotations},
            "spec": {"replicas": INSTANCES, "template": pods, "volumeClaimTemplates": claims}});
        let set = json!({"apiVersion": OURS, "kind": "QuarksStatefulSet", "metadata": {"name": "g"}, "spec": {"template": template}});
        self.tenant.apply(set).await;
    }

    /// Works as kubelets do until all instances are of this tier, or until the connection is cut. Each instance must
    /// get one pod of the tier, and only one instance may be away at a time.
    async fn follow(&self, tier: &str, seen: &mut BTreeSet<String>, first: Option<&Connection>) {
        let began = Instant::now();
        loop {
            let group = self.tenant.get(OURS, "QuarksStatefulSet", "g").await.unwrap();
            let pods = self.tenant.list("v1", "Pod").await;
            let is_ready = |pod: &&Value| {
                let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
                pod["metadata"]["deletionTimestamp"].is_null()
                    && conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
            };
            let is_new = |pod: &&Value| pod["metadata"]["labels"]["tier"] == tier;
            let uid = |pod: &Value| pod["metadata"]["uid"].as_str().unwrap().to_string();
            seen.extend(pods.iter().filter(is_new).map(uid));
            let away = usize::from(self.with_disks);
            let ready = pods.iter().filter(is_ready).count();
            assert!(ready >= INSTANCES - away, "{tier}: too few are ready: {pods:#?}");
            let is_whole = pods.len() == INSTANCES && pods.iter().all(|pod| is_new(&pod) && is_ready(&pod));
            let status = &group["status"];
            let is_done = status["ready"] == true && status["observedGeneration"] == group["metadata"]["generation"];
            if is_whole && is_done || first.is_some_and(Connection::is_cut) {
                return;
            }
            work_as_kubelets(&self.tenant, &pods).await;
            assert!(
                began.elapsed() < WAIT_TIMEOUT,
                "{tier} does not come: {status:#} {pods:#?}"
            );
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Changes the group with an operator that ends as given, and one after it. Returns the number of writes of the
    /// first one.
    async fn two_lives(&self, tier: &str, death: Death) -> usize {
        let first = Connection::default();
        let client = first.client(self.env.client.clone(), death);
        let operator = self.env.operator_through(client, &format!("{tier}-first"));
        let mut seen = BTreeSet::new();
        self.write(tier).await;
        self.follow(tier, &mut seen, Some(&first)).await;
        operator.kill().await;
        let second = Connection::default().client(self.env.client.clone(), Death::Never);
        let operator = self.env.operator_through(second, &format!("{tier}-second"));
        self.follow(tier, &mut seen, None).await;
        operator.stop().await;
        assert_eq!(seen.len(), INSTANCES, "{death:?}: each instance gets one pod");
        first.writes.load(Ordering::SeqCst)
    }
}

/// Returns how many writes there are.
async fn die_at_each_write(name: &str, with_disks: bool) -> usize {
    let group = Group::set(name, with_disks).await;
    let operator = group.env.operator("begin");
    group.write("begin").await;
    wait_for_value("a ready group", async || {
        let pods = group.tenant.list("v1", "Pod").await;
        work_as_kubelets(&group.tenant, &pods).await;
        let set = group.tenant.get(OURS, "QuarksStatefulSet", "g").await.unwrap();
        ensure!(set["status"]["ready"] == true, "{set:#}");
        Ok(())
    })
    .await;
    operator.stop().await;
    let count = group.two_lives("whole", Death::Never).await;
    assert!(count >= 2 * INSTANCES, "{count}");
    for (nth, death) in Death::at_writes(count).into_iter().enumerate() {
        group.two_lives(&format!("death-{nth}"), death).await;
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_write_of_a_rollout_in_place_restarts_each_instance_once() {
    let count = die_at_each_write("rollout-deaths-disks", true).await;
    println!("{count} writes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_write_of_a_version_that_takes_over_loses_no_instance() {
    let count = die_at_each_write("rollout-deaths", false).await;
    println!("{count} writes");
}

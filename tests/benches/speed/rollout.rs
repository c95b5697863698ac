//! Rows about a rollout: the time that the operator adds to that of the pods, and its requests.

use crate::measure::Sample;
use crate::site::Site;
use crate::table::Row;
use anyhow::{Result, ensure};
use boson_api::QuarksStatefulSet;
use boson_cluster::pods::is_ready;
use boson_controllers::decide;
use boson_manifest::labels;
use boson_tests::WAIT_TIMEOUT;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use std::pin::pin;
use std::time::Instant;
use tokio::runtime::Runtime;

/// Updated one after the other.
const INSTANCES: u32 = 10;
/// Decided one after the other.
const DECIDED_GROUPS: usize = 200;
const DECISIONS: usize = 20;

pub fn rollout() -> Result<Vec<Row>> {
    let mut site = Site::new("bench-rollout")?;
    site.start()?;
    let runtime = Runtime::new()?;
    let client = runtime.block_on(site.client())?;
    let kubelet = runtime.spawn(make_ready(client, site.namespace().to_string()));
    let mut rows = Vec::new();
    for (name, what) in [("in-place", "in place"), ("handed-over", "with handover")] {
        let has_disks = name == "in-place";
        deploy(&site, &group(name, "one", has_disks))?;
        let (before, began) = (site.requests()?, Instant::now());
        deploy(&site, &group(name, "two", has_disks))?;
        let seconds = began.elapsed().as_secs_f64();
        let instances = f64::from(INSTANCES);
        let (mut requests, mut parts) = (0.0, Vec::new());
        for (request, count) in site.requests()? {
            let count = count - before.get(&request).copied().unwrap_or(0);
            let each = count as f64 / instances;
            // What this program reports of pods.
            if count > 0 && request != "patch pods/status" {
                requests += each;
                parts.push(format!("{request} {each:.1}"));
            }
        }
        let details = format!("{INSTANCES} instances, pods are ready at once; {seconds:.1} s in all");
        rows.push(Row::below(
            &format!("operator: an instance of a rollout {what}"),
            seconds / instances,
            1.0,
            "s",
            &details,
        ));
        rows.push(Row::below(
            "operator: requests for it",
            requests,
            6.0,
            "",
            &format!("without watches and leases: {}", parts.join(", ")),
        ));
    }
    kubelet.abort();
    Ok(rows)
}

/// The decisions of a change of many groups in all of which an instance is to be replaced.
pub fn decision() -> Result<Vec<Row>> {
    // As a conversion makes it.
    let set = |nth: usize, revision: &str| -> Result<QuarksStatefulSet> {
        let mut set = group(&format!("group-{nth}"), "one", true);
        set["metadata"]["namespace"] = "bench".into();
        set["metadata"]["uid"] = format!("uid-{nth}").into();
        let revisions = json!({"": vec![revision; INSTANCES as usize]}).to_string();
        set["spec"]["template"]["spec"]["template"]["metadata"]["annotations"] =
            json!({labels::INSTANCE_REVISIONS: revisions});
        Ok(serde_json::from_value(set)?)
    };
    let mut groups = Vec::new();
    for nth in 0..DECIDED_GROUPS {
        let mut live = decide(&set(nth, "one")?, Vec::new(), Vec::new())?.apply;
        let mut pods = Vec::new();
        for object in &mut live {
            object["metadata"]["generation"] = 1.into();
            object["status"] = json!({"observedGeneration": 1, "replicas": INSTANCES, "readyReplicas": INSTANCES,
                "updatedReplicas": INSTANCES, "currentRevision": "one", "updateRevision": "one"});
            for ordinal in 0..INSTANCES {
                pods.push(serde_json::from_value::<Pod>(ready_pod(object, ordinal))?);
            }
        }
        groups.push((set(nth, "two")?, live, pods));
    }
    let mut decided = Vec::new();
    for _ in 0..DECISIONS {
        let groups = groups.clone();
        let began = Instant::now();
        for (set, live, pods) in groups {
            let decision = decide(&set, live, pods)?;
            ensure!(decision.apply.len() == 1, "the canary is not begun: {decision:?}");
        }
        decided.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let details = format!("median of {DECISIONS}; {INSTANCES} instances each, of which one is replaced");
    Ok(vec![Row::below(
        "operator: rollout decisions of 200 groups",
        Sample::of(decided).median(),
        20.0,
        "ms",
        &details,
    )])
}

/// A pod that was made from this StatefulSet.
fn ready_pod(set: &Value, ordinal: u32) -> Value {
    let name = set["metadata"]["name"].as_str().unwrap_or_default();
    let mut pod = set["spec"]["template"].clone();
    let metadata = &mut pod["metadata"];
    metadata["name"] = format!("{name}-{ordinal}").into();
    metadata["namespace"] = "bench".into();
    metadata["creationTimestamp"] = Timestamp::UNIX_EPOCH.to_string().into();
    metadata["labels"]["controller-revision-hash"] = "one".into();
    pod["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    pod
}

fn group(name: &str, tier: &str, has_disks: bool) -> Value {
    let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
        "resources": {"requests": {"storage": "1Mi"}}}});
    let claims = if has_disks { vec![claim] } else { Vec::new() };
    let container = json!({"name": "c", "image": "example.com/c:1"});
    let pods = json!({"metadata": {"labels": {"tier": tier}}, "spec": {"containers": [container]}});
    let annotations = json!({"quarks.cloudfoundry.org/canaries": "1", "quarks.cloudfoundry.org/max-in-flight": "1"});
    let template = json!({"metadata": {"annotations": annotations},
        "spec": {"replicas": INSTANCES, "template": pods, "volumeClaimTemplates": claims}});
    json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet",
        "metadata": {"name": name}, "spec": {"template": template}})
}

/// Applies a group and waits until it is rolled out.
fn deploy(site: &Site, group: &Value) -> Result<()> {
    site.apply(std::slice::from_ref(group))?;
    let what = format!(
        "quarksstatefulset/{}",
        group["metadata"]["name"].as_str().unwrap_or_default()
    );
    site.wait_until("the rollout", WAIT_TIMEOUT, |site| {
        let now: Value = serde_json::from_str(&site.kubectl(&["get", &what, "--output=json"])?)?;
        let is_observed = now["status"]["observedGeneration"] == now["metadata"]["generation"];
        Ok(is_observed && now["status"]["ready"] == true)
    })
}

/// Reports each pod as ready at once, as a kubelet would.
pub async fn make_ready(client: Client, namespace: String) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client, &namespace);
    let mut changed = pin!(watcher(pods.clone(), watcher::Config::default()).applied_objects());
    while let Some(pod) = changed.next().await {
        let pod = pod?;
        if is_ready(&pod) {
            continue;
        }
        let running = json!({"running": {"startedAt": pod.metadata.creation_timestamp}});
        let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
            {"name": "c", "image": "i", "imageID": "", "ready": true, "restartCount": 0, "state": running}]});
        let patch = Patch::Merge(json!({ "status": status }));
        // It may be deleted by now.
        let _: Result<Pod, _> = pods
            .patch_status(&pod.name_any(), &PatchParams::default(), &patch)
            .await;
    }
    Ok(())
}

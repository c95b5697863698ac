//! What operators of a platform do after a deploy: look at events, check, cancel, and move disks. No pod runs here.

use crate::instance_states::{wait_until_settled, write};
use crate::kubelet::Kubelet;
use crate::objects::OURS;
use crate::operator_process::{OperatorProcess, Tenant};
use crate::reader::Reader;
use crate::small_deployment::Small;
use anyhow::ensure;
use boson_tests::cluster::shared;
use boson_tests::{Ran, wait_for_value};
use serde_json::{Value, json};
use tokio::task::block_in_place;

const USER: &str = "--verb=get,list,create,patch,delete --resource=pods,services,configmaps,persistentvolumeclaims,secrets,\
    statefulsets.apps,boshdeployments.quarks.cloudfoundry.org,quarksstatefulsets.quarks.cloudfoundry.org,\
    quarksjobs.quarks.cloudfoundry.org";

fn run(user: &Reader<'_>, arguments: &[&str]) -> Ran {
    block_in_place(|| user.run(arguments))
}

fn done(user: &Reader<'_>, arguments: &[&str]) -> Ran {
    let ran = run(user, arguments);
    assert_eq!(ran.code, 0, "{arguments:?} {}", ran.stderr);
    ran
}

fn refused(user: &Reader<'_>, arguments: &[&str], why: &str) {
    let ran = run(user, arguments);
    assert!(ran.code == 1 && ran.stderr.contains(why), "{}", ran.stderr);
}

/// The rows of the table of a command.
fn rows(user: &Reader<'_>, arguments: &[&str]) -> Vec<Value> {
    let printed: Value = serde_json::from_str(&done(user, &[arguments, &["--json"]].concat()).stdout).unwrap();
    printed["Tables"][0]["Rows"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_say_who_changed_what_and_which_instances_restarted() {
    let operator = OperatorProcess::set("events", false, &[]).await;
    let tenant = operator.tenant("d");
    let _kubelet = Kubelet::of(tenant.pods());
    write(&tenant, 2, "example.com").await;
    tenant.deployment("d", &[]).await;
    wait_until_settled(&tenant, "the deployment", |pods| pods.len() == 2).await;
    let user = Reader::new(&tenant, "user", USER);
    done(&user, &["restart", "web/1", "-d", "d", "--yes"]);
    let found = wait_for_value("the events", async || {
        let rows = rows(&user, &["events", "-d", "d"]);
        let is_end = |row: &Value| row["context"] == "version: 1, the rollout has ended";
        let restarted = |row: &Value| row["instance"] == "web/1" && row["action"] == "restart";
        ensure!(rows.iter().any(restarted) && is_end(&rows[0]), "{rows:#?}");
        Ok(rows)
    })
    .await;
    let account = format!("system:serviceaccount:{}:user", tenant.namespace);
    let by_user = rows(&user, &["events", "--event-user", &account]);
    assert_eq!(by_user[0]["object_type"], "deployment", "{found:#?}");
    let of_instance = rows(&user, &["events", "--instance", "web/1"]);
    assert_eq!(of_instance.len(), 1, "{of_instance:#?}");
    let id = of_instance[0]["id"].as_str().unwrap();
    assert!(rows(&user, &["events", "--before-id", id]).len() < found.len());
    assert_eq!(rows(&user, &["events", "-d", "other"]).len(), 0);
    // One page, however often it was written.
    let pages = tenant.list("v1", "ConfigMap").await;
    let is_page = |one: &&Value| one["metadata"]["labels"]["quarks.cloudfoundry.org/events-page"].is_string();
    assert_eq!(pages.iter().filter(is_page).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_rollout_begins_no_update_until_it_is_resumed() {
    let operator = OperatorProcess::set("cancel", false, &[]).await;
    let tenant = operator.tenant("d");
    let kubelet = Kubelet::of(tenant.pods());
    write(&tenant, 3, "example.com").await;
    tenant.deployment("d", &[]).await;
    wait_until_settled(&tenant, "the deployment", |pods| pods.len() == 3).await;
    let user = Reader::new(&tenant, "user", USER);
    refused(&user, &["cancel", "-d", "d"], "no rollout in progress");
    // The canary does not become ready.
    drop(kubelet);
    write(&tenant, 3, "example.org").await;
    tenant.wait_for_reason("d", "Progressing", "Updating").await;
    // Neither does a pause wait for a conversion, nor does an error in the manifest prevent it.
    tenant.apply_manifest("d", "name: d\ninstance_groups: 7\n").await;
    done(&user, &["cancel", "-d", "d"]);
    // Until the group has the pause, it continues as soon as the canary is ready.
    let group = [OURS, "QuarksStatefulSet", "d-web"];
    tenant
        .wait_for_object("the pause of the group", group, |group| group["spec"]["paused"] == true)
        .await;
    write(&tenant, 3, "example.org").await;
    let _kubelet = Kubelet::of(tenant.pods());
    tenant.wait_for_reason("d", "Progressing", "Paused").await;
    done(&user, &["resume", "-d", "d"]);
    wait_until_settled(&tenant, "the rest", |pods| pods.len() == 3).await;
    let deployment = tenant.get(OURS, "BOSHDeployment", "d").await.unwrap();
    assert!(deployment["metadata"]["annotations"]["quarks.cloudfoundry.org/cancelled"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_are_reported_and_resolved() {
    let operator = OperatorProcess::set("cck", false, &[]).await;
    let tenant = operator.tenant("d");
    let _kubelet = Kubelet::of(tenant.pods());
    write(&tenant, 1, "example.com").await;
    tenant.deployment("d", &[]).await;
    wait_until_settled(&tenant, "the deployment", |pods| pods.len() == 1).await;
    let user = Reader::new(&tenant, "user", USER);
    assert_eq!(rows(&user, &["cck", "-d", "d", "--report"]), [Value::Null; 0]);

    let namespace = tenant.namespace.as_str();
    let patch = r#"{"spec": {"minReadySeconds": 1}}"#;
    let words = [
        "patch",
        "statefulset",
        "d-web-v1",
        "--type=merge",
        "--patch",
        patch,
        "--namespace",
        namespace,
    ];
    shared().unwrap().kubectl(words).unwrap();
    let report = run(&user, &["cloud-check", "-d", "d", "--report"]);
    assert!(
        report.code == 1 && report.stderr.contains("1 problem(s) found"),
        "{}",
        report.stderr
    );
    assert!(report.stdout.contains("changed_object"), "{}", report.stdout);
    done(&user, &["cloud-check", "-d", "d", "--auto", "--yes"]);
    done(
        &user,
        &["cloud-check", "-d", "d", "--resolution", "remove_changes", "--yes"],
    );
    let set = tenant.get("apps/v1", "StatefulSet", "d-web-v1").await.unwrap();
    assert!(set["spec"]["minReadySeconds"].is_null(), "{set:#}");
    let recorded = rows(&user, &["events", "--action", "remove_changes"]);
    assert_eq!(recorded.len(), 1, "{recorded:#?}");
}

/// A volume that a claim without a storage class can have.
async fn volume(tenant: &Tenant, name: &str) -> String {
    let name = format!("{}-{name}", tenant.namespace);
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"],
            // Of its own: claims of other tests must not take the volume.
            "storageClassName": tenant.namespace,
            "persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": format!("/tmp/{name}")}},
    });
    shared().unwrap().apply("", &[volume]).unwrap();
    name
}

/// The volume of a claim.
async fn volume_of(tenant: &Tenant, claim: &str) -> String {
    let claim = tenant.get("v1", "PersistentVolumeClaim", claim).await;
    let claim = claim.unwrap_or_default();
    claim["spec"]["volumeName"].as_str().unwrap_or_default().to_string()
}

/// May also read and change volumes.
fn user_of_volumes(tenant: &Tenant) -> Reader<'_> {
    let user = Reader::new(tenant, "user", USER);
    let namespace = tenant.namespace.as_str();
    let role = format!("{namespace}-volumes");
    let within = |words: &str| shared().unwrap().kubectl(words.split(' ')).unwrap();
    within(&format!(
        "create clusterrole {role} --verb=get,patch --resource=persistentvolumes"
    ));
    within(&format!(
        "create clusterrolebinding {role} --clusterrole={role} --serviceaccount={namespace}:user"
    ));
    user
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_instance_gets_another_disk_and_the_one_before_is_kept() {
    const CLAIM: &str = "web-pvc-d-web-v1-0";
    let operator = OperatorProcess::set("disks", false, &[]).await;
    let tenant = operator.tenant("d");
    let _kubelet = Kubelet::of(tenant.pods());
    let first = volume(&tenant, "first").await;
    let group = format!("persistent_disk: 1024\n  persistent_disk_type: {}", tenant.namespace);
    let small = Small {
        group: &group,
        ..Small::default()
    };
    tenant.deploy("d", &small.manifest()).await;
    wait_until_settled(&tenant, "the deployment", |pods| pods.len() == 1).await;
    let user = user_of_volumes(&tenant);
    let bound = volume_of(&tenant, CLAIM).await;
    assert_eq!(bound, first, "a class by default would make another volume");
    let second = volume(&tenant, "second").await;
    let attach = ["attach-disk", "web/0", &second, "-d", "d"];
    refused(&user, &attach, "must be stopped");
    refused(&user, &["delete-disk", CLAIM, "--yes"], "is not orphaned");

    done(&user, &["stop", "web", "-d", "d", "--yes"]);
    done(&user, &attach);
    assert_eq!(volume_of(&tenant, CLAIM).await, second);
    let orphans = rows(&user, &["disks", "--orphaned"]);
    assert_eq!(
        (orphans.len(), &orphans[0]["instance"]),
        (1, &json!("web/0")),
        "{orphans:#?}"
    );
    let orphan = orphans[0]["disk_cid"].as_str().unwrap().to_string();
    assert_eq!(volume_of(&tenant, &orphan).await, first);
    for name in [&first, &second] {
        let volume = shared().unwrap().get("", &format!("persistentvolume/{name}")).unwrap();
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    }

    // And back.
    done(
        &user,
        &["attach-disk", "web/0", &orphan, "-d", "d", "--disk-properties=copy"],
    );
    assert_eq!(volume_of(&tenant, CLAIM).await, first);
    done(&user, &["start", "web", "-d", "d", "--yes"]);
    an_orphaned_disk_is_deleted(&user).await;
}

async fn an_orphaned_disk_is_deleted(user: &Reader<'_>) {
    let orphans = rows(user, &["disks", "--orphaned"]);
    assert_eq!(orphans.len(), 1, "{orphans:#?}");
    done(
        user,
        &["delete-disk", orphans[0]["disk_cid"].as_str().unwrap(), "--yes"],
    );
    // Kubernetes removes a claim once it has seen that no pod uses it.
    wait_for_value("the end of the claim", async || {
        let orphans = rows(user, &["disks", "--orphaned"]);
        ensure!(orphans.is_empty(), "{orphans:#?}");
        Ok(())
    })
    .await;
    let recorded: Vec<Value> = rows(user, &["events", "--object-type", "disk"]);
    let actions: Vec<&str> = recorded.iter().filter_map(|row| row["action"].as_str()).collect();
    assert_eq!(actions, ["delete", "attach", "attach"]);
}

//! Generated values of deleted deployments: a deployment with claims retains them, whether or not an operator runs, and
//! gets them back when it is recreated.

use crate::connection::{Connection, Death};
use crate::objects::{OURS, is};
use crate::operator_process::{OperatorProcess, Tenant};
use crate::operator_tasks::OperatorTasks;
use crate::small_deployment::Small;
use anyhow::ensure;
use boson_api::QuarksSecret;
use boson_tests::{is_quiet, wait_for_value, wait_until};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const DISK: &str = "persistent_disk: 1024";
/// One of each type, and a CA with a certificate that it signs.
const VARIABLES: &str = "
- {name: word, type: password}
- {name: user, type: user}
- {name: key, type: rsa}
- {name: shell, type: ssh}
- {name: ca, type: certificate, options: {is_ca: true, common_name: ca}}
- {name: leaf, type: certificate, options: {ca: ca, common_name: leaf}}";
const NAMES: [&str; 6] = [
    "d.var-ca",
    "d.var-key",
    "d.var-leaf",
    "d.var-shell",
    "d.var-user",
    "d.var-word",
];

fn manifest(disk: &str, variables: &str) -> String {
    let small = Small {
        variables,
        group: disk,
        ..Small::default()
    };
    small.manifest()
}

/// The generated Secrets, by name.
async fn secrets(tenant: &Tenant) -> BTreeMap<String, Value> {
    let all = tenant.list("v1", "Secret").await.into_iter();
    let named = all.map(|secret| (secret["metadata"]["name"].as_str().unwrap().to_string(), secret));
    named.filter(|(name, _)| name.starts_with("d.var-")).collect()
}

async fn values(tenant: &Tenant) -> BTreeMap<String, Value> {
    let all = secrets(tenant).await.into_iter();
    all.map(|(name, secret)| (name, secret["data"].clone())).collect()
}

fn is_owned(secret: &Value) -> bool {
    secret["metadata"]["ownerReferences"]
        .as_array()
        .is_some_and(|owners| !owners.is_empty())
}

/// With all that Kubernetes deletes with it.
async fn delete(tenant: &Tenant) {
    tenant.delete(OURS, "BOSHDeployment", "d").await;
    wait_until("the end of the QuarksSecrets", async || {
        tenant.list(OURS, "QuarksSecret").await.is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_a_deployment_with_claims_are_reused_when_it_is_recreated_until_they_are_pruned() {
    let mut operator = OperatorProcess::set("retained", false, &[]).await;
    let tenant = operator.tenant("d");
    tenant.deployed("d", &manifest(DISK, VARIABLES)).await;
    let claims = wait_for_value("a claim", async || {
        let claims = tenant.list("v1", "PersistentVolumeClaim").await;
        ensure!(!claims.is_empty());
        Ok(claims)
    })
    .await;
    let before = values(&tenant).await;
    assert_eq!(before.keys().collect::<Vec<_>>(), NAMES);
    for (name, secret) in secrets(&tenant).await {
        assert!(!is_owned(&secret), "{name}: {}", secret["metadata"]);
    }

    // No operator runs.
    operator.kill();
    delete(&tenant).await;
    is_quiet("the deletion", &before, values(&tenant)).await;
    assert_eq!(tenant.list("v1", "PersistentVolumeClaim").await.len(), claims.len());

    // A user's Secret is not overwritten, whatever its name is.
    operator.start();
    let mine = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "d.var-mine"}, "stringData": {"password": "mine"}});
    tenant.apply(mine).await;
    let more = format!("{VARIABLES}\n- {{name: mine, type: password}}");
    tenant.deployed("d", &manifest(DISK, &more)).await;
    let mut after = values(&tenant).await;
    let mine = after.remove("d.var-mine").unwrap();
    assert_eq!(after, before, "generated again");
    assert_eq!(mine, json!({"password": "bWluZQ=="}));
    let ran = tenant.prune(&["--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);

    // Another request generates another value, as for a variable that was never removed.
    delete(&tenant).await;
    let longer = more.replace(
        "{name: word, type: password}",
        "{name: word, type: password, update_mode: converge, options: {length: 40}}",
    );
    tenant.deployed("d", &manifest(DISK, &longer)).await;
    let changed = values(&tenant).await;
    assert_ne!(changed["d.var-word"], before["d.var-word"]);
    assert_eq!(changed["d.var-leaf"], before["d.var-leaf"]);

    delete(&tenant).await;
    all_but_a_users_are_pruned(&tenant, &claims[0]).await;
}

async fn all_but_a_users_are_pruned(tenant: &Tenant, claim: &Value) {
    let listed: String = NAMES.iter().map(|name| format!("secret \"{name}\"\n")).collect();
    // A conversion that was under way may create QuarksSecrets once more; the garbage collector deletes them, too.
    let ran = wait_for_value("all Secrets to prune", async || {
        let ran = tenant.prune(&["--dry-run"]);
        ensure!(ran.code == 0 && ran.stdout == listed, "{ran:?}");
        Ok(ran)
    })
    .await;
    let claim = claim["metadata"]["name"].as_str().unwrap();
    assert!(
        ran.stderr
            .contains(&format!("persistentvolumeclaim \"{claim}\" still exists")),
        "{}",
        ran.stderr
    );
    let ran = tenant.prune(&["--yes"]);
    assert_eq!(
        (ran.code, ran.stdout),
        (0, listed.replace("\"\n", "\" deleted\n")),
        "{}",
        ran.stderr
    );
    assert_eq!(values(tenant).await.keys().collect::<Vec<_>>(), ["d.var-mine"]);
    let ran = tenant.prune(&["--yes"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("there is no BOSHDeployment 'd'"), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_decide_unless_the_specification_does() {
    let operator = OperatorProcess::set("retain", false, &[]).await;
    for (name, disk, retain, stays) in [
        ("none", "", None, false),
        ("always", "", Some("Always"), true),
        ("never", DISK, Some("Never"), false),
    ] {
        let tenant = operator.tenant(name);
        tenant
            .apply_manifest("d", &manifest(disk, "[{name: word, type: password}]"))
            .await;
        let mut deployment = tenant.object("d", &[]);
        if let Some(retain) = retain {
            deployment["spec"]["variables"] = json!({"retain": retain});
        }
        tenant.apply(deployment).await;
        tenant.wait_until_applied("d").await;
        assert_eq!(is_owned(&secrets(&tenant).await["d.var-word"]), !stays, "{name}");
        delete(&tenant).await;
        if stays {
            is_quiet(name, &1, async { secrets(&tenant).await.len() }).await;
            // A namespace is deleted with its retained values.
            let cluster = boson_tests::cluster::shared().unwrap();
            let deleted = cluster.kubectl(["delete", "namespace", &tenant.namespace, "--timeout=300s"]);
            deleted.unwrap();
        } else {
            wait_until("the end of the Secret", async || secrets(&tenant).await.is_empty()).await;
        }
    }
}

/// A disk that is added later: no claim exists before the values are retained. And without disk and claims, they are
/// deleted with the deployment again.
#[tokio::test(flavor = "multi_thread")]
async fn values_are_retained_before_the_first_claim_is_made() {
    let operator = OperatorProcess::set("later", false, &[]).await;
    let tenant = operator.tenant("d");
    let variables = "[{name: word, type: password}, {name: old, type: password}]";
    tenant.deployed("d", &manifest("", variables)).await;
    let before = values(&tenant).await;
    assert!(secrets(&tenant).await.values().all(is_owned));
    let less = "[{name: word, type: password}]";
    tenant.apply_manifest("d", &manifest(DISK, less)).await;
    wait_until("the claim", async || {
        let has_claims = |set: &Value| set["spec"]["volumeClaimTemplates"].is_array();
        let sets = tenant.list("apps/v1", "StatefulSet").await;
        if !sets.iter().any(has_claims) {
            return false;
        }
        let owned: Vec<String> = secrets(&tenant)
            .await
            .into_iter()
            .filter(|(_, one)| is_owned(one))
            .map(|(name, _)| name)
            .collect();
        // The Secret of the removed variable may follow.
        assert!(!owned.contains(&"d.var-word".to_string()), "{owned:?}");
        owned.is_empty()
    })
    .await;
    tenant
        .wait_for_deployment("d", "no variable but one", |deployment| {
            is(deployment, "Applied", "True") && deployment["status"]["removedVariables"] == json!(["old"])
        })
        .await;
    assert_eq!(values(&tenant).await, before);

    // Its Secret has no owner with which it would be deleted.
    let ran = tenant.prune(&["--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(values(&tenant).await.keys().collect::<Vec<_>>(), ["d.var-word"]);

    tenant.apply_manifest("d", &manifest("", less)).await;
    // Before that, the StatefulSet's controller would create deleted claims again.
    wait_until("a group without claims", async || {
        let sets = tenant.list("apps/v1", "StatefulSet").await;
        let asks = |set: &Value| set["spec"]["volumeClaimTemplates"].is_array();
        !sets.is_empty() && !sets.iter().any(asks)
    })
    .await;
    wait_until("the end of the claims", async || {
        for claim in tenant.list("v1", "PersistentVolumeClaim").await {
            let api = tenant.api("v1", "PersistentVolumeClaim");
            let name = claim["metadata"]["name"].as_str().unwrap();
            let finalizers = json!({"metadata": {"finalizers": null}});
            let _ = api.delete(name, &DeleteParams::default()).await;
            let _ = api
                .patch(name, &PatchParams::default(), &Patch::Merge(&finalizers))
                .await;
        }
        is_owned(&secrets(&tenant).await["d.var-word"])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_generated_again_is_an_event_of_the_deployment() {
    let operator = OperatorProcess::set("again", false, &[]).await;
    let tenant = operator.tenant("d");
    tenant
        .deployed("d", &manifest("", "[{name: word, type: password}]"))
        .await;
    let regenerated = async || {
        let events = tenant.list("events.k8s.io/v1", "Event").await;
        let again =
            |event: &&Value| event["reason"] == "GeneratedAgain" && event["regarding"]["kind"] == "BOSHDeployment";
        events.iter().filter(again).cloned().collect::<Vec<_>>()
    };
    assert!(regenerated().await.is_empty());
    for times in 1..=2 {
        let before = values(&tenant).await;
        // Events of the same second are merged.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        tenant.delete("v1", "Secret", "d.var-word").await;
        let events = wait_for_value("an event", async || {
            let events = regenerated().await;
            ensure!(events.len() == times, "{events:#?}");
            Ok(events)
        })
        .await;
        let note = events[0]["note"].as_str().unwrap();
        assert!(
            note.starts_with("Secret 'd.var-word' was deleted; variable 'word' was generated again at "),
            "{note}"
        );
        assert_eq!(events[0]["regarding"]["name"], "d");
        assert_ne!(values(&tenant).await, before);
    }
}

// --- deaths ---

fn asked(policy: &str) -> String {
    format!(
        r"
{{spec: {{type: certificate, secretName: root, reclaimPolicy: {policy}, request: {{certificate: {{commonName: root, isCA: true, keyLength: 2048}}}}}}, metadata: {{name: root}}}}
---
{{spec: {{type: password, secretName: word, reclaimPolicy: {policy}}}, metadata: {{name: word}}}}
"
    )
}

async fn stored(env: &OperatorTasks) -> BTreeMap<String, Secret> {
    let list = env.api::<Secret>().list(&ListParams::default()).await.unwrap();
    let named = list
        .items
        .into_iter()
        .map(|one| (one.metadata.name.clone().unwrap(), one));
    named
        .filter(|(name, _)| ["root", "word"].contains(&name.as_str()))
        .collect()
}

/// Created, marked as retained, deleted without an operator, created again: with a death in the second run. Returns the
/// number of writes in that run.
async fn three_lives(env: &OperatorTasks, death: Death) -> usize {
    let names = ["root", "word"];
    let line = Connection::default();
    let operator = env.operator("first");
    env.apply(&asked("Delete")).await;
    env.wait_until_ready(&names).await;
    operator.stop().await;
    let before = env.values().await;

    let operator = env.operator_through(line.client(env.client.clone(), death), "second");
    env.apply(&asked("Retain")).await;
    line.ended_or(env.wait_until_ready(&names)).await;
    operator.kill().await;
    let operator = env.operator("third");
    env.wait_until_ready(&names).await;
    operator.stop().await;
    for (name, secret) in stored(env).await {
        assert_eq!(secret.metadata.owner_references, None, "{death:?}: {name}");
    }
    let all = env.api::<QuarksSecret>();
    all.delete_collection(&DeleteParams::background(), &ListParams::default())
        .await
        .unwrap();
    wait_until("their end", async || {
        all.list(&ListParams::default()).await.unwrap().items.is_empty()
    })
    .await;

    // Another QuarksSecret that asks for such a Secret does not get it.
    let operator = env.operator("fourth");
    env.apply("{spec: {type: password, secretName: word}, metadata: {name: thief}}")
        .await;
    env.wait_for_object("thief", "the conflict", |thief: &QuarksSecret| {
        let conditions = thief.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|one| one.reason == "NameConflict")
    })
    .await;
    env.apply(&asked("Retain")).await;
    env.wait_until_ready(&names).await;
    let after = env.values().await;
    for name in names {
        assert_eq!(
            after[name].data, before[name].data,
            "{death:?}: {name} has another value"
        );
    }
    operator.stop().await;
    line.writes.load(std::sync::atomic::Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_while_values_are_retained_loses_none() {
    let writes = three_lives(&OperatorTasks::set("retain-never").await, Death::Never).await;
    assert!(writes >= 4, "two Secrets and two statuses: {writes}");
    for (nth, death) in Death::at_writes(writes).into_iter().enumerate() {
        three_lives(&OperatorTasks::set(&format!("retain-{nth}")).await, death).await;
    }
}

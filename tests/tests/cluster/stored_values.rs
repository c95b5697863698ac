//! What a deployment retains and reads with: values of removed variables, `host prune`, pull Secrets, versions of
//! Secrets.

use crate::objects::{OURS, is};
use crate::operator_process::{OperatorProcess, Tenant};
use crate::small_deployment::Small;
use boson_tests::registry::{PASSWORD, USER};
use boson_tests::{is_quiet, wait_until};
use serde_json::{Value, json};

fn manifest(variables: &str, pull: &str) -> String {
    let small = Small {
        variables: &format!("[{variables}]"),
        settings: pull,
        ..Small::default()
    };
    small.manifest()
}

async fn variables(tenant: &Tenant, variables: &str, removed: &[&str]) {
    tenant.apply_manifest("d", &manifest(variables, "")).await;
    let removed = json!(removed);
    tenant
        .wait_for_deployment("d", "removed variables", |deployment| {
            let found = &deployment["status"]["removedVariables"];
            is(deployment, "Applied", "True") && (*found == removed || removed == json!([]) && found.is_null())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_variable_keeps_its_value_until_it_is_pruned() {
    let operator = OperatorProcess::set("kept", false, &[]).await;
    let tenant = operator.tenant("kept");
    let (one, two) = ("{name: one_word, type: password}", "{name: two, type: password}");
    tenant.deployed("d", &manifest(&format!("{one}, {two}"), "")).await;
    let value = async |name: &str| {
        tenant
            .get("v1", "Secret", name)
            .await
            .map(|secret| secret["data"].clone())
    };
    let before = value("d.var-one-word").await;
    assert!(before.is_some());
    variables(&tenant, two, &["one_word"]).await;
    assert_eq!(value("d.var-one-word").await, before, "removed is not deleted");
    variables(&tenant, &format!("{one}, {two}"), &[]).await;
    assert_eq!(
        value("d.var-one-word").await,
        before,
        "added again is not generated again"
    );
    let ran = tenant.prune(&["--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);

    variables(&tenant, "", &["one_word", "two"]).await;
    // Another object still uses one of them.
    let pod = json!({"containers": [{"name": "c", "image": "example.com/i"}], "volumes": [{"name": "v", "secret": {"secretName": "d.var-two"}}]});
    tenant
        .apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"}, "spec": pod}))
        .await;
    let listed = "quarkssecret.quarks.cloudfoundry.org \"d.var-one-word\", with secret \"d.var-one-word\"\n";
    for arguments in [&["--dry-run"][..], &[]] {
        let ran = tenant.prune(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (i32::from(arguments.is_empty()), listed),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr
                .contains("\"d.var-two\" is retained: Pod 'user' refers to it"),
            "{}",
            ran.stderr
        );
    }
    let ran = tenant.prune(&["--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout,
        "quarkssecret.quarks.cloudfoundry.org \"d.var-one-word\" deleted\n"
    );
    variables(&tenant, "", &["two"]).await;
    wait_until("the end of its Secret", async || {
        value("d.var-one-word").await.is_none()
    })
    .await;
    assert!(value("d.var-two").await.is_some());
    let ran = tenant.prune(&["--yes", "--context", "absent"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
}

/// For a registry that needs credentials, the pods' pull Secrets are used.
#[tokio::test(flavor = "multi_thread")]
async fn images_are_read_with_the_pull_secrets_of_groups_and_accounts() {
    let operator = OperatorProcess::set("pulls", true, &[]).await;
    let auths = json!({"auths": {operator.registry.host(): {"username": USER, "password": PASSWORD}}}).to_string();
    for (name, settings) in [("group", "imagePullSecrets: [{name: pull}]"), ("account", "")] {
        let tenant = operator.tenant(name);
        tenant.deploy("d", &manifest("", settings)).await;
        tenant.wait_for_reason("d", "Converted", "ImageAccess").await;
        if settings.is_empty() {
            let account = json!({"name": "default"});
            let pull = json!([{"name": "pull"}]);
            tenant.apply(
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account, "imagePullSecrets": pull}),
            )
            .await;
        }
        let mut secret: Value = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}});
        secret["type"] = "kubernetes.io/dockerconfigjson".into();
        secret["stringData"] = json!({".dockerconfigjson": auths});
        tenant.apply(secret).await;
        tenant.wait_until_applied("d").await;
        assert_eq!(tenant.names(OURS, "QuarksStatefulSet", "d").await, ["d-web"]);
    }
}

/// The pods of a conversion run with another account, and pull with the Secrets of the accounts of the deployment's
/// pods.
#[tokio::test(flavor = "multi_thread")]
async fn pods_of_a_conversion_pull_with_the_secrets_of_accounts() {
    let operator = OperatorProcess::set("pod-pulls", false, &[]).await;
    let tenant = operator.tenant("d");
    let settings = "imagePullSecrets: [{name: named}], serviceAccountName: mine";
    tenant.apply_manifest("d", &manifest("", settings)).await;
    let mut deployment = tenant.object("d", &[]);
    deployment["spec"]["conversion"]["mode"] = "Jobs".into();
    tenant.apply(deployment).await;
    let pulls = async |what: &str, wanted: Value| {
        let job = [OURS, "QuarksJob", "var-interpolation-d"];
        tenant
            .wait_for_object(what, job, |job| {
                job["spec"]["template"]["spec"]["template"]["spec"]["imagePullSecrets"] == wanted
            })
            .await;
    };
    pulls("before the account", json!([{"name": "named"}])).await;
    // No pod runs here, so the job has not ended: it is replaced by one that can pull.
    tenant
        .apply(
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mine"},
        "imagePullSecrets": [{"name": "z"}, {"name": "a"}]}),
        )
        .await;
    pulls(
        "with the account",
        json!([{"name": "a"}, {"name": "named"}, {"name": "z"}]),
    )
    .await;
}

/// A group with claims rolls in place. While that is stuck, pods of its old revision may start again, and its spec does
/// not name what they need.
#[tokio::test(flavor = "multi_thread")]
async fn versions_stay_until_a_stateful_set_has_rolled() {
    let operator = OperatorProcess::set("rolls", false, &[]).await;
    let tenant = operator.tenant("d");
    let there = async |name: &str| tenant.get("v1", "Secret", name).await.is_some();
    let wait_for_secret = async |what: &str, wanted: bool| {
        wait_until(&format!("{what}: {wanted}"), async || there(what).await == wanted).await;
    };
    let change = async |number: usize, instances: usize| {
        let text = manifest("", "").replace("domain: example.com", &format!("domain: n{number}.example.com"));
        let group = format!("instances: {instances}\n  persistent_disk: 1024");
        tenant.apply_manifest("d", &text.replace("instances: 1", &group)).await;
        if number == 1 {
            tenant.deployment("d", &[]).await;
        }
        wait_for_secret(&format!("d.ig-resolved.web-v{number}"), true).await;
        tenant.wait_until_applied("d").await;
        // The cluster's own controller numbers the first revision before there is a second.
        wait_until(&format!("a StatefulSet of version {number}"), async || {
            let sets = tenant.list("apps/v1", "StatefulSet").await;
            let newest = |set: &Value| set.to_string().contains(&format!("d.ig-resolved.web-v{number}"));
            let observed = |set: &Value| set["status"]["observedGeneration"] == set["metadata"]["generation"];
            sets.iter().any(|set| newest(set) && observed(set))
        })
        .await;
    };
    // There is no node: no new pod becomes ready, and the second instance waits for the first one.
    change(1, 2).await;
    for name in ["d-web-v1-0", "d-web-v1-1"] {
        wait_until(name, async || {
            tenant.pods_are_ready().await;
            let pod = tenant.pods().get_opt(name).await.unwrap().unwrap_or_default();
            pod.status
                .is_some_and(|status| status.phase.as_deref() == Some("Running"))
        })
        .await;
    }
    for number in 2..=5 {
        change(number, 2).await;
    }
    // No pod of a StatefulSet mounts it, so garbage collection has run.
    wait_for_secret("d.desired-manifest-v2", false).await;
    is_quiet("what pods need", &true, there("d.ig-resolved.web-v1")).await;
    // Without instances nothing is left to roll.
    change(6, 0).await;
    wait_for_secret("d.ig-resolved.web-v1", false).await;
    assert!(there("d.ig-resolved.web-v4").await);
}

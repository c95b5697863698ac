//! Output of QuarksJobs, with running pods: a file that a container writes becomes a Secret, by the real program in its
//! pod.

use crate::objects::condition;
use crate::operator::Environment;
use anyhow::Result;
use boson_tests::cluster::with_node;
use serde_json::{Value, json};

/// The image of the containers.
const WORK: &str = "boson.test/outputs:1";

/// An environment whose node has the image; `None` if this user cannot have a node.
fn with_image(name: &str) -> Result<Option<Environment>> {
    let Some(cluster) = with_node()? else { return Ok(None) };
    let env = Environment::with_pods(cluster, name)?;
    env.load_busybox(WORK)?;
    Ok(Some(env))
}

/// The operator has changed the trigger meanwhile.
fn apply(env: &Environment, objects: &[Value]) {
    env.cluster.force_apply(&env.namespace, objects).unwrap();
}

/// Waits for the end of a run: the condition of this type that is true.
fn wait_for_end(env: &Environment, name: &str, run: i64, kind: &str) -> Value {
    let mut found = None;
    let what = format!("{kind} of run {run} of {name}");
    env.wait_until(&what, || {
        let job = env.get(&format!("quarksjob/{name}"))?;
        found = condition(&job, kind).filter(|one| one["status"] == "True").cloned();
        Ok(found.is_some() && job["status"]["endedRuns"] == run)
    })
    .unwrap();
    found.unwrap()
}

/// A QuarksJob whose container copies the content of a ConfigMap into its output, and has no token.
fn quarks_job(name: &str, output: &Value) -> Value {
    let script = "test ! -e /var/run/secrets/kubernetes.io || exit 9; cp /config/output /mnt/quarks/output.json; exit $(cat /config/code)";
    json!({
        "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob", "metadata": {"name": name},
        "spec": {
            "trigger": {"strategy": "once"}, "updateOnConfigChange": true,
            "output": {"outputMap": {"work": {"output.json": output}}, "writeOnFailure": true, "secretLabels": {"of": "all"}},
            "template": {"spec": {"backoffLimit": 0, "template": {"spec": {
                "restartPolicy": "Never",
                "securityContext": {"runAsUser": 1001, "runAsNonRoot": true},
                "volumes": [{"name": "config", "configMap": {"name": name}}],
                "containers": [
                    {"name": "work", "image": WORK, "command": ["sh", "-c", script], "env": [{"name": "REMOTE_ID", "value": "about"}],
                        "volumeMounts": [{"name": "config", "mountPath": "/config"}]},
                    {"name": "other", "image": WORK, "command": ["true"]}
                ]
            }}}}
        }
    })
}

fn config(name: &str, output: &str, code: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"output": output, "code": code}})
}

/// An object that would mount a Secret.
fn reader(secret: &str) -> Value {
    let labels = json!({"app": "reader"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "reader"}, "spec": {
        "replicas": 0, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {
            "containers": [{"name": "work", "image": WORK}], "volumes": [{"name": "v", "secret": {"secretName": secret}}]}}}})
}

#[test]
fn the_output_of_a_container_becomes_versions_of_a_secret() {
    let Some(env) = with_image("outputs").unwrap() else {
        return;
    };
    let asked =
        json!({"name": "result", "versioned": true, "secretLabels": {"x": "y"}, "secretAnnotations": {"from": "one"}});
    apply(
        &env,
        &[config("job", r#"{"key": "one"}"#, "0"), quarks_job("job", &asked)],
    );
    wait_for_end(&env, "job", 1, "Complete");
    let first = env.get("secret/result-v1").unwrap();
    assert_eq!(first["data"], json!({"key": "b25l"}));
    assert_eq!(first["immutable"], true);
    assert_eq!(
        first["metadata"]["labels"],
        json!({"of": "all", "x": "y", "quarks.cloudfoundry.org/container-name": "work", "quarks.cloudfoundry.org/remote-id": "about",
            "quarks.cloudfoundry.org/secret-kind": "versionedSecret", "quarks.cloudfoundry.org/secret-version": "1"})
    );
    assert_eq!(first["metadata"]["ownerReferences"][0]["kind"], "QuarksJob");

    // The same content creates no version; its annotations are updated.
    let mut asked = asked;
    asked["secretAnnotations"]["from"] = "two".into();
    apply(&env, &[quarks_job("job", &asked)]);
    wait_for_end(&env, "job", 2, "Complete");
    assert_eq!(
        env.get("secret/result-v1").unwrap()["metadata"]["annotations"]["from"],
        "two"
    );
    // The output of a run that failed with code 1 counts, if the QuarksJob says so.
    apply(&env, &[config("job", r#"{"key": "two"}"#, "1")]);
    wait_for_end(&env, "job", 3, "Failed");
    assert_eq!(env.get("secret/result-v2").unwrap()["data"], json!({"key": "dHdv"}));
    let large = format!(r#"{{"key": "{}"}}"#, "line of text ".repeat(30_000));
    apply(&env, &[config("job", &large, "0")]);
    wait_for_end(&env, "job", 4, "Complete");
    let third = env.get("secret/result-v3").unwrap();
    assert_eq!(
        third["metadata"]["annotations"]["quarks.cloudfoundry.org/encoding"],
        "gzip"
    );
    assert_eq!(env.names("secret").unwrap(), ["result-v1", "result-v2", "result-v3"]);
    // Two are retained beside the newest, and one that a workload names, though no pod of it runs.
    apply(&env, &[reader("result-v1")]);
    for run in [5, 6] {
        let text = format!(r#"{{"key": "{run}"}}"#);
        apply(&env, &[config("job", &text, "0")]);
        wait_for_end(&env, "job", run, "Complete");
    }
    let kept = ["result-v1", "result-v3", "result-v4", "result-v5"];
    assert_eq!(env.names("secret").unwrap(), kept);
}

#[test]
fn each_member_can_become_a_secret_and_errors_are_reported_without_the_content() {
    let Some(env) = with_image("fanned").unwrap() else {
        return;
    };
    let asked = json!({"name": "part", "persistencemethod": "fan-out"});
    let good = r#"{"a_1": "{\"k\": \"v\"}", "b": "{}"}"#;
    apply(
        &env,
        &[config("job", r#"{"a": CANARY}"#, "0"), quarks_job("job", &asked)],
    );
    let reported = wait_for_end(&env, "job", 1, "Failed");
    let message = reported["message"].as_str().unwrap();
    assert!(
        message.contains("error[output-not-json]") && message.contains("line 1, column 7"),
        "{message}"
    );
    assert!(!message.contains("CANARY"), "{message}");
    apply(&env, &[config("job", good, "0")]);
    wait_for_end(&env, "job", 2, "Complete");
    assert_eq!(env.get("secret/part-a-1").unwrap()["data"], json!({"k": "dg=="}));
    env.get("secret/part-b").unwrap();

    // A Secret that is not owned by the QuarksJob is not changed.
    let mine =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "taken"}, "stringData": {"k": "mine"}});
    apply(&env, &[mine]);
    let taken = json!({"name": "taken"});
    apply(
        &env,
        &[config("thief", r#"{"k": "stolen"}"#, "0"), quarks_job("thief", &taken)],
    );
    let reported = wait_for_end(&env, "thief", 1, "Failed");
    assert!(
        reported["message"].as_str().unwrap().contains("output-foreign"),
        "{reported}"
    );
    assert_eq!(env.get("secret/taken").unwrap()["data"]["k"], "bWluZQ==");
}

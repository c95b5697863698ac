//! Output of QuarksJobs, with running pods: a file that a container writes becomes a Secret, by the real program in its
//! pod.

use crate::objects::condition;
use crate::world::World;
use anyhow::{Context, Result};
use boson_tests::WAIT_TIMEOUT;
use boson_tests::cluster::Operator;
use serde_json::{Value, json};

/// The image of the containers.
const WORK: &str = "boson.test/outputs:1";

/// A namespace on the cluster with a node, and an operator for it.
struct Environment {
    operator: Operator,
    world: World,
}

// === impl Environment ===

impl Environment {
    fn set(name: &str) -> Result<Option<Self>> {
        let Some(world) = World::on_node(name)? else {
            return Ok(None);
        };
        world.load_busybox(WORK)?;
        world.cluster.define()?;
        let image = ["--operator-image", world.cluster.operator_image()?];
        let operator = Operator::new(world.cluster, &world.namespace)?.arguments(image);
        let mut operator = operator.arguments(["--namespace", &world.namespace]);
        operator.start()?;
        Ok(Some(Self { operator, world }))
    }

    /// The operator has changed the trigger meanwhile.
    fn apply(&self, objects: &[Value]) -> Result<()> {
        self.world.cluster.force_apply(&self.world.namespace, objects)
    }

    fn get(&self, what: &str) -> Result<Value> {
        self.world.get(what)
    }

    /// Waits for the end of a run: the condition of this type that is true.
    fn end(&self, name: &str, run: i64, kind: &str) -> Result<Value> {
        let mut found = None;
        let look = || {
            let job = self.get(&format!("quarksjob/{name}"))?;
            found = condition(&job, kind).filter(|one| one["status"] == "True").cloned();
            Ok(found.is_some() && job["status"]["endedRuns"] == run)
        };
        let what = format!("{kind} of run {run} of {name}");
        self.operator
            .until(&what, WAIT_TIMEOUT, look, || self.world.everything())?;
        found.context("no condition")
    }
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
    let Some(env) = Environment::set("outputs").unwrap() else {
        return;
    };
    let asked =
        json!({"name": "result", "versioned": true, "secretLabels": {"x": "y"}, "secretAnnotations": {"from": "one"}});
    env.apply(&[config("job", r#"{"key": "one"}"#, "0"), quarks_job("job", &asked)])
        .unwrap();
    env.end("job", 1, "Complete").unwrap();
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
    env.apply(&[quarks_job("job", &asked)]).unwrap();
    env.end("job", 2, "Complete").unwrap();
    assert_eq!(
        env.get("secret/result-v1").unwrap()["metadata"]["annotations"]["from"],
        "two"
    );
    // The output of a run that failed with code 1 counts, if the QuarksJob says so.
    env.apply(&[config("job", r#"{"key": "two"}"#, "1")]).unwrap();
    env.end("job", 3, "Failed").unwrap();
    assert_eq!(env.get("secret/result-v2").unwrap()["data"], json!({"key": "dHdv"}));
    let large = format!(r#"{{"key": "{}"}}"#, "line of text ".repeat(30_000));
    env.apply(&[config("job", &large, "0")]).unwrap();
    env.end("job", 4, "Complete").unwrap();
    let third = env.get("secret/result-v3").unwrap();
    assert_eq!(
        third["metadata"]["annotations"]["quarks.cloudfoundry.org/encoding"],
        "gzip"
    );
    assert_eq!(
        env.world.names("secret").unwrap(),
        ["result-v1", "result-v2", "result-v3"]
    );
    // Two are retained beside the newest, and one that a workload names, though no pod of it runs.
    env.apply(&[reader("result-v1")]).unwrap();
    for run in [5, 6] {
        let text = format!(r#"{{"key": "{run}"}}"#);
        env.apply(&[config("job", &text, "0")]).unwrap();
        env.end("job", run, "Complete").unwrap();
    }
    let kept = ["result-v1", "result-v3", "result-v4", "result-v5"];
    assert_eq!(env.world.names("secret").unwrap(), kept);
}

#[test]
fn each_member_can_become_a_secret_and_errors_are_reported_without_the_content() {
    let Some(env) = Environment::set("fanned").unwrap() else {
        return;
    };
    let asked = json!({"name": "part", "persistencemethod": "fan-out"});
    let good = r#"{"a_1": "{\"k\": \"v\"}", "b": "{}"}"#;
    env.apply(&[config("job", r#"{"a": CANARY}"#, "0"), quarks_job("job", &asked)])
        .unwrap();
    let reported = env.end("job", 1, "Failed").unwrap();
    let message = reported["message"].as_str().unwrap();
    assert!(
        message.contains("error[output-not-json]") && message.contains("line 1, column 7"),
        "{message}"
    );
    assert!(!message.contains("CANARY"), "{message}");
    env.apply(&[config("job", good, "0")]).unwrap();
    env.end("job", 2, "Complete").unwrap();
    assert_eq!(env.get("secret/part-a-1").unwrap()["data"], json!({"k": "dg=="}));
    env.get("secret/part-b").unwrap();

    // A Secret that is not owned by the QuarksJob is not changed.
    let mine =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "taken"}, "stringData": {"k": "mine"}});
    env.apply(&[mine]).unwrap();
    let taken = json!({"name": "taken"});
    env.apply(&[config("thief", r#"{"k": "stolen"}"#, "0"), quarks_job("thief", &taken)])
        .unwrap();
    let reported = env.end("thief", 1, "Failed").unwrap();
    assert!(
        reported["message"].as_str().unwrap().contains("output-foreign"),
        "{reported}"
    );
    assert_eq!(env.get("secret/taken").unwrap()["data"]["k"], "bWluZQ==");
}

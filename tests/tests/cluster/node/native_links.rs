//! A native workload that a BOSH job uses, on a node: the job gets the address and the pods of a Service, talks to each
//! pod, and follows when the workload is scaled. In both modes of conversion.

use super::deploy;
use crate::operator::Environment;
use anyhow::Result;
use boson_tests::cluster::{Cluster, with_node};
use serde_json::{Value, json};

const GROUP: &str = "quarks.cloudfoundry.org";
/// Of the instance group.
const CLIENT: &str = "quarks.cloudfoundry.org/instance-group-name=client";

const MANIFEST: &str = r#"name: d
releases:
- {name: native, version: "1", url: boson.test}
stemcells: [{alias: default, os: busybox, version: "1"}]
instance_groups:
- name: client
  instances: 1
  stemcell: default
  networks: [{name: default}]
  jobs: [{name: client, release: native}]
"#;

/// The program of the job: asks each instance of the link for its name, and writes a line with all answers. The option
/// `-T` of a static busybox crashes.
const PROGRAM: &str = r#"#!/bin/sh
while :; do
  answers=$(echo "$INSTANCES" | tr , '\n' | while read -r name index id az address bootstrap; do
    echo "$index $name answers $(timeout 2 wget -q -O - http://$address:8080/)"
  done | tr '\n' ';')
  echo "$ADDRESS with $PASSWORD: $answers"
  sleep 1
done
"#;

/// A native pod: answers with its name.
const SERVER: &str = "mkdir /tmp/www && hostname >/tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www";

#[test]
fn a_job_talks_to_the_pods_of_a_native_service_and_follows_their_number() {
    let Some(cluster) = with_node().unwrap() else { return };
    for (mode, name) in [("InProcess", "native-in-process"), ("Jobs", "native-jobs")] {
        let native = Native::new(cluster, name, mode).unwrap();
        native.deploy().unwrap();
        native.wait_for_answers("nats-service with first: ", 2).unwrap();
        native.scale(3).unwrap();
        native.wait_for_answers("nats-service with first: ", 3).unwrap();
        native.scale(1).unwrap();
        native.wait_for_answers("nats-service with first: ", 1).unwrap();
        native.env.apply(&[secret("second")]).unwrap();
        native.wait_for_answers("nats-service with second: ", 1).unwrap();
    }
}

/// The job `client` of `tests/fixtures/releases/native`, and the native workload that it uses.
struct Native {
    env: Environment,
}

// === impl Native ===

impl Native {
    fn new(cluster: &'static Cluster, name: &str, mode: &'static str) -> Result<Self> {
        let mut env = Environment::with_pods(cluster, name)?;
        env.mode = mode;
        let program = "var/vcap/packages/client/bin/client";
        env.load("native", |image| Ok(image.executable(program, PROGRAM)))?;
        Ok(Self { env })
    }

    fn deploy(&self) -> Result<()> {
        self.env.apply(&[secret("first"), service(), self.workload(2)])?;
        deploy(&self.env, "d", MANIFEST)
    }

    /// A StatefulSet, because the names of its pods are known.
    fn workload(&self, replicas: u32) -> Value {
        let labels = json!({"app": "mynats"});
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "mynats"},
            "spec": {
                "replicas": replicas, "serviceName": "nats-service", "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [
                    {"name": "server", "image": self.env.image("native"), "imagePullPolicy": "Never", "command": ["sh", "-c", SERVER]}]}}
            }
        })
    }

    fn scale(&self, replicas: u32) -> Result<()> {
        self.env.apply(&[self.workload(replicas)])
    }

    /// Waits until the last line of the job begins so, and has an answer of each native pod, in their order.
    fn wait_for_answers(&self, begin: &str, pods: u32) -> Result<()> {
        let each = (0..pods).map(|number| format!("{number} mynats-{number} answers mynats-{number};"));
        let wanted = format!("{begin}{}", each.collect::<String>());
        // The last line of each pod of the job.
        let last = |pod: &Value| {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let (cluster, namespace) = (self.env.cluster, &self.env.namespace);
            cluster
                .tail(namespace, name, "client-client", 1)
                .is_ok_and(|line| line.trim_end() == wanted)
        };
        self.env.wait_until(&format!("'{wanted}'"), || {
            Ok(self.env.list("pods", CLIENT)?.iter().any(last))
        })
    }
}

fn annotations(more: &[(&str, &str)]) -> Value {
    let mut all = json!({
        format!("{GROUP}/deployment-name"): "d",
        format!("{GROUP}/provides"): r#"{"name": "nats", "type": "nats"}"#,
    });
    for (key, value) in more {
        all[format!("{GROUP}/{key}")] = (*value).into();
    }
    all
}

fn secret(password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats-secret", "annotations": annotations(&[])},
        "stringData": {"nats.password": password}
    })
}

fn service() -> Value {
    let annotations = annotations(&[("link-provider-name", "nats-secret")]);
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "nats-service", "annotations": annotations},
        "spec": {"selector": {"app": "mynats"}, "ports": [{"port": 8080}]}
    })
}

//! Pods that are not part of a deployment, on a node: they read the link of a BOSH job from files and variables, and
//! talk to the job. When the link changes, their Deployment or DaemonSet replaces them.

use super::deploy_with_ops;
use crate::links::{annotations, generation, pod, wait_until_created};
use crate::objects::config_map;
use crate::operator::Environment;
use anyhow::Result;
use boson_tests::cluster::{Cluster, with_node};
use boson_tests::ports::free_port;
use boson_tests::root;
use serde_json::{Value, json};

/// Compares files with variables, and prints the domain of the certificate that the broker presents.
const SCRIPT: &str = r#"
link=/quarks/link/bus/broker-broker
[ "$(cat $link/port)" = "$LINK_PORT" ] && [ "$(cat $link/domain)" = "$LINK_DOMAIN" ] || { echo "different"; exit 1; }
touch $link/port 2>/dev/null && { echo "writable"; exit 1; }
while :; do
  # The PATH of the image is /bin. The broker also asks for a certificate, which this client does not have.
  echo | timeout 5 /usr/bin/openssl s_client -connect $BROKER:$LINK_PORT >/tmp/answer 2>&1
  grep -q "CN *= *$LINK_DOMAIN" /tmp/answer && echo "linked with $LINK_DOMAIN at $LINK_PORT" || tail -n 3 /tmp/answer
  sleep 1
done
"#;

/// The link of the brokers.
const CONSUMES: &str = r#"[{"name": "broker", "type": "broker"}]"#;
/// The value of a property of the link, as a variable and as a file.
const PORTS: &str = "echo $LINK_PORT; cat /quarks/link/bus/broker-broker/port";
/// Sets that property.
const OTHER_PORT: &str =
    "- {type: replace, path: /instance_groups/name=brokers/jobs/name=broker/properties/port?, value: 4300}\n";
/// The image of the DaemonSet's pods.
const AGENT: &str = "boson.test/agent:1";

#[test]
fn a_native_client_reads_its_link_talks_to_the_job_and_follows_a_change() {
    let Some(cluster) = with_node().unwrap() else { return };
    let env = with_links(cluster, "native-client").unwrap();
    env.load("bus", |image| image.installed("/usr/bin/openssl")).unwrap();
    deploy_with_ops(&env, "bus", "[]").unwrap();
    env.wait_until_ready("bus").unwrap();
    let broker = env.get("pod/bus-brokers-v1-0").unwrap()["status"]["podIP"].clone();
    env.apply(&[client(&env.image("bus"), &broker)]).unwrap();
    env.wait_until("an answer", || {
        Ok(said(&env, "linked with bus.service.internal at 4222"))
    })
    .unwrap();

    // Another port: the brokers restart with it, and the client is replaced.
    env.apply(&[config_map("ops", "ops", OTHER_PORT)]).unwrap();
    env.wait_until("the new port in a new pod", || {
        Ok(ports(&env).contains(&"4300 4300".to_string()))
    })
    .unwrap();
}

#[test]
fn a_daemon_set_is_rolled_when_its_link_changes() {
    let Some(cluster) = with_node().unwrap() else { return };
    let env = with_links(cluster, "native-agent").unwrap();
    env.load_busybox(AGENT).unwrap();
    let release = root().join("tests/fixtures/releases/bus");
    env.registry.push_release("bus:busybox-1-1", &release).unwrap();
    deploy_with_ops(&env, "bus", "[]").unwrap();
    env.wait_until("the link", || Ok(env.get("secret/link-bus-broker-broker").is_ok()))
        .unwrap();
    wait_until_created(&env, &pod("first", &annotations("bus", CONSUMES)));
    env.kubectl(&["delete", "pod/first", "--force"]).unwrap();
    env.apply(&[agent()]).unwrap();
    env.wait_until("the port", || Ok(ports(&env) == ["4222 4222"])).unwrap();
    assert_eq!(generation(&env, "daemonset/client"), 1);

    env.apply(&[config_map("ops", "ops", OTHER_PORT)]).unwrap();
    env.wait_until("the new port in place of the old one", || {
        Ok(ports(&env) == ["4300 4300"])
    })
    .unwrap();
    assert_eq!(generation(&env, "daemonset/client"), 2, "once");
}

/// An environment whose operator gives links to pods.
fn with_links(cluster: &'static Cluster, name: &str) -> Result<Environment> {
    let address = format!("127.0.0.1:{}", free_port()?);
    let url = format!("https://{address}");
    let more = ["--webhook-listen", &address, "--webhook-url", &url, "--pod-links"];
    let mut env = Environment::with_pods_and(cluster, name, &more)?;
    env.mode = "InProcess";
    Ok(env)
}

/// What each client that runs has as the port: in the variable, and in the file.
fn ports(env: &Environment) -> Vec<String> {
    let pods = env.list("pods", "app=client").unwrap_or_default();
    let port = |pod: &Value| {
        let name = pod["metadata"]["name"].as_str()?;
        let text = env.kubectl(&["exec", name, "--", "sh", "-c", PORTS]).ok()?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    pods.iter().filter_map(port).collect()
}

fn client(image: &str, broker: &Value) -> Value {
    let container = json!({
        "name": "client", "image": image, "imagePullPolicy": "Never", "command": ["sh", "-c", SCRIPT],
        "env": [{"name": "BROKER", "value": broker}]
    });
    workload("Deployment", container)
}

/// A pod on each node.
fn agent() -> Value {
    let container = json!({"name": "client", "image": AGENT, "command": ["sh", "-c", "exec sleep 3600"]});
    workload("DaemonSet", container)
}

/// A workload whose pods consume the link of the brokers.
fn workload(kind: &str, container: Value) -> Value {
    let labels = json!({"app": "client"});
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "client"},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels, "annotations": annotations("bus", CONSUMES)},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}}
    })
}

/// A container that has not started yet has said nothing.
fn said(env: &Environment, words: &str) -> bool {
    env.kubectl(&["logs", "--selector=app=client", "--tail=30"])
        .is_ok_and(|log| log.contains(words))
}

//! The node of the test kit: the features that tests with pods rely on.

use crate::shared_cluster::documents;
use crate::world::World;
use anyhow::Result;
use boson_tests::cluster::image::Image;
use boson_tests::cluster::with_node;
use boson_tests::registry::Server;
use boson_tests::{WAIT_TIMEOUT, wait_until_ok};
use serde_json::json;
use std::process::{Command, Stdio};

/// The image of the pods.
const IMAGE: &str = "boson.test/pods:1";

#[test]
fn a_job_with_an_init_container_runs_to_its_end() {
    let Some(world) = World::with_busybox("job", IMAGE).unwrap() else {
        return;
    };
    let job = format!(
        r#"
apiVersion: batch/v1
kind: Job
metadata: {{name: two-steps}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      securityContext: {{runAsUser: 1000, fsGroup: 1000}}
      volumes: [{{name: shared, emptyDir: {{}}}}]
      initContainers:
      - {{name: first, image: "{IMAGE}", command: [sh, -c, "id -u >/shared/who"], volumeMounts: [{{name: shared, mountPath: /shared}}]}}
      containers:
      - {{name: second, image: "{IMAGE}", command: [sh, -c, "echo made by $(cat /shared/who), read by $(id -u)"],
          volumeMounts: [{{name: shared, mountPath: /shared}}]}}
"#
    );
    world.apply(&documents(&job)).unwrap();
    world.wait_for_condition("job/two-steps", "Complete").unwrap();
    let log = world.kubectl(&["logs", "job/two-steps", "--container=second"]).unwrap();
    assert_eq!(log, "made by 1000, read by 1000\n");
}

#[test]
fn a_pod_reaches_the_api_server_with_the_token_of_its_account() {
    let Some(world) = World::with_busybox("token", IMAGE).unwrap() else {
        return;
    };
    let script = r#"
        account=/var/run/secrets/kubernetes.io/serviceaccount
        wget -q -O - --header "Authorization: Bearer $(cat $account/token)" --no-check-certificate \
          https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/$(cat $account/namespace)/configmaps/greeting
    "#;
    let account = format!("--serviceaccount={}:default", world.namespace);
    for words in [
        &["configmap", "greeting", "--from-literal=word=hello"][..],
        &["role", "reader", "--verb=get", "--resource=configmaps"],
        &["rolebinding", "reader", "--role=reader", &account],
    ] {
        world.kubectl(&[&["create"][..], words].concat()).unwrap();
    }
    begin(&world, "asks", IMAGE, script).unwrap();
    let log = log_at_the_end_of(&world, "asks").unwrap();
    assert!(
        log.contains(r#""word":"hello""#) || log.contains(r#""word": "hello""#),
        "{log}"
    );
}

#[test]
fn an_image_is_pulled_from_a_registry_on_this_machine_which_pods_reach_too() {
    let Some(world) = World::with_busybox("pull", IMAGE).unwrap() else {
        return;
    };
    let registry = Server::start_at(world.cluster.gateway(), false).unwrap();
    world.cluster.trust(registry.host()).unwrap();
    let image = Image::busybox(IMAGE).unwrap().file("word", "pulled\n");
    image.push(&registry, "word:1").unwrap();
    let script = format!("cat /word; wget -q -O - http://{}/v2/_catalog", registry.host());
    begin(&world, "pulls", &registry.image("word:1"), &script).unwrap();
    let log = log_at_the_end_of(&world, "pulls").unwrap();
    assert_eq!(log, "pulled\n{\"repositories\":[\"bosh/word\"]}\n");
}

#[test]
fn the_operators_image_works_under_the_restricted_policy() {
    let Some(world) = World::with_busybox("restricted", IMAGE).unwrap() else {
        return;
    };
    world.restrict().unwrap();
    let files = json!({"manifest.yml": "{name: ((name))}", "ops.yml": "[{type: replace, path: /added?, value: 1}]"});
    let files = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inputs"}, "data": files});
    let image = world.cluster.operator_image().unwrap();
    let container = |name: &str, arguments: &[&str]| {
        json!({
            "name": name, "image": image, "args": arguments,
            "volumeMounts": [{"name": "inputs", "mountPath": "/inputs"}],
            "securityContext": {"readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
        })
    };
    let inputs = [
        "interpolate",
        "/inputs/manifest.yml",
        "-o",
        "/inputs/ops.yml",
        "-v",
        "name=restricted",
    ];
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "host"}, "spec": {
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [{"name": "inputs", "configMap": {"name": "inputs"}}],
        "containers": [
            container("version", &["--version"]),
            container("help", &["util", "template-render", "--help"]),
            container("stage", &inputs),
            container("plugins", &["plugin", "list"]),
        ],
    }});
    world.apply(&[files, pod]).unwrap();
    world.wait_for_phase("host", "Succeeded").unwrap();
    let log = |name: &str| world.kubectl(&["logs", "host", "--container", name]).unwrap();
    assert_eq!(log("version"), format!("host {}\n", env!("CARGO_PKG_VERSION")));
    assert!(log("help").contains("Render all templates"), "{}", log("help"));
    assert_eq!(log("stage"), "added: 1\nname: restricted\n");
    let plugins = log("plugins");
    let lines: Vec<&str> = plugins.lines().collect();
    assert!(lines[0].starts_with("STAGE") && lines.len() == 6, "{plugins}");
    assert!(
        lines[1..]
            .iter()
            .all(|line| line.contains(" /usr/share/boson/plugins/")),
        "{plugins}"
    );
}

/// Set in the process that [`a_killed_test_leaves_nothing_behind`] starts and kills: the file to which it writes where
/// its cluster is.
const TO_BE_KILLED: &str = "BOSON_TEST_TO_BE_KILLED";

#[test]
fn a_killed_test_leaves_nothing_behind() {
    if with_node().unwrap().is_none() {
        return;
    }
    let report = tempfile::NamedTempFile::new().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "node::pods::stays_until_it_is_killed", "--ignored"])
        .env(TO_BE_KILLED, report.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    wait_until_ok("a pod on the other node", || {
        line = std::fs::read_to_string(report.path()).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "the other test process ended");
        Ok(line.ends_with('\n'))
    });
    let (directory, gateway) = line.trim().split_once(' ').unwrap();
    let found = traces_of(directory, gateway);
    for kind in ["process", "control group", "directory", "interface"] {
        assert!(found.iter().any(|one| one.starts_with(kind)), "{found:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until_ok("the end of everything", || Ok(traces_of(directory, gateway).is_empty()));
}

#[test]
#[ignore = "runs until it is killed: another test does"]
fn stays_until_it_is_killed() {
    let Some(report) = std::env::var_os(TO_BE_KILLED) else {
        return;
    };
    let world = World::with_busybox("killed", IMAGE).unwrap().unwrap();
    begin(&world, "sleeps", IMAGE, "sleep 3600").unwrap();
    world.wait_for_condition("pod/sleeps", "Ready").unwrap();
    let cluster = world.cluster;
    let kubeconfig = cluster.kubeconfig();
    let directory = kubeconfig.parent().unwrap().display();
    std::fs::write(report, format!("{directory} {}\n", cluster.gateway())).unwrap();
    std::thread::sleep(10 * WAIT_TIMEOUT);
}

/// Traces of a cluster on this machine.
fn traces_of(directory: &str, gateway: &str) -> Vec<String> {
    let name = directory.rsplit('/').next().unwrap();
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap() {
        let process = process.unwrap().path();
        // Processes that end meanwhile no longer exist.
        let [words, groups, mounts] =
            ["cmdline", "cgroup", "mountinfo"].map(|file| std::fs::read(process.join(file)).unwrap_or_default());
        for (kind, text) in [("process", &words), ("process", &groups), ("mount", &mounts)] {
            if String::from_utf8_lossy(text).contains(name) {
                found.push(format!("{kind} {}", process.display()));
            }
        }
    }
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let groups = output("find", &["/sys/fs/cgroup", "-name", name]);
    found.extend(groups.lines().map(|group| format!("control group {group}")));
    let addresses = output("ip", &["-oneline", "address"]);
    let ours = addresses.lines().filter(|line| line.contains(&format!(" {gateway}/")));
    found.extend(ours.map(|line| format!("interface {line}")));
    if std::path::Path::new(directory).exists() {
        found.push(format!("directory {directory}"));
    }
    found
}

fn log_at_the_end_of(world: &World, pod: &str) -> Result<String> {
    world.wait_for_phase(pod, "Succeeded")?;
    world.kubectl(&["logs", pod])
}

/// Creates a pod that runs a script.
fn begin(world: &World, name: &str, image: &str, script: &str) -> Result<()> {
    let container = json!({"name": "main", "image": image, "command": ["sh", "-c", script]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "containers": [container]}});
    world.apply(&[pod])
}

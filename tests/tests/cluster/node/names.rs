//! Names of BOSH DNS on a node: the deployment's two servers answer by the readiness of pods.

use crate::world::World;
use anyhow::{Context, Result, bail, ensure};
use boson_tests::{WAIT_TIMEOUT, try_wait_for_value};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

/// The image of the instances' pods.
const IMAGE: &str = "boson.test/names:1";

const MANIFEST: &str = r#"
name: demo
releases:
- {name: demo, version: "1", url: registry.example.com/demo}
- {name: bosh-dns-aliases, version: "1", url: registry.example.com/demo}
stemcells:
- {alias: default, os: ubuntu-jammy, version: "1.1"}
instance_groups:
- {name: web_ui, instances: 2, stemcell: default, jobs: [{name: app, release: demo, properties: {quarks: {ports: [{name: http, protocol: TCP, internal: 8080}]}}}]}
- {name: db, instances: 1, stemcell: default, jobs: [{name: app, release: demo, properties: {quarks: {ports: []}}}]}
addons:
- name: dns
  jobs:
  - name: bosh-dns-aliases
    release: bosh-dns-aliases
    properties:
      aliases:
      - {domain: web.service.internal, targets: [{query: "*", instance_group: web_ui, network: default, deployment: demo, domain: bosh}]}
      - {domain: _.web.service.internal, targets: [{query: _, instance_group: web_ui, network: default, deployment: demo, domain: bosh}]}
      - {domain: db.service.internal, targets: [{query: "*", instance_group: db, network: default, deployment: demo, domain: bosh}]}
"#;

#[test]
fn names_resolve_to_ready_pods_while_a_server_is_unavailable() {
    let Some(world) = World::with_busybox("names", IMAGE).unwrap() else {
        return;
    };
    // The servers need no other permissions than this.
    world.restrict().unwrap();
    apply_names(&world, MANIFEST).unwrap();
    world.wait_for_condition("deployment/demo-dns", "Available").unwrap();
    instance(&world, "web-0", "web-ui", 0, true).unwrap();
    instance(&world, "web-1", "web-ui", 1, false).unwrap();
    instance(&world, "db-0", "db", 0, false).unwrap();
    client(&world, &cluster_address(&world, "demo-dns").unwrap()).unwrap();
    let [first, second, db] = ["web-0", "web-1", "db-0"].map(|pod| address(&world, pod).unwrap());
    let both = [first.as_str(), second.as_str()];

    // A pod that is not ready is left out, unless it is the only one.
    wait_for_answer(&world, "web.service.internal", &[&first]).unwrap();
    wait_for_answer(&world, "db.service.internal", &[&db]).unwrap();
    wait_for_answer(&world, "q-s4.web-ui.default.demo.bosh", &both).unwrap();
    wait_for_answer(&world, "q-s1.web-ui.default.demo.bosh", &[&second]).unwrap();
    wait_for_answer(&world, "web_ui-1.web.service.internal", &[&second]).unwrap();
    wait_for_answer(&world, "upcheck.bosh-dns", &["127.0.0.1"]).unwrap();
    // All other names are resolved by the cluster's DNS.
    let web = cluster_address(&world, "demo-web-ui-0").unwrap();
    let name = format!("demo-web-ui-0.{}.svc.cluster.local", world.namespace);
    wait_for_answer(&world, &name, &[&web]).unwrap();

    // It becomes ready.
    world.inside("web-1", "main", "touch /tmp/ready").unwrap();
    wait_for_answer(&world, "web.service.internal", &both).unwrap();

    // While one server is unavailable the other answers: no question fails longer than a client retries.
    let servers = world.list("pods", "app.kubernetes.io/component=dns").unwrap();
    let deleted = servers[0]["metadata"]["name"].as_str().unwrap();
    let delete = ["delete", "pod", deleted, "--force", "--grace-period=0", "--wait=false"];
    world.kubectl(&delete).unwrap();
    for _ in 0..5 {
        let failed = wait_for_answer(&world, "web.service.internal", &both).unwrap();
        assert!(failed < Duration::from_secs(15), "{failed:?}");
    }

    // A new alias in the manifest resolves without a restart.
    let changed = MANIFEST.replace("domain: web.service.internal", "domain: later.service.internal");
    apply_names(&world, &changed).unwrap();
    wait_for_answer(&world, "later.service.internal", &both).unwrap();
}

/// The objects of the deployment, without the instances.
fn apply_names(world: &World, manifest: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let job = folder.path().join("demo/jobs/app");
    fs::create_dir_all(job.join("templates"))?;
    fs::create_dir_all(folder.path().join("demo/config"))?;
    fs::write(folder.path().join("demo/config/final.yml"), "name: demo\n")?;
    fs::write(
        job.join("spec"),
        "name: app\ntemplates: {bpm.yml: config/bpm.yml}\nproperties: {}\n",
    )?;
    fs::write(job.join("monit"), "")?;
    fs::write(
        job.join("templates/bpm.yml"),
        "processes: [{name: app, executable: /bin/app}]\n",
    )?;
    let file = folder.path().join("manifest.yml");
    fs::write(&file, manifest)?;
    let more = ["--name", "demo", "--target", "kubernetes"];
    let release = folder.path().join("demo");
    world.convert(&file, &release, &more, &["StatefulSet", "Secret"])
}

/// A pod like those of a StatefulSet, for the Services to select.
fn instance(world: &World, name: &str, group: &str, index: u32, ready: bool) -> Result<()> {
    let labels = json!({
        "quarks.cloudfoundry.org/deployment-name": "demo", "quarks.cloudfoundry.org/instance-group-name": group,
        "quarks.cloudfoundry.org/az-index": "0", "apps.kubernetes.io/pod-index": index.to_string(),
    });
    let probe = json!({"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1});
    let script = if ready {
        "touch /tmp/ready; sleep 3600"
    } else {
        "sleep 3600"
    };
    pod(
        world,
        name,
        labels,
        json!({"command": ["sh", "-c", script], "readinessProbe": probe}),
        json!({}),
    )
}

/// A pod that uses the deployment's DNS.
fn client(world: &World, server: &str) -> Result<()> {
    let dns = json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": [server]}});
    pod(world, "client", json!({}), json!({"command": ["sleep", "3600"]}), dns)?;
    world.wait_for_condition("pod/client", "Ready")
}

fn pod(world: &World, name: &str, labels: Value, mut container: Value, mut spec: Value) -> Result<()> {
    container["name"] = "main".into();
    container["image"] = IMAGE.into();
    container["securityContext"] = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    spec["terminationGracePeriodSeconds"] = 0.into();
    spec["securityContext"] =
        json!({"runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}});
    spec["containers"] = json!([container]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec});
    world.apply(&[pod])
}

fn address(world: &World, pod: &str) -> Result<String> {
    world.wait_for_phase(pod, "Running")?;
    let pod = world.get(&format!("pod/{pod}"))?;
    Ok(pod["status"]["podIP"].as_str().context("no address")?.into())
}

fn cluster_address(world: &World, service: &str) -> Result<String> {
    let service = world.get(&format!("service/{service}"))?;
    Ok(service["spec"]["clusterIP"].as_str().context("no address")?.into())
}

/// Asks until the answer has these addresses. Returns for how long it had not.
fn wait_for_answer(world: &World, name: &str, wanted: &[&str]) -> Result<Duration> {
    let wanted: BTreeSet<String> = wanted.iter().map(ToString::to_string).collect();
    let ask = ["exec", "client", "--", "nslookup", "-type=a", name];
    let ask = ["--namespace", &world.namespace].into_iter().chain(ask);
    let (began, mut failed) = (Instant::now(), Duration::ZERO);
    let look = || {
        let answer = world.cluster.try_kubectl(ask.clone(), "")?;
        let found = addresses(&answer.stdout);
        if found != wanted {
            failed = began.elapsed();
            bail!("{found:?}: {}{}", answer.stdout, answer.stderr);
        }
        Ok(failed)
    };
    let found = try_wait_for_value(&format!("{name}: {wanted:?}"), WAIT_TIMEOUT, look);
    found.with_context(|| world.everything())
}

/// The addresses in nslookup's output, after that of the server.
fn addresses(text: &str) -> BTreeSet<String> {
    let lines = text.lines().skip_while(|line| !line.trim().is_empty());
    let found = lines.filter_map(|line| line.trim().strip_prefix("Address"));
    let address = |rest: &str| rest.rsplit(' ').next().map(String::from);
    found
        .filter_map(address)
        .filter(|text| text.parse::<std::net::IpAddr>().is_ok())
        .collect()
}

/// The layout of `nslookup`'s output has changed over the versions of busybox.
#[test]
fn answers_are_read() -> Result<()> {
    let text = "Server:\t\t10.0.0.1\nAddress:\t10.0.0.1:53\n\nName:\tweb\nAddress: 10.1.0.1\nName:\tweb\nAddress: 10.1.0.2\n\n";
    let found = addresses(text);
    let first = found.first().context("none")?;
    ensure!(found.len() == 2 && first == "10.1.0.1", "{found:?}");
    Ok(())
}

//! The Helm chart, rendered by Helm itself: with each option, its objects are those of the kustomization with the same
//! option.

use crate::commands;
use crate::installed::{SYSTEM, install};
use crate::rbac::text;
use crate::shared_cluster::documents;
use anyhow::{Result, ensure};
use boson_tests::cluster::{Cluster, program, shared};
use boson_tests::root;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A kustomization, and the values that have the same meaning.
const SAME: &[(&str, &[&str])] = &[
    ("resources: [../deploy]", &[]),
    (
        "{resources: [../deploy], components: [../deploy/webhook, ../deploy/signer]}",
        &["webhook.enabled=true", "signer.enabled=true"],
    ),
    (
        "{resources: [../deploy], components: [../deploy/service-monitor, ../deploy/dashboards]}",
        &["serviceMonitor.enabled=true", "dashboards.enabled=true"],
    ),
    (
        "{resources: [../deploy], components: [../deploy/webhook, ../deploy/links, ../deploy/namespace/links]}",
        &["webhook.enabled=true", "links.enabled=true"],
    ),
    (
        "{resources: [../deploy/cluster-wide], components: [../deploy/links, ../deploy/cluster-wide/links]}",
        &["scope=cluster-wide", "webhook.enabled=true", "links.enabled=true"],
    ),
    (
        "resources: [../deploy/cluster-wide]",
        &["scope=cluster-wide", "webhook.enabled=true"],
    ),
    (
        "{resources: [../deploy/cluster-wide], components: [../deploy/signer]}",
        &["scope=cluster-wide", "webhook.enabled=true", "signer.enabled=true"],
    ),
    (
        MINE,
        &[
            "image.repository=registry.test:5000/host,image.tag=v2",
            "namespaces={a,b}",
        ],
    ),
];

/// As in docs/install.md, for two namespaces.
const MINE: &str = "
resources: [../deploy/listed, a, b]
images: [{name: ghcr.io/boson/host, newName: 'registry.test:5000/host', newTag: v2}]
replacements:
- source: {kind: Deployment, name: boson, fieldPath: 'spec.template.spec.containers.[name=operator].image'}
  targets:
  - select: {kind: Deployment, name: boson}
    fieldPaths: ['spec.template.spec.containers.[name=operator].env.[name=BOSON_OPERATOR_IMAGE].value']
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: boson, namespace: boson-system}
    spec:
      template:
        spec:
          containers:
          - {name: operator, env: [{name: BOSON_NAMESPACES, value: 'a,b'}]}
";

type Objects = BTreeMap<(String, String, String), Value>;

fn chart() -> &'static Path {
    static CHART: OnceLock<PathBuf> = OnceLock::new();
    let made = || -> Result<PathBuf> {
        // For all tests of the process.
        let directory = tempfile::tempdir()?.keep();
        let maker = boson_tests::binary()?.with_file_name("boson-build");
        let out = directory.join("boson");
        let made = Command::new(maker)
            .current_dir(root())
            .arg("chart")
            .arg("--out")
            .arg(&out)
            .output()?;
        ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Ok(out)
    };
    CHART.get_or_init(|| made().unwrap())
}

/// Runs Helm, away from the configuration of this machine.
pub fn helm(arguments: &[&str], values: &[&str], cluster: Option<&Cluster>) -> Result<Output> {
    let home = tempfile::tempdir()?;
    let mut command = Command::new(program("helm")?);
    command.args(arguments).arg(chart()).env("HOME", home.path());
    for value in values {
        command.args(["--set", value]);
    }
    if let Some(cluster) = cluster {
        command.arg("--kubeconfig").arg(cluster.kubeconfig());
    }
    Ok(command.output()?)
}

/// The text that Helm renders for a namespace.
fn manifest(namespace: &str, values: &[&str]) -> Result<String> {
    let arguments = ["template", "boson", "--namespace", namespace, "--include-crds"];
    let output = helm(&arguments, values, None)?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// What `kubectl apply -k` sends for a kustomization beside `deploy`.
fn kustomized(kustomization: &str) -> Result<String> {
    let directory = tempfile::tempdir()?;
    for folder in ["deploy", "crds"] {
        symlink(root().join(folder), directory.path().join(folder))?;
    }
    for namespace in ["a", "b"] {
        let folder = directory.path().join("mine").join(namespace);
        fs::create_dir_all(&folder)?;
        let text = format!("namespace: {namespace}\nresources: [../../deploy/namespace]\n");
        fs::write(folder.join("kustomization.yaml"), text)?;
    }
    let mine = directory.path().join("mine");
    fs::write(mine.join("kustomization.yaml"), kustomization)?;
    shared()?.kubectl(["kustomize".as_ref(), mine.as_os_str()])
}

/// Objects by kind, namespace and name, with variables in the order of their names: kustomize puts those of patches
/// first.
fn objects(text: &str) -> Objects {
    let mut objects = Objects::new();
    for mut object in documents(text) {
        if let Some(variables) = object.pointer_mut("/spec/template/spec/containers/0/env") {
            let variables = variables.as_array_mut().unwrap();
            variables.sort_by_key(|variable| variable["name"].to_string());
        }
        let metadata = &object["metadata"];
        let key =
            [&object["kind"], &metadata["namespace"], &metadata["name"]].map(|value| crate::rbac::text(value).into());
        assert!(objects.insert(key.into(), object).is_none(), "twice");
    }
    objects
}

fn operator(objects: &Objects) -> &Value {
    &objects[&("Deployment".into(), SYSTEM.into(), "boson".into())]
}

#[test]
fn it_installs_what_kustomize_installs() {
    for (kustomization, values) in SAME {
        let mut expected = objects(&kustomized(kustomization).unwrap());
        // `helm install --create-namespace` creates it.
        assert!(
            expected
                .remove(&("Namespace".into(), String::new(), SYSTEM.into()))
                .is_some()
        );
        let found = objects(&manifest(SYSTEM, values).unwrap());
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "{kustomization}"
        );
        for (key, object) in &expected {
            assert_eq!(&found[key], object, "{kustomization}");
        }
    }
}

#[test]
fn its_other_values_have_an_effect() {
    let values = [
        "replicas=3",
        "resources.limits.memory=4Gi",
        "image.pullSecrets={one,two}",
        "logLevel=debug",
        "options.BOSON_CONCURRENCY=4,options.BOSON_REGISTRY_WITHOUT_TLS=registry.test",
        "registryPorts={5001}",
        "configMaps={plugin-trust}",
    ];
    let found = objects(&manifest(SYSTEM, &values).unwrap());
    let deployment = operator(&found);
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(deployment["spec"]["replicas"], 3);
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "one"}, {"name": "two"}]));
    let container = &pod["containers"][0];
    assert_eq!(
        container["volumeMounts"][0],
        json!({"name": "config-0", "mountPath": "/etc/boson/plugin-trust", "readOnly": true})
    );
    assert_eq!(
        pod["volumes"][0],
        json!({"name": "config-0", "configMap": {"name": "plugin-trust"}})
    );
    assert_eq!(
        container["resources"],
        json!({"limits": {"memory": "4Gi"}, "requests": {"cpu": "100m", "memory": "256Mi"}})
    );
    let variables = container["env"].as_array().unwrap();
    for (name, value) in [
        ("BOSON_LOG", "debug"),
        ("BOSON_CONCURRENCY", "4"),
        ("BOSON_REGISTRY_WITHOUT_TLS", "registry.test"),
    ] {
        assert!(
            variables.contains(&json!({"name": name, "value": value})),
            "{name}: {container:#}"
        );
    }
    let policy = &found[&("NetworkPolicy".into(), SYSTEM.into(), "boson".into())];
    let registries = policy["spec"]["egress"].as_array().unwrap().last().unwrap();
    let ports = registries["ports"].as_array().unwrap();
    assert!(ports.contains(&json!({"port": 5001, "protocol": "TCP"})), "{policy:#}");
}

#[test]
fn it_can_be_installed_in_another_namespace() {
    let all = [
        "webhook.enabled=true",
        "links.enabled=true",
        "signer.enabled=true",
        "serviceMonitor.enabled=true",
        "dashboards.enabled=true",
    ];
    for scope in ["scope=listed", "scope=cluster-wide"] {
        // A name that YAML would read as a number.
        for object in objects(&manifest("123", &[&all[..], &[scope]].concat()).unwrap()).values() {
            assert!(!object.to_string().contains(SYSTEM), "{object:#}");
            for subject in object["subjects"].as_array().into_iter().flatten() {
                let own = ["boson-output", "boson-dns"].contains(&text(&subject["name"]));
                assert_eq!(
                    text(&subject["namespace"]),
                    if own { "default" } else { "123" },
                    "{object:#}"
                );
            }
        }
    }
}

#[test]
fn wrong_values_are_refused() {
    for wrong in [
        "scope=all",
        "scop=listed",
        "namespaces={}",
        "namespaces={Nats}",
        "namespaces={a,a}",
        "replicas=0",
        "image.repository=",
        // A number: YAML would make 1.1 of 1.10.
        "image.tag=2",
        "logLevel=loud",
        "webhook.enabled=yes",
        "webhook.enable=true",
        "options.RUST_LOG=debug",
        "options.BOSON_NAMESPACES=a",
        "signer.enabled=true,options.BOSON_SIGNER_NAME=other",
        "links.enabled=true",
        "options.BOSON_POD_LINKS=true",
        "registryPorts={70000}",
        "configMaps={7}",
    ] {
        let error = manifest(SYSTEM, &[wrong]).map(|_| wrong).unwrap_err().to_string();
        assert!(
            error.contains("values don't meet the specifications"),
            "{wrong}: {error}"
        );
    }
    manifest(SYSTEM, &["options.BOSON_SIGNER_NAME=other"]).unwrap();
}

#[test]
fn helm_finds_no_mistake_in_it() {
    for values in [&[][..], &["scope=cluster-wide", "webhook.enabled=true"]] {
        let output = helm(&["lint", "--strict"], values, None).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("0 chart(s) failed"), "{said}");
        assert!(!said.contains("[WARNING]") && !said.contains("[ERROR]"), "{said}");
    }
}

#[test]
fn the_api_server_accepts_it() {
    install().unwrap();
    for values in [
        &["webhook.enabled=true"][..],
        &["scope=cluster-wide", "signer.enabled=true"],
    ] {
        let text = manifest(SYSTEM, values).unwrap();
        let apply = [
            "apply",
            "--dry-run=server",
            "--validate=strict",
            "--server-side",
            "--force-conflicts",
            "--filename=-",
        ];
        let answer = shared().unwrap().try_kubectl(apply, &text).unwrap();
        assert!(answer.success, "{}", answer.stderr);
    }
}

/// In its own cluster, because the objects of the whole cluster belong to one release.
#[test]
fn the_documented_commands_install_upgrade_and_uninstall_it() {
    let cluster = Cluster::start().unwrap();
    cluster.kubectl(["create", "namespace", "nats"]).unwrap();
    releases(&cluster).unwrap();
}

fn releases(cluster: &Cluster) -> Result<()> {
    let notes = documented(cluster, "docs/install.md", "helm install")?;
    let next = "\n  kubectl --namespace boson-system rollout status deployment/boson\n";
    ensure!(
        notes.contains(next) && notes.contains("these namespaces: nats."),
        "{notes}"
    );
    cluster.kubectl([
        "get",
        "rolebinding/boson",
        "serviceaccount/boson-output",
        "--namespace",
        "nats",
    ])?;

    documented(cluster, "docs/upgrade.md", "helm upgrade")?;
    let revision = "secret/sh.helm.release.v1.boson.v2";
    cluster.kubectl(["get", revision, "deployment/boson", "--namespace", SYSTEM])?;
    cluster.kubectl([
        "get",
        "clusterrolebinding/boson-webhook",
        "rolebinding/boson",
        "--namespace",
        "nats",
    ])?;

    let values = ["scope=cluster-wide"];
    let output = helm(
        &["upgrade", "boson", "--reuse-values", "--namespace", SYSTEM],
        &values,
        Some(cluster),
    )?;
    let notes = String::from_utf8(output.stdout)?;
    ensure!(notes.contains("quarks.cloudfoundry.org/monitored=boson"), "{notes}");
    cluster.kubectl(["get", "clusterrolebinding/boson"])?;
    let served = [
        "get",
        "rolebindings,serviceaccounts",
        "--namespace",
        "nats",
        "--output",
        "name",
    ];
    ensure!(
        !cluster.kubectl(served)?.contains("boson"),
        "permissions in the namespace stay"
    );

    uninstall(cluster)
}

fn uninstall(cluster: &Cluster) -> Result<()> {
    documented(cluster, "docs/install.md", "helm uninstall")?;
    let kinds = "clusterroles,clusterrolebindings";
    let left = [
        "get",
        kinds,
        "--selector",
        "app.kubernetes.io/part-of=boson",
        "--output",
        "name",
    ];
    ensure!(cluster.kubectl(left)?.is_empty(), "permissions stay");
    // Deployments must not be deleted with the release.
    cluster.kubectl(["get", "crd/boshdeployments.quarks.cloudfoundry.org"])?;
    Ok(())
}

/// Runs the command of the page that begins with this text, with the chart of this repository.
fn documented(cluster: &Cluster, page: &str, begins: &str) -> Result<String> {
    let command = commands::of_page(page, begins)?.replace("target/chart", &chart().display().to_string());
    commands::run(&root(), cluster, &command)
}

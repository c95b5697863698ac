//! Uninstalling the operator, with kustomize and with Helm: the cluster then has the objects that it had before the
//! installation. All options are on that make the operator write objects outside of the namespaces that it serves.

use crate::chart::helm;
use crate::commands;
use crate::installed::{SYSTEM, kubeconfig};
use crate::links::{DIGEST, consumer};
use crate::objects::{OURS, is};
use crate::operator::{example_of, example_registry};
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::{Cluster, Operator};
use boson_tests::ports::free_port;
use boson_tests::registry::Server;
use boson_tests::{WAIT_TIMEOUT, quiet, root, try_wait_for_value};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

/// The namespace that it serves, as on the page.
const SERVED: &str = "nats";
/// The page with the commands.
const PAGE: &str = "docs/install.md";
/// What Kubernetes reports about itself.
const REPORTS: [&str; 2] = ["Event", "ComponentStatus"];
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("validatingwebhookconfiguration", "boson-webhook"),
    ("mutatingwebhookconfiguration", "boson-links-webhook"),
];
/// `mine/kustomization.yaml` for one listed namespace.
const MINE: &str = "
resources: [../deploy/listed, nats]
components: [../deploy/webhook, ../deploy/links, ../deploy/signer]
";
/// `mine/nats/kustomization.yaml`.
const MINE_SERVED: &str = "
namespace: nats
resources: [../../deploy/namespace]
components: [../../deploy/namespace/links]
";
/// The same with Helm, for all namespaces with the label.
const VALUES: [&str; 4] = [
    "scope=cluster-wide",
    "webhook.enabled=true",
    "links.enabled=true",
    "signer.enabled=true",
];

/// A cluster with an installed operator.
struct Site {
    cluster: Cluster,
    registry: Server,
}

/// In its own cluster, because all of its objects are compared.
#[test]
fn uninstalling_leaves_nothing_behind() {
    let registry = example_registry().unwrap();
    let cluster = Cluster::start().unwrap();
    let site = Site { cluster, registry };
    let before = site.wait_until_settled().unwrap();
    with_kustomize(&site).context("kustomize").unwrap();
    site.wait_until_only(&before).context("kustomize").unwrap();
    with_helm(&site).context("Helm").unwrap();
    site.wait_until_only(&before).context("Helm").unwrap();
}

fn with_kustomize(site: &Site) -> Result<()> {
    let clone = tempfile::tempdir()?;
    for folder in ["deploy", "crds"] {
        symlink(root().join(folder), clone.path().join(folder))?;
    }
    let mine = clone.path().join("mine");
    fs::create_dir_all(mine.join(SERVED))?;
    fs::write(mine.join("kustomization.yaml"), MINE)?;
    fs::write(mine.join(SERVED).join("kustomization.yaml"), MINE_SERVED)?;
    site.kubectl(&["create", "namespace", SERVED])?;
    site.documented(clone.path(), "kubectl apply -k mine")?;
    let mut operator = site.operator()?.variable("BOSON_NAMESPACES", SERVED);
    operator.start()?;
    site.uses(&operator)?;
    site.documented(clone.path(), "kubectl delete -k mine")?;
    site.are_gone(&operator)?;
    operator.kill();
    site.documented(clone.path(), "kubectl delete namespace nats")?;
    Ok(())
}

/// Helm does not delete the operator's namespace, so nothing may depend on that.
fn with_helm(site: &Site) -> Result<()> {
    site.kubectl(&["create", "namespace", SERVED])?;
    site.kubectl(&["label", "namespace", SERVED, "quarks.cloudfoundry.org/monitored=boson"])?;
    let install = ["install", "boson", "--namespace", SYSTEM, "--create-namespace"];
    let output = helm(&install, &VALUES, Some(&site.cluster))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut operator = site.operator()?;
    operator.start()?;
    site.uses(&operator)?;
    site.documented(&root(), "helm uninstall")?;
    site.are_gone(&operator)?;
    site.kubectl(&["get", "namespace", SYSTEM])?;
    site.creates_pods(&operator)?;
    operator.kill();
    site.documented(&root(), "kubectl delete --filename crds")?;
    site.documented(&root(), "kubectl delete namespace boson-system nats")?;
    Ok(())
}

// === impl Site ===

impl Site {
    /// An operator with the permissions of the installation. Its Deployment has no process: there is no node.
    fn operator(&self) -> Result<Operator> {
        self.cluster.wait_until_established()?;
        let operator = Operator::new(&self.cluster, SYSTEM)?.registry(&self.registry);
        let kubeconfig = kubeconfig(&self.cluster, SYSTEM, operator.files())?;
        let webhook = format!("127.0.0.1:{}", free_port()?);
        Ok(operator
            .variable("BOSON_KUBECONFIG", kubeconfig)
            .variable("BOSON_WEBHOOK_URL", format!("https://{webhook}"))
            .variable("BOSON_WEBHOOK_LISTEN", webhook)
            .variable("BOSON_POD_LINKS", "true")
            .variable("BOSON_SIGNER_NAME", "quarks.cloudfoundry.org/boson"))
    }

    /// A deployment with a link, a workload that consumes it, and a certificate of the signer.
    fn uses(&self, operator: &Operator) -> Result<()> {
        self.apply(&example_of(&self.registry, &[])?)?;
        self.apply(&[
            json!({"apiVersion": OURS, "kind": "QuarksSecret", "metadata": {"name": "signed"}, "spec": {
                "type": "certificate", "secretName": "signed", "request": {"certificate":
                    {"commonName": "signed.nats.svc", "keyLength": 2048, "signerType": "cluster"}}}}),
        ])?;
        self.wait_until(operator, "the deployment", || {
            Ok(is(&self.cluster.get(SERVED, "boshdeployment/nats")?, "Applied", "True"))
        })?;
        self.wait_until(operator, "the certificate", || {
            Ok(self.cluster.get(SERVED, "secret/signed").is_ok())
        })?;
        for (kind, role) in CONFIGURATIONS {
            let name = format!("{kind}/boson.{SYSTEM}");
            self.wait_until(operator, &name, || Ok(self.cluster.find("", &name)?.is_some()))?;
            let owners = self.cluster.get("", &name)?["metadata"]["ownerReferences"].take();
            ensure!(owners[0]["name"] == role, "{name} is owned by {owners}");
        }
        self.apply(&[consumer("web", "nats")])?;
        self.wait_until(operator, "a pod with its link", || {
            let pods = self.cluster.list(SERVED, "pods", "app=web")?;
            let (linked, others): (Vec<Value>, Vec<Value>) =
                pods.into_iter().partition(|pod| pod.to_string().contains(DIGEST));
            // One from before the API server knew the webhook is created again.
            for pod in others {
                let name = pod["metadata"]["name"].as_str().context("no name")?;
                self.cluster.delete(SERVED, &format!("pod/{name}"))?;
            }
            Ok(!linked.is_empty())
        })
    }

    /// The configurations of the webhooks are deleted, and an operator that still runs does not bring them back.
    fn are_gone(&self, operator: &Operator) -> Result<()> {
        for (kind, _) in CONFIGURATIONS {
            self.wait_until(operator, &format!("the end of the {kind}"), || {
                Ok(self.cluster.list("", kind, "")?.is_empty())
            })?;
        }
        quiet("the operator", &0, || {
            let all = CONFIGURATIONS.map(|(kind, _)| self.cluster.list("", kind, "").unwrap());
            all.concat().len()
        });
        Ok(())
    }

    /// Pods that ask for links do not need the operator any more.
    fn creates_pods(&self, operator: &Operator) -> Result<()> {
        let mut pod = consumer("asks", "nats")["spec"]["template"].take();
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        pod["metadata"]["name"] = "asks".into();
        // API servers notice the deletion a moment later.
        self.wait_until(operator, "a pod", || Ok(self.apply(std::slice::from_ref(&pod)).is_ok()))
    }

    fn documented(&self, directory: &Path, begins: &str) -> Result<String> {
        commands::run(directory, &self.cluster, &commands::of_page(PAGE, begins)?)
    }

    // --- the cluster, as an administrator ---

    fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.cluster.kubectl(["--namespace", SERVED].iter().chain(arguments))
    }

    fn apply(&self, objects: &[Value]) -> Result<()> {
        self.cluster.apply(SERVED, objects)
    }

    fn wait_until(&self, operator: &Operator, what: &str, holds: impl Fn() -> Result<bool>) -> Result<()> {
        let all = "boshdeployments,quarkssecrets,secrets,pods";
        let there = || self.kubectl(&["get", all, "--output=name"]).unwrap_or_default();
        operator.wait_until(what, WAIT_TIMEOUT, || Ok(holds().unwrap_or(false)), there)
    }

    /// All objects of the cluster: kind, namespace and name.
    fn objects(&self) -> Result<BTreeSet<String>> {
        let mut all = self.cluster.all()?;
        all.retain(|object| !REPORTS.iter().any(|kind| object["kind"] == *kind));
        let named = |object: &Value| {
            let part = |value: &Value| value.as_str().unwrap_or("-").to_string();
            let metadata = &object["metadata"];
            [&object["kind"], &metadata["namespace"], &metadata["name"]]
                .map(part)
                .join(" ")
        };
        Ok(all.iter().map(named).collect())
    }

    /// The objects of a new cluster, once Kubernetes has created its own.
    fn wait_until_settled(&self) -> Result<BTreeSet<String>> {
        let mut now = self.objects()?;
        try_wait_for_value("a cluster that does not change", WAIT_TIMEOUT, || {
            std::thread::sleep(Duration::from_secs(5));
            let last = std::mem::replace(&mut now, self.objects()?);
            ensure!(now == last, "{now:#?} instead of {last:#?}");
            Ok(last)
        })
    }

    /// Waits until the cluster has no other objects than these.
    fn wait_until_only(&self, before: &BTreeSet<String>) -> Result<()> {
        try_wait_for_value("what was there before", WAIT_TIMEOUT, || {
            // A kind whose definition is being deleted cannot be listed.
            let now = self.objects()?;
            let left: Vec<&String> = now.difference(before).collect();
            ensure!(left.is_empty(), "what is left: {left:#?}");
            Ok(())
        })
    }
}

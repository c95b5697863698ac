//! `host deploy`, `host history` and `host rollback` against an API server: what they write, in which form the operator
//! reads it, and what they refuse. No pod runs here.

use crate::kubelet::Kubelet;
use crate::objects::OURS;
use crate::operator_process::{OperatorProcess, Tenant, small_release};
use crate::reader::Reader;
use crate::small_deployment::Small;
use boson_tests::Ran;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use tokio::task::block_in_place;

/// In no output.
const VALUE: &str = "CANARY-VALUE";
const DEPLOYER: &str = "--verb=get,list,create,patch,delete --resource=configmaps,secrets,\
    boshdeployments.quarks.cloudfoundry.org,quarksstatefulsets.quarks.cloudfoundry.org,pods";
const SCALE: &str = "- {type: replace, path: /instance_groups/name=web/instances, value: ((count))}\n";

/// A user, in a folder with a manifest and an ops file.
struct Deployer<'t> {
    tenant: &'t Tenant,
    reader: Reader<'t>,
}

// === impl Deployer ===

impl<'t> Deployer<'t> {
    fn new(tenant: &'t Tenant) -> Self {
        let reader = Reader::new(tenant, "deployer", DEPLOYER);
        let small = Small {
            domain: "((word))",
            ..Small::default()
        };
        let manifest = format!("name: d\n{}", small.manifest());
        fs::write(reader.folder().join("manifest.yml"), manifest).unwrap();
        fs::write(reader.folder().join("scale.yml"), SCALE).unwrap();
        Self { tenant, reader }
    }

    /// Runs a command while the pods that the operator creates become ready.
    fn run(&self, words: &[&str]) -> Ran {
        let _kubelet = Kubelet::of(self.tenant.pods());
        let ran = block_in_place(|| self.reader.run(words));
        assert!(!ran.stdout.contains(VALUE) && !ran.stderr.contains(VALUE), "{ran:?}");
        ran
    }

    /// Deploys the manifest, with a value for its variable.
    fn deploy(&self, more: &[&str]) -> Ran {
        self.deploy_with(VALUE, more)
    }

    fn deploy_with(&self, value: &str, more: &[&str]) -> Ran {
        let (word, release) = (format!("word={value}"), small_release());
        let fixed = ["deploy", "manifest.yml", "-d", "d", "-v", &word, "--release"];
        let words: Vec<&str> = fixed.iter().copied().chain(release.to_str()).collect();
        self.run(&[&words, more].concat())
    }

    /// The rows of `host history`.
    fn history(&self) -> Vec<Value> {
        let ran = self.run(&["history", "-d", "d", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
        printed["Tables"][0]["Rows"].as_array().unwrap().clone()
    }

    /// The versions of all objects that a deploy can write.
    async fn versions(&self) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        for (api_version, kind) in [("v1", "ConfigMap"), ("v1", "Secret"), (OURS, "BOSHDeployment")] {
            for object in self.tenant.list(api_version, kind).await {
                let metadata = &object["metadata"];
                found.insert(
                    format!("{kind}/{}", metadata["name"]),
                    metadata["resourceVersion"].clone(),
                );
            }
        }
        found
    }

    async fn object(&self) -> Value {
        self.tenant.get(OURS, "BOSHDeployment", "d").await.unwrap()
    }
}

fn succeeded(ran: &Ran, parts: &[&str]) {
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in parts {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
}

fn failed(ran: &Ran, part: &str) {
    assert!(ran.code == 1 && ran.stderr.contains(part), "{ran:?}");
}

/// Of all pods.
async fn uids(tenant: &Tenant) -> BTreeSet<String> {
    let pods = tenant.list("v1", "Pod").await;
    pods.iter().map(|pod| pod["metadata"]["uid"].to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_recreates_all_pods_on_request() {
    let operator = OperatorProcess::set("host-recreate", false, &[]).await;
    let tenant = operator.tenant("d");
    let deployer = Deployer::new(&tenant);
    let registry = format!("{}/bosh", tenant.registry);
    let options = ["--conversion-mode", "in-process", "--registry", &registry, "--yes"];
    let deploy = |more: &[&str]| deployer.deploy(&[&options[..], more].concat());
    succeeded(&deploy(&[]), &["revision 1 is ready ("]);
    let first = uids(&tenant).await;
    let ran = deploy(&["--recreate", "--dry-run"]);
    succeeded(&ran, &["recreate web: pods created before "]);
    assert_eq!(uids(&tenant).await, first);
    failed(&deploy(&["--skip-drain=gone"]), "there is no instance group 'gone'");
    let early = deploy(&["--recreate-vms-created-before", "2026-01-01T00:00:00Z"]);
    succeeded(&early, &["has these inputs already: revision 1"]);
    assert_eq!(uids(&tenant).await, first);
    succeeded(&deploy(&["--recreate"]), &["revision 1 is ready ("]);
    let second = uids(&tenant).await;
    assert!(
        second.len() == first.len() && second.is_disjoint(&first),
        "{first:?} {second:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_stores_its_inputs_and_a_rollback_applies_them_again() {
    let operator = OperatorProcess::set("host-deploy", false, &[]).await;
    let tenant = operator.tenant("d");
    let deployer = Deployer::new(&tenant);
    nothing_is_written(&deployer).await;

    let registry = format!("{}/bosh", tenant.registry);
    let options = ["--conversion-mode", "in-process", "--registry", &registry, "--yes"];
    let ran = deployer.deploy(&options);
    succeeded(
        &ran,
        &["+ create web/0\n", "revision 1 applied\n", "revision 1 is ready ("],
    );
    let first = deployer.object().await;
    assert_eq!(
        first["metadata"]["annotations"]["quarks.cloudfoundry.org/revision"],
        "1"
    );
    assert_eq!(
        first["spec"]["vars"],
        json!([{"name": "word", "secret": "d.given-word-1"}])
    );
    its_inputs_are_owned_and_immutable(&tenant, &first).await;
    // Also if another tool has set fields.
    let fields = json!({"apiVersion": OURS, "kind": "BOSHDeployment", "metadata": {"name": "d"},
        "spec": {"manifest": first["spec"]["manifest"], "variables": {"retain": "Always"}}});
    tenant.apply(fields).await;
    what_is_deployed_already_and_dry_runs_change_nothing(&deployer).await;

    let ran = deployer.deploy(&["-o", "scale.yml", "-v", "count=2", "--max-in-flight", "1", "--yes"]);
    succeeded(
        &ran,
        &[
            "revision 2 applied\n",
            "web: 2 of 2 updated, 2 ready\n",
            "revision 2 is ready (",
        ],
    );
    let second = deployer.object().await;
    assert_eq!(second["spec"]["variables"]["retain"], "Always");
    assert_eq!(second["spec"]["conversion"], first["spec"]["conversion"]);
    assert_eq!(second["spec"]["ops"].as_array().unwrap().len(), 2);
    let mut secrets = second["spec"]["vars"].as_array().unwrap().clone();
    secrets.sort_by_key(|one| one["name"].to_string());
    let wanted = json!([{"name": "count", "secret": "d.given-count-2"}, {"name": "word", "secret": "d.given-word-1"}]);
    assert_eq!(json!(secrets), wanted);

    a_rollback_applies_them_again(&deployer, &first).await;
    history_and_garbage(&deployer).await;
    refused(&deployer);
}

async fn its_inputs_are_owned_and_immutable(tenant: &Tenant, deployment: &Value) {
    for (kind, name) in [("ConfigMap", "d.revision-1"), ("Secret", "d.given-word-1")] {
        let found = tenant.get("v1", kind, name).await.unwrap();
        let metadata = &found["metadata"];
        assert_eq!(
            metadata["ownerReferences"][0]["uid"], deployment["metadata"]["uid"],
            "{metadata:#}"
        );
        assert_eq!(found["immutable"], true);
    }
}

async fn a_rollback_applies_them_again(deployer: &Deployer<'_>, first: &Value) {
    let ran = deployer.run(&["rollback", "-d", "d", "--yes"]);
    succeeded(
        &ran,
        &["+   instances: 1\n", "revision 3 applied\n", "revision 3 is ready ("],
    );
    let third = deployer.object().await;
    assert_eq!(third["spec"]["ops"], json!([]));
    assert_eq!(third["spec"]["manifest"], first["spec"]["manifest"]);
    assert_eq!(third["spec"]["vars"], first["spec"]["vars"]);
}

async fn what_is_deployed_already_and_dry_runs_change_nothing(deployer: &Deployer<'_>) {
    let before = deployer.versions().await;
    let generation = deployer.object().await["metadata"]["generation"].clone();
    let ran = deployer.deploy(&["--yes"]);
    succeeded(
        &ran,
        &[
            "no differences\n",
            "has these inputs already: revision 1\n",
            "revision 1 is ready (",
        ],
    );
    let ran = deployer.deploy_with("other", &["--dry-run"]);
    succeeded(&ran, &["restart web/0", "given values:\n  word: another value\n"]);
    let ran = deployer.deploy(&["-o", "scale.yml", "-v", "count=2", "--dry-run"]);
    succeeded(&ran, &["+ create web/1\n", "revision 2 can be applied (dry run)\n"]);
    failed(
        &deployer.deploy(&["-o", "scale.yml", "-v", "count=2"]),
        "is not a terminal",
    );
    same_inputs(&before, &deployer.versions().await);
    assert_eq!(deployer.object().await["metadata"]["generation"], generation);
}

/// Before the first deploy.
async fn nothing_is_written(deployer: &Deployer<'_>) {
    // Kubernetes writes it into each new namespace.
    let authority = ["v1", "ConfigMap", "kube-root-ca.crt"];
    let tenant = deployer.tenant;
    tenant
        .wait_for_object("the cluster's authority", authority, Value::is_object)
        .await;
    let before = deployer.versions().await;
    failed(&deployer.deploy(&[]), "standard input is not a terminal: use --yes");
    let ran = deployer.deploy(&["--dry-run"]);
    succeeded(&ran, &["+ create web/0\n", "revision 1 can be applied (dry run)\n"]);
    assert!(ran.stderr.contains("all of the deployment is new"), "{ran:?}");
    let other = deployer.run(&["deploy", "manifest.yml", "-d", "other", "--yes"]);
    failed(
        &other,
        "Expected manifest to specify deployment name 'other' but was 'd'",
    );
    assert_eq!(deployer.versions().await, before);
}

/// The operator may write the status of the deployment and Secrets of its own meanwhile.
fn same_inputs(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) {
    let inputs = |all: &BTreeMap<String, Value>| {
        let mut all = all.clone();
        let is_input = |name: &str| {
            ["manifest-", "ops-", "revision-", "given-"]
                .iter()
                .any(|part| name.contains(part))
        };
        all.retain(|name, _| is_input(name) && !name.contains("desired-manifest"));
        all
    };
    assert_eq!(inputs(before), inputs(after));
}

async fn history_and_garbage(deployer: &Deployer<'_>) {
    let namespace = &deployer.tenant.namespace;
    let row = |number: &str, ops: &str, rollback: &str, state: &str| {
        json!({
            "revision": number, "user": format!("system:serviceaccount:{namespace}:deployer"),
            "manifest": "manifest.yml", "ops": ops, "rollback_to": rollback, "state": state,
        })
    };
    let mut rows = deployer.history();
    for row in &mut rows {
        let created = row.as_object_mut().unwrap().remove("created").unwrap();
        assert!(created.as_str().unwrap().ends_with('Z'), "{created}");
    }
    let wanted = [
        row("1", "", "", "superseded"),
        row("2", "scale.yml\n(--canaries, --max-in-flight)", "", "superseded"),
        row("3", "", "1", "deployed"),
    ];
    assert_eq!(rows, wanted);

    let ran = deployer.run(&["rollback", "2", "-d", "d", "--yes", "--keep", "1"]);
    succeeded(&ran, &["revision 4 is ready ("]);
    let numbers: Vec<Value> = deployer.history().iter().map(|row| row["revision"].clone()).collect();
    assert_eq!(numbers, ["4"]);
    let found = deployer.object().await;
    let used = found["spec"]["manifest"]["name"].as_str().unwrap().to_string();
    let names: Vec<String> = deployer.versions().await.into_keys().collect();
    assert!(names.contains(&format!("ConfigMap/\"{used}\"")), "{names:?}");
    assert!(
        names.contains(&"Secret/\"d.given-word-1\"".to_string()),
        "revision 4 refers to it: {names:?}"
    );
    deployer.tenant.wait_until_ready("d").await;
}

fn refused(deployer: &Deployer<'_>) {
    failed(
        &deployer.run(&["rollback", "9", "-d", "d", "--yes"]),
        "revision 9 of deployment 'd' is not kept",
    );
    failed(
        &deployer.run(&["rollback", "-d", "d", "--yes"]),
        "no revision before 4 of deployment 'd' is kept",
    );
    let ran = deployer.run(&["rollback", "4", "-d", "d", "--yes"]);
    succeeded(&ran, &["has these inputs already: revision 4\n"]);
    let used = deployer.reader.used();
    assert!(used.forbidden.is_empty(), "{:?}", used.forbidden);

    let few = "--verb=get,list --resource=boshdeployments.quarks.cloudfoundry.org";
    let few = Reader::new(deployer.tenant, "few", few);
    let namespace = &deployer.tenant.namespace;
    let ran = few.run(&["history", "-d", "d"]);
    failed(&ran, &format!("you may not list configmaps in namespace '{namespace}'"));
    fs::copy(
        deployer.reader.folder().join("manifest.yml"),
        few.folder().join("manifest.yml"),
    )
    .unwrap();
    let ran = few.run(&["deploy", "manifest.yml", "-d", "d", "-v", "word=x", "--yes"]);
    failed(&ran, &format!("you may not list configmaps in namespace '{namespace}'"));
}

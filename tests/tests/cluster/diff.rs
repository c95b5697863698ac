//! `host diff` against a cluster: it compares with the manifest that the operator has stored, and only reads.

use crate::operator_process::{OperatorProcess, Tenant, small_release};
use crate::rbac;
use crate::small_deployment::Small;
use boson_tests::cluster::shared;
use boson_tests::{Ran, host};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A user who may read what the command needs, and nothing else.
struct Reader<'t> {
    tenant: &'t Tenant,
    scratch: TempDir,
    /// As the audit log has it.
    name: String,
}

// === impl Reader ===

impl<'t> Reader<'t> {
    fn new(tenant: &'t Tenant) -> Self {
        let (cluster, scratch) = (shared().unwrap(), tempfile::tempdir().unwrap());
        let namespace = tenant.namespace.as_str();
        let within = |words: &str| {
            let words = words.split(' ').chain(["--namespace", namespace]);
            cluster.kubectl(words).unwrap()
        };
        within("create serviceaccount reader");
        within("create role reader --verb=get --resource=secrets,boshdeployments.quarks.cloudfoundry.org");
        within(&format!(
            "create rolebinding reader --role=reader --serviceaccount={namespace}:reader"
        ));
        let token = within("create token reader");
        let reader = Self {
            tenant,
            scratch,
            name: format!("system:serviceaccount:{namespace}:reader"),
        };
        let kubeconfig = reader.kubeconfig();
        fs::copy(cluster.kubeconfig(), &kubeconfig).unwrap();
        for words in [
            format!("config set-credentials reader --token={}", token.trim()),
            "config set-context --current --user=reader".into(),
        ] {
            let words = words.split(' ').chain(["--kubeconfig", kubeconfig.to_str().unwrap()]);
            cluster.kubectl(words).unwrap();
        }
        reader
    }

    fn kubeconfig(&self) -> PathBuf {
        self.scratch.path().join("kubeconfig")
    }

    /// Compares this manifest with that of a deployment.
    fn diff(&self, deployment: &str, manifest: &Small<'_>, more: &[&str]) -> Ran {
        fs::write(self.scratch.path().join("manifest.yml"), manifest.manifest()).unwrap();
        let (kubeconfig, release) = (self.kubeconfig(), small_release());
        let fixed = ["diff", "manifest.yml", "--deployment", deployment];
        let options = [
            "--namespace",
            &self.tenant.namespace,
            "--kubeconfig",
            kubeconfig.to_str().unwrap(),
        ];
        let release = ["--release", release.to_str().unwrap()];
        let arguments = fixed.iter().chain(&options).chain(&release).chain(more).copied();
        host(self.scratch.path(), arguments).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_compared_with_what_the_cluster_has_and_nothing_is_written() {
    let operator = OperatorProcess::set("diff", false, &[]).await;
    let tenant = operator.tenant("d");
    let variables = "[{name: word, type: password}]";
    let applied = Small {
        variables,
        ..Small::default()
    };
    tenant.config_map("d-manifest", "manifest", &applied.manifest()).await;
    tenant.deployment("d", &[]).await;
    tenant.applied("d").await;
    let reader = Reader::new(&tenant);

    let ran = reader.diff("d", &applied, &[]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "no differences\n"),
        "{}",
        ran.stderr
    );

    let changed = Small {
        domain: "other.example.com",
        instances: 2,
        ..Small::default()
    };
    let ran = reader.diff("d", &changed, &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for part in [
        "-   instances: 1\n+   instances: 2\n",
        "restart web/0",
        "+ create web/1\n",
        "- word: its value is retained",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("other.example.com"), "{}", ran.stdout);

    let ran = reader.diff("d", &changed, &["--format", "bosh"]);
    let domain = r#"        domain: "<redacted>""#;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stdout.contains(&format!("- {domain}\n+ {domain}\n")),
        "{}",
        ran.stdout
    );

    let ran = reader.diff("unknown", &applied, &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("it has no manifest"), "{}", ran.stderr);
    assert!(ran.stdout.contains("+ create web/0\n"), "{}", ran.stdout);

    let used = rbac::used(shared().unwrap(), &reader.name).unwrap();
    let requests: Vec<String> = used.permissions.iter().map(ToString::to_string).collect();
    assert_eq!(requests, ["get secrets", "get boshdeployments.quarks.cloudfoundry.org"]);
    assert!(used.forbidden.is_empty(), "{:?}", used.forbidden);
}

//! A user with few permissions, whose commands run with a kubeconfig of their own.

use crate::operator_process::Tenant;
use crate::rbac::{self, Use};
use boson_tests::cluster::shared;
use boson_tests::{Ran, host};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A ServiceAccount in the namespace of a tenant.
pub struct Reader<'t> {
    tenant: &'t Tenant,
    scratch: TempDir,
    account: &'static str,
}

// === impl Reader ===

impl<'t> Reader<'t> {
    /// `role`: what `kubectl create role` takes.
    pub fn new(tenant: &'t Tenant, account: &'static str, role: &str) -> Self {
        let (cluster, scratch) = (shared().unwrap(), tempfile::tempdir().unwrap());
        let namespace = tenant.namespace.as_str();
        let within = |words: &str| {
            let words = words.split(' ').chain(["--namespace", namespace]);
            cluster.kubectl(words).unwrap()
        };
        within(&format!("create serviceaccount {account}"));
        within(&format!("create role {account} {role}"));
        within(&format!(
            "create rolebinding {account} --role={account} --serviceaccount={namespace}:{account}"
        ));
        let token = within(&format!("create token {account}"));
        let kubeconfig = scratch.path().join("kubeconfig");
        fs::copy(cluster.kubeconfig(), &kubeconfig).unwrap();
        for words in [
            format!("config set-credentials {account} --token={}", token.trim()),
            format!("config set-context --current --user={account}"),
        ] {
            let words = words.split(' ').chain(["--kubeconfig", kubeconfig.to_str().unwrap()]);
            cluster.kubectl(words).unwrap();
        }
        Self {
            tenant,
            scratch,
            account,
        }
    }

    /// Where its commands run.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Runs a command of `host` in the tenant's namespace.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        let options = ["--namespace", &self.tenant.namespace, "--kubeconfig", "kubeconfig"];
        host(self.folder(), arguments.iter().chain(&options).copied()).unwrap()
    }

    /// The requests so far.
    pub fn used(&self) -> Use {
        let (namespace, account) = (&self.tenant.namespace, self.account);
        let name = format!("system:serviceaccount:{namespace}:{account}");
        rbac::used(shared().unwrap(), &name).unwrap()
    }
}

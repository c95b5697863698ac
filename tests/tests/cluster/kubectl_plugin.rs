//! `kubectl boson`: kubectl finds the program under its other name, passes the options of a user on, and completes its
//! commands.

use anyhow::Result;
use boson_tests::cluster::{Cluster, program, shared};
use std::os::unix::fs::symlink;
use std::process::{Command, Output};
use tempfile::TempDir;

/// kubectl with the plugin on its path.
struct Kubectl {
    directory: TempDir,
    cluster: &'static Cluster,
}

// === impl Kubectl ===

impl Kubectl {
    fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        for name in ["kubectl-boson", "kubectl_complete-boson"] {
            symlink(boson_tests::binary()?, directory.path().join(name))?;
        }
        let cluster = shared()?;
        cluster.define()?;
        Ok(Self { directory, cluster })
    }

    /// Runs it without a configuration of its own.
    fn run(&self, words: &[&str], kubeconfig: bool) -> Result<Output> {
        let mut command = Command::new(program("kubectl")?);
        command.args(words).env("HOME", self.directory.path());
        command.env("PATH", self.directory.path()).env_remove("KUBECONFIG");
        command.env_remove("BOSON_KUBECONFIG").env_remove("BOSON_CONTEXT");
        if kubeconfig {
            command.env("KUBECONFIG", self.cluster.kubeconfig());
        }
        Ok(command.output()?)
    }

    fn says(&self, words: &[&str], kubeconfig: bool) -> String {
        let output = self.run(words, kubeconfig).unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }
}

#[test]
fn kubectl_runs_the_plugin_against_its_cluster() {
    let kubectl = Kubectl::new().unwrap();
    let listed = kubectl.says(&["plugin", "list"], false);
    assert!(listed.contains("/kubectl-boson"), "{listed}");
    let file = kubectl.cluster.kubeconfig().display().to_string();
    let context = kubectl.cluster.kubectl(["config", "current-context"]).unwrap();
    let context = context.trim();
    let prune = ["boson", "prune", "nothing", "--dry-run"];
    for (options, kubeconfig) in [
        (vec!["-n", "default", "--kubeconfig", &file], false),
        (
            vec!["--namespace=default", "--context", context, "--kubeconfig", &file],
            false,
        ),
        (vec!["--context", context], true),
        (vec![], true),
    ] {
        let said = kubectl.says(&[&prune[..], &options].concat(), kubeconfig);
        let found = "error: there is no BOSHDeployment 'nothing' in namespace 'default'";
        assert!(said.starts_with(found), "{options:?}: {said}");
    }
    let said = kubectl.says(&[&prune[..], &["--context", "other"]].concat(), true);
    assert!(said.contains("other"), "{said}");
}

#[test]
fn kubectl_completes_its_commands() {
    let kubectl = Kubectl::new().unwrap();
    let said = kubectl.says(&["__complete", "boson", "wa"], false);
    assert!(said.starts_with("wait\tWait until"), "{said}");
    let said = kubectl.says(&["__complete", "boson", "wait", "nats", "--names"], false);
    assert!(said.starts_with("--namespace"), "{said}");
}

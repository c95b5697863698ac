//! `make up`, a second time while it is up, and `make down`.

use anyhow::{Context, Result, ensure};
use boson_tests::cluster::can_have_node;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Leaves no cluster behind, even if the test fails.
struct Up {
    state: tempfile::TempDir,
}

// === impl Up ===

impl Up {
    fn run(&self, command: &str) -> Result<String> {
        let state = self.state.path().join("up");
        let output = Command::new(env!("CARGO_BIN_EXE_boson-up"))
            .args([command, "--state"])
            .arg(state)
            .env_remove("KUBECONFIG")
            .env_remove("REGISTRY")
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command}: {said}\n{error}");
        Ok(said)
    }

    fn kubectl(&self, words: &str) -> Result<String> {
        let clone = self.state.path().join("up/clone");
        let output = Command::new(clone.join("bin/kubectl"))
            .args(words.split(' '))
            .env("KUBECONFIG", self.state.path().join("up/kubeconfig"))
            .env("HOME", clone)
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What a user wrote, and what the operator made of it: kind and name, and the generation or content.
    fn objects(&self) -> Result<BTreeMap<String, String>> {
        let kinds =
            "boshdeployments,quarkssecrets,quarksstatefulsets,statefulsets,secrets,services,persistentvolumeclaims";
        let all: Value = serde_json::from_str(&self.kubectl(&format!("--namespace nats get {kinds} --output json"))?)?;
        let mut found = BTreeMap::new();
        for object in all["items"].as_array().context("no list")? {
            let metadata = &object["metadata"];
            let state = if metadata["generation"].is_null() {
                format!("{} {}", metadata["uid"], object["data"])
            } else {
                format!("{} {}", metadata["uid"], metadata["generation"])
            };
            found.insert(format!("{} {}", object["kind"], metadata["name"]), state);
        }
        Ok(found)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if self.state.path().join("up").exists() {
            let _ = self.run("down");
        }
    }
}

#[test]
fn up_deploys_the_example_once_and_down_leaves_nothing() {
    if !can_have_node() {
        return;
    }
    let up = Up {
        state: tempfile::tempdir().unwrap(),
    };
    let first = up.run("up").unwrap();
    for words in [
        "$ kubectl apply -k mine",
        "$ host image --manifest",
        "The deployment 'nats' is ready",
        "  make down",
    ] {
        assert!(first.contains(words), "no '{words}' in {first}");
    }
    assert!(!first.contains("# done before"), "{first}");
    let before = up.objects().unwrap();
    let second = up.run("up").unwrap();
    for words in [
        "# done before: kubectl create namespace nats",
        "# done before: kubectl --namespace nats patch quarksjob",
    ] {
        assert!(second.contains(words), "no '{words}' in {second}");
    }
    assert_eq!(up.objects().unwrap(), before);
    let cluster = up.state.path().join("up/kubeconfig").canonicalize().unwrap();
    up.run("down").unwrap();
    assert!(!cluster.exists() && !up.state.path().join("up").exists());
    assert!(!has_process_in(cluster.parent().unwrap()));
}

/// Whether a process has a path below this directory in its arguments.
fn has_process_in(directory: &Path) -> bool {
    let directory = directory.display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.map(|process| fs::read(process.path().join("cmdline")).unwrap_or_default());
    arguments
        .into_iter()
        .any(|words| String::from_utf8_lossy(&words).contains(&directory))
}

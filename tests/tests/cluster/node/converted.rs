//! A deployment that `host convert` has made plain objects of: pods need no operator.

use anyhow::{Result, ensure};
use boson_tests::cluster::Cluster;
use boson_tests::{WAIT_TIMEOUT, host, try_wait_for};
use std::path::Path;

/// A namespace with such a deployment.
pub struct Converted {
    pub cluster: &'static Cluster,
    pub namespace: String,
}

// === impl Converted ===

impl Converted {
    pub fn new(cluster: &'static Cluster, name: &str) -> Result<Self> {
        let namespace = cluster.namespace(name)?;
        Ok(Self { cluster, namespace })
    }

    /// The manifest in the directory of a release.
    pub fn deploy(&self, release: &Path, more: &[&str]) -> Result<()> {
        let image = self.cluster.operator_image()?;
        let scratch = tempfile::tempdir()?;
        let manifest = release.join("manifest.yml");
        let [release, manifest] = [release, &manifest].map(|path| path.display().to_string());
        let common = [
            "convert",
            &manifest,
            "--release",
            &release,
            "--namespace",
            &self.namespace,
            "--operator-image",
            image,
        ];
        let converted = host(scratch.path(), common.iter().chain(more))?;
        ensure!(converted.code == 0, "{}", converted.stderr);
        let apply = ["--namespace", &self.namespace, "apply", "--server-side", "--filename=-"];
        let applied = self.cluster.try_kubectl(apply, &converted.stdout)?;
        ensure!(applied.success, "{}", applied.stderr);
        Ok(())
    }

    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let namespace = ["--namespace", &self.namespace];
        self.cluster.kubectl(namespace.iter().chain(arguments))
    }

    pub fn until(&self, what: &str, holds: impl FnMut() -> Result<bool>) -> Result<()> {
        let logs = [
            "logs",
            "--selector",
            "quarks.cloudfoundry.org/instance-group-name",
            "--all-containers",
            "--prefix",
            "--tail=20",
        ];
        try_wait_for(what, WAIT_TIMEOUT, holds, || {
            let pods = self.kubectl(&["describe", "pods"]).unwrap_or_default();
            format!("{pods}\n{}", self.kubectl(&logs).unwrap_or_default())
        })
    }

    pub fn ready(&self, pod: &str) -> Result<()> {
        let name = format!("pod/{pod}");
        self.until(&format!("a ready {name}"), || {
            let wait = ["wait", &name, "--for=condition=Ready", "--timeout=5s"];
            Ok(self.kubectl(&wait).is_ok())
        })
    }

    /// Runs a shell script in a container.
    pub fn inside(&self, pod: &str, container: &str, script: &str) -> Result<String> {
        self.kubectl(&["exec", pod, "--container", container, "--", "sh", "-c", script])
    }
}

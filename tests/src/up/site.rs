//! Where `make up` deploys to.

use crate::cluster::Cluster;
use crate::page::{Page, REGISTRY};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::path::{Path, PathBuf, absolute};

/// The page whose commands are run.
pub const PAGE: &str = "docs/install.md";
/// The operator's image on the page.
const IMAGE: &str = "registry.example.com/boson/host";
/// The line of the page for a registry without TLS ends with this.
const WITHOUT_TLS: &str = "# only if it has no TLS";

/// A cluster and a registry.
#[derive(Debug)]
pub struct Site {
    pub kubeconfig: PathBuf,
    /// Host and port, and a path if the user gave one.
    pub registry: String,
    /// Host and port of the registry, if it has no TLS.
    pub without_tls: Option<String>,
    /// The operator's image that the node of the tests has; in a user's cluster, it is pushed to the registry.
    pub loaded: Option<String>,
}

/// Disks for the brokers of the example: the node of the tests has no provisioner.
///
/// # Errors
/// As [`Cluster::disks`].
pub fn disks(cluster: &Cluster) -> Result<()> {
    cluster.disks("nats", "broker-pvc-nats-broker-z0-v1", 2)
}

// === impl Site ===

impl Site {
    /// The cluster of the tests.
    pub fn of_tests(kubeconfig: PathBuf, registry: &str, image: &str) -> Self {
        Self {
            kubeconfig,
            registry: registry.to_string(),
            without_tls: Some(registry.to_string()),
            loaded: Some(image.to_string()),
        }
    }

    /// The user's cluster, if the environment names a registry for it.
    ///
    /// # Errors
    /// It names only a cluster, or only a registry.
    pub fn of_user(own_kubeconfig: &Path) -> Result<Option<Self>> {
        let named = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let kubeconfig = named("KUBECONFIG").map(PathBuf::from);
        let Some(registry) = named("REGISTRY") else {
            let other = kubeconfig.filter(|path| path != own_kubeconfig);
            ensure!(
                other.is_none(),
                "KUBECONFIG is set: set REGISTRY, too, to a registry that you and the cluster reach, or unset KUBECONFIG for a new cluster"
            );
            return Ok(None);
        };
        let kubeconfig =
            kubeconfig.context("REGISTRY is set: set KUBECONFIG, too, or unset REGISTRY for a new cluster")?;
        Ok(Some(Self {
            kubeconfig: absolute(kubeconfig)?,
            registry,
            without_tls: named("BOSON_REGISTRY_WITHOUT_TLS"),
            loaded: None,
        }))
    }

    pub fn write(&self, file: &Path) -> Result<()> {
        let text = json!({
            "kubeconfig": self.kubeconfig, "registry": self.registry, "without-tls": self.without_tls,
            "loaded": self.loaded,
        });
        // Whole or not at all: its readers wait for it.
        let new = file.with_extension("new");
        fs::write(&new, text.to_string())?;
        Ok(fs::rename(new, file)?)
    }

    pub fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("{} is missing", file.display()))?;
        let value: Value = serde_json::from_str(&text)?;
        let member = |name: &str| value[name].as_str().map(String::from);
        Ok(Self {
            kubeconfig: member("kubeconfig").context("no kubeconfig")?.into(),
            registry: member("registry").context("no registry")?,
            without_tls: member("without-tls"),
            loaded: member("loaded"),
        })
    }

    /// The page, with the names of this place.
    pub fn page(&self) -> Result<Page> {
        let tag = env!("CARGO_PKG_VERSION");
        let mut names = Vec::new();
        if let Some((name, tag_here)) = self.loaded.as_deref().and_then(|image| image.rsplit_once(':')) {
            let there = format!("newName: {IMAGE}, newTag: {tag}");
            names.push((there, format!("newName: {name}, newTag: '{tag_here}'")));
        }
        if let Some(host) = &self.without_tls {
            let setting = |value: &str| format!("BOSON_REGISTRY_WITHOUT_TLS, value: {value}}}");
            names.push((setting(REGISTRY), setting(&format!("'{host}'"))));
        }
        names.push((REGISTRY.into(), self.registry.clone()));
        Page::read(PAGE, names)
    }

    /// A file of the page, without the line that does not apply to the registry.
    pub fn file(&self, page: &Page, path: &str) -> Result<String> {
        let text = page.file(path)?;
        let applies = |line: &&str| self.without_tls.is_some() || !line.ends_with(WITHOUT_TLS);
        Ok(text
            .split_inclusive('\n')
            .filter(|line| applies(&line.trim_end()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "mine/kustomization.yaml";

    fn kustomization(site: &Site) -> String {
        site.file(&site.page().unwrap(), FILE).unwrap()
    }

    #[test]
    fn the_page_has_the_names_of_the_cluster_of_the_tests() {
        let site = Site::of_tests("/k".into(), "10.0.0.1:5000", "boson.test/host:1");
        let text = kustomization(&site);
        assert!(text.contains("newName: boson.test/host, newTag: '1'}"), "{text}");
        assert!(
            text.contains("BOSON_REGISTRY_WITHOUT_TLS, value: '10.0.0.1:5000'}"),
            "{text}"
        );
        assert!(!text.contains(REGISTRY), "{text}");
    }

    #[test]
    fn a_registry_with_tls_and_a_path_needs_no_setting() {
        let mut site = Site::of_tests("/k".into(), "r.example/team", "");
        site.loaded = None;
        site.without_tls = None;
        let text = kustomization(&site);
        assert!(
            text.contains("newName: r.example/team/boson/host, newTag: 0.1.0}"),
            "{text}"
        );
        assert!(!text.contains("WITHOUT_TLS"), "{text}");
        site.without_tls = Some("r.example".into());
        assert!(kustomization(&site).contains("BOSON_REGISTRY_WITHOUT_TLS, value: 'r.example'}"));
    }

    #[test]
    fn a_site_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("site.json");
        Site::of_tests("/k".into(), "10.0.0.1:5000", "boson.test/host:1")
            .write(&file)
            .unwrap();
        let read = Site::read(&file).unwrap();
        assert_eq!(read.kubeconfig, Path::new("/k"));
        assert_eq!(read.registry, "10.0.0.1:5000");
        assert_eq!(read.without_tls.as_deref(), Some("10.0.0.1:5000"));
        assert_eq!(read.loaded.as_deref(), Some("boson.test/host:1"));
    }
}

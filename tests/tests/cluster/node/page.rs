//! A user who follows `docs/install.md`: runs its commands, with the image and the registry of a test in place of those
//! on the page.

use anyhow::{Result, ensure};
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, own_with_node};
use boson_tests::page::{Checkout, Page, Said};
use boson_tests::registry::Server;
use boson_tests::up::{Site, disks};
use boson_tests::{WAIT_TIMEOUT, try_wait_until};
use std::time::Instant;
use tempfile::TempDir;

/// A user with a cluster, a registry, a clone and the page.
pub struct Walk {
    pub cluster: Cluster,
    _registry: Server,
    pub page: Page,
    site: Site,
    checkout: Checkout,
    _clone: TempDir,
}

// === impl Walk ===

impl Walk {
    /// In its own cluster: a page's installation can exist only once in a cluster. `None`: a node is not possible.
    pub fn begin() -> Result<Option<Self>> {
        let Some(cluster) = own_with_node()? else {
            return Ok(None);
        };
        let registry = Server::start_at(cluster.gateway(), false)?;
        cluster.trust(registry.host())?;
        disks(&cluster)?;
        let clone = tempfile::tempdir()?;
        let site = Site::of_tests(cluster.kubeconfig(), registry.host(), cluster.operator_image()?);
        let checkout = Checkout::at(clone.path(), &site.kubeconfig)?
            .with("HOME", clone.path())
            .with("BOSON_REGISTRY_WITHOUT_TLS", registry.host());
        Image::stemcell()?.write(&clone.path().join("target/stemcell.tar"))?;
        Ok(Some(Self {
            page: site.page()?,
            cluster,
            _registry: registry,
            site,
            checkout,
            _clone: clone,
        }))
    }

    /// Writes a file that the page shows.
    pub fn write(&self, path: &str) -> Result<()> {
        self.checkout.write(path, &self.site.file(&self.page, path)?)
    }

    /// Runs a command of the page, which may fail.
    #[allow(clippy::print_stdout, reason = "libtest shows the walk beside a failure")]
    pub fn tries(&self, begins: &str) -> Result<Said> {
        let command = self.page.command(begins)?;
        let began = Instant::now();
        let said = self.shell(&command)?;
        println!("$ {command}\n{}({:.1} s)\n", said.text, began.elapsed().as_secs_f64());
        Ok(said)
    }

    /// Runs a command of the page, which must succeed.
    pub fn does(&self, begins: &str) -> Result<String> {
        let said = self.tries(begins)?;
        ensure!(said.success, "{begins}: {}\n{}", said.text, self.everything()?);
        Ok(said.text)
    }

    /// The output and errors of a shell in the clone.
    pub fn shell(&self, script: &str) -> Result<Said> {
        self.checkout.shell(script)
    }

    pub fn kubectl(&self, words: &str) -> Result<String> {
        self.cluster.kubectl(words.split(' '))
    }

    /// The names of the objects of these kinds in the namespace of the example.
    pub fn names(&self, kinds: &str) -> Result<Vec<String>> {
        let items = self.cluster.get("nats", kinds)?["items"].take();
        let names = items.as_array().into_iter().flatten();
        let names = names.filter_map(|object| object["metadata"]["name"].as_str());
        Ok(names.map(String::from).collect())
    }

    /// What a failed step reports: all objects, the events and the operator's log.
    fn everything(&self) -> Result<String> {
        let log = "--namespace boson-system logs --selector app.kubernetes.io/component=operator --tail=100";
        Ok(format!(
            "{}\n{}",
            self.kubectl("get all,persistentvolumeclaims,persistentvolumes,events --all-namespaces")?,
            self.kubectl(log)?
        ))
    }

    /// Waits until the condition is met.
    pub fn wait_until(&self, what: &str, holds: impl Fn() -> Result<bool>) -> Result<()> {
        try_wait_until(what, WAIT_TIMEOUT, holds, || self.everything().unwrap_or_default())
    }
}

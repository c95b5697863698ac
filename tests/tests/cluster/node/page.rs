//! A page of the documents, and a user who follows it: runs its commands, with the image and the registry of a test in
//! place of those on the page.

use anyhow::{Context, Result, ensure};
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, own_with_node, program};
use boson_tests::registry::Server;
use boson_tests::{WAIT_TIMEOUT, root, try_wait_for};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

/// The names of the image and the registry on the page.
const IMAGE: &str = "registry.example.com/boson/host";
const REGISTRY: &str = "registry.example.com";

/// A user with a cluster, a clone and the page.
pub struct Walk {
    pub cluster: Cluster,
    registry: Server,
    pub page: String,
    /// The clone: the files that the page uses or writes.
    clone: TempDir,
}

/// The output of a command.
pub struct Said {
    pub success: bool,
    pub text: String,
}

// === impl Walk ===

impl Walk {
    /// In its own cluster: a page's installation can exist only once in a cluster. `None`: a node is not possible.
    pub fn begin(page: &str) -> Result<Option<Self>> {
        let Some(cluster) = own_with_node()? else {
            return Ok(None);
        };
        let registry = Server::start_at(cluster.gateway(), false)?;
        cluster.trust(registry.host())?;
        for (release, tag) in [("messaging", "1.4.0"), ("smoke", "0.3.1")] {
            let name = format!("{release}:ubuntu-jammy-1.584-{tag}");
            let jobs = root().join("docs/examples/nats/releases").join(release);
            Image::release(&name, &jobs)?.push(&registry, &name)?;
        }
        cluster.disks("nats", "broker-pvc-nats-broker-z0-v1", 2)?;
        let clone = tempfile::tempdir()?;
        for folder in ["deploy", "crds", "docs"] {
            symlink(root().join(folder), clone.path().join(folder))?;
        }
        fs::create_dir(clone.path().join("bin"))?;
        symlink(program("kubectl")?, clone.path().join("bin/kubectl"))?;
        symlink(boson_tests::binary()?, clone.path().join("bin/host"))?;
        let page = fs::read_to_string(root().join(page))?;
        Ok(Some(Self {
            cluster,
            registry,
            page,
            clone,
        }))
    }

    /// Text of the page, with the names of this test.
    fn renamed(&self, text: &str) -> Result<String> {
        let image = self.cluster.operator_image()?;
        let (name, tag) = image.rsplit_once(':').context("no tag")?;
        let text = text.replace(
            &format!("newName: {IMAGE}, newTag: {}", env!("CARGO_PKG_VERSION")),
            &format!("newName: {name}, newTag: '{tag}'"),
        );
        Ok(text.replace(REGISTRY, self.registry.host()))
    }

    /// Writes a file that the page shows: its block begins with its path.
    pub fn write(&self, path: &str) -> Result<()> {
        let begin = format!("```yaml\n# {path}\n");
        let (_, rest) = self
            .page
            .split_once(&begin)
            .with_context(|| format!("the page shows no {path}"))?;
        let (text, _) = rest.split_once("```").context("the block does not end")?;
        let file = self.clone.path().join(path);
        fs::create_dir_all(file.parent().context("no folder")?)?;
        Ok(fs::write(file, self.renamed(text)?)?)
    }

    /// The command of the page that begins with this text, with all its lines.
    pub fn command(&self, begins: &str) -> Result<String> {
        let prompt = format!("\n$ {begins}");
        let at = self
            .page
            .find(&prompt)
            .with_context(|| format!("the page has no command '{begins}'"))?;
        let rest = &self.page[at + 3..];
        let first = rest.split('\n').next().unwrap_or_default();
        let end = match first.split_once("<<") {
            None => first.len(),
            Some((_, mark)) => rest.find(&format!("\n{mark}\n")).context("no end of input")? + 1 + mark.len(),
        };
        self.renamed(&rest[..end])
    }

    /// Runs a command of the page, which may fail.
    #[allow(clippy::print_stdout, reason = "libtest shows the walk beside a failure")]
    pub fn tries(&self, begins: &str) -> Result<Said> {
        let command = self.command(begins)?;
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
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("timeout")
            .args([
                &WAIT_TIMEOUT.as_secs().to_string(),
                "bash",
                "-c",
                &format!("exec 2>&1\n{script}"),
            ])
            .current_dir(self.clone.path())
            .env("PATH", format!("{}/bin:{path}", self.clone.path().display()))
            .env("HOME", self.clone.path())
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .stdin(Stdio::null())
            .output()?;
        Ok(Said {
            success: output.status.success(),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
        })
    }

    pub fn kubectl(&self, words: &str) -> Result<String> {
        self.cluster.kubectl(words.split(' '))
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
    pub fn until(&self, what: &str, holds: impl Fn() -> Result<bool>) -> Result<()> {
        try_wait_for(what, WAIT_TIMEOUT, holds, || self.everything().unwrap_or_default())
    }
}

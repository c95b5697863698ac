//! Small images for tests: busybox and the files of a test, as a tar in the format of `docker save`.

use crate::registry::{Server, files_below};
use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Path in Debian's package `busybox-static`.
const BUSYBOX: &str = "/bin/busybox";

/// An image under construction.
#[derive(Clone, Debug)]
pub struct Image {
    name: String,
    entrypoint: Vec<String>,
    /// By path, without a leading slash.
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    File(Vec<u8>, u32),
    Link(String),
    Directory(u32),
}

// === impl Image ===

impl Image {
    /// A shell with the usual commands, the users root and `vcap` (1000), and `/tmp`. The name must have a tag; pods
    /// use the same name.
    ///
    /// # Errors
    /// `busybox-static` is not installed.
    pub fn busybox(name: &str) -> Result<Self> {
        let program = fs::read(BUSYBOX).context("busybox is missing: run .ci/setup")?;
        let list = Command::new(BUSYBOX).arg("--list").output()?;
        let mut image = Self {
            name: name.to_string(),
            entrypoint: Vec::new(),
            entries: BTreeMap::new(),
        };
        for command in String::from_utf8(list.stdout)?.lines() {
            image.entry(&format!("bin/{command}"), Entry::Link("busybox".into()));
        }
        image.entry("bin/busybox", Entry::File(program, 0o755));
        image.entry("tmp", Entry::Directory(0o1777));
        image.entry("root", Entry::Directory(0o700));
        Ok(image
            .file(
                "etc/passwd",
                "root:x:0:0:root:/root:/bin/sh\nvcap:x:1000:1000::/tmp:/bin/sh\n",
            )
            .file("etc/group", "root:x:0:\nvcap:x:1000:\n"))
    }

    /// The stemcell of the example: busybox, and what `host image` needs to run packaging scripts.
    ///
    /// # Errors
    /// As [`Self::busybox`].
    pub fn stemcell() -> Result<Self> {
        let bash = "#!/bin/sh\nexec /bin/busybox sh \"$@\"\n";
        Ok(Self::busybox("localhost/stemcell:1")?.executable("bin/bash", bash))
    }

    /// The image of a release from its source directory: busybox, with the release's jobs in `/var/vcap/jobs-src` and
    /// its packages, which are scripts in `src`, in the layout of release images.
    ///
    /// # Errors
    /// The directory cannot be read, or as [`Self::busybox`].
    pub fn release(name: &str, release: &Path) -> Result<Self> {
        let mut image = Self::busybox(name)?;
        for job in crate::folders(&release.join("jobs"))? {
            let job_name = job.file_name().context("no name")?.to_string_lossy().into_owned();
            for path in files_below(&job)? {
                let inner = path.strip_prefix(&job)?.display().to_string();
                // Jobs in images are built: their spec has the same name as in a tarball.
                let inner = if inner == "spec" { "job.MF".to_string() } else { inner };
                image = image.file(&format!("var/vcap/jobs-src/{job_name}/{inner}"), fs::read(path)?);
            }
        }
        let packages = release.join("src");
        if packages.is_dir() {
            for path in files_below(&packages)? {
                let inner = path.strip_prefix(&packages)?.display().to_string();
                image = image.executable(&format!("var/vcap/packages/{inner}"), fs::read(path)?);
            }
        }
        Ok(image)
    }

    /// Adds a file that is readable for all.
    #[must_use]
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.entry(path, Entry::File(content.into(), 0o644));
        self
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(mut self, path: &str, target: &str) -> Self {
        self.entry(path, Entry::Link(target.into()));
        self
    }

    /// Adds a program or script that is executable for all.
    #[must_use]
    pub fn executable(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.entry(path, Entry::File(content.into(), 0o755));
        self
    }

    /// Adds a program of this machine, with the libraries that it is linked to.
    ///
    /// # Errors
    /// The program is not installed.
    pub fn installed(mut self, program: &str) -> Result<Self> {
        let listed = Command::new("ldd").arg(program).output()?;
        ensure!(listed.status.success(), "{program} is missing: run .ci/setup");
        let listed = String::from_utf8(listed.stdout)?;
        let libraries = listed.split_whitespace().filter(|word| word.starts_with('/'));
        for path in libraries.chain([program]) {
            let content = fs::read(path).with_context(|| path.to_string())?;
            self = self.executable(path, content);
        }
        Ok(self)
    }

    /// Sets the command of its containers, which a pod can override.
    #[must_use]
    pub fn entrypoint(mut self, words: &[&str]) -> Self {
        self.entrypoint = words.iter().map(ToString::to_string).collect();
        self
    }

    /// Writes it as a tar for [`super::Cluster::load`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let (tag, layer) = (&self.name, self.layer()?);
        ensure!(tag.contains(':'), "the image {tag} has no tag");
        let config = self.config(&layer);
        let manifest = json!([{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]);
        let mut archive = tar::Builder::new(File::create(file)?);
        append(&mut archive, "layer.tar", &layer, 0o644)?;
        append(&mut archive, "config.json", config.as_bytes(), 0o644)?;
        append(&mut archive, "manifest.json", manifest.to_string().as_bytes(), 0o644)?;
        Ok(archive.into_inner()?.flush()?)
    }

    /// Pushes it to a registry as `bosh/<name>`, for pods that pull it.
    ///
    /// # Errors
    /// The registry refuses.
    pub fn push(&self, registry: &Server, name: &str) -> Result<()> {
        let layer = self.layer()?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&layer)?;
        registry.push_with(name, &[packed.finish()?], self.config(&layer).as_bytes())
    }

    fn config(&self, layer: &[u8]) -> String {
        let config = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], "Entrypoint": self.entrypoint},
            "rootfs": {"type": "layers", "diff_ids": [boson_oci::digest(layer)]},
        });
        config.to_string()
    }

    fn entry(&mut self, path: &str, entry: Entry) {
        self.entries.insert(path.trim_start_matches('/').to_string(), entry);
    }

    fn layer(&self) -> Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            match entry {
                Entry::File(content, mode) => append(&mut archive, path, content, *mode)?,
                Entry::Link(target) => {
                    let mut header = tar::Header::new_gnu();
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_size(0);
                    header.set_mode(0o777);
                    archive.append_link(&mut header, path, target)?;
                }
                Entry::Directory(mode) => {
                    let mut header = tar::Header::new_gnu();
                    header.set_entry_type(tar::EntryType::Directory);
                    header.set_size(0);
                    header.set_mode(*mode);
                    archive.append_data(&mut header, path, std::io::empty())?;
                }
            }
        }
        Ok(archive.into_inner()?)
    }
}

fn append(archive: &mut tar::Builder<impl Write>, path: &str, content: &[u8], mode: u32) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(mode);
    Ok(archive.append_data(&mut header, path, content)?)
}

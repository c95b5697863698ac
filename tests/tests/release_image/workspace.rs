//! A directory with a release, a stemcell image and the program.

use boson_tests::compiled::{Release, write_stemcell};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The name of the release's image, without its registry.
pub const NAME: &str = "messaging:ubuntu-jammy-1.584-1.4.0";

pub struct Workspace {
    directory: TempDir,
}

// === impl Workspace ===

impl Workspace {
    /// With `release.tgz` and the layout `stemcell`.
    pub fn new() -> Self {
        let workspace = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        workspace.release(&Release::small("hello"));
        write_stemcell(
            &workspace.path("stemcell"),
            &[
                ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nsyslog:x:101:1:::\n"),
                ("bin/sh", "#!\n"),
            ],
        )
        .unwrap();
        workspace
    }

    pub fn release(&self, release: &Release) {
        release.write(&self.path("release.tgz")).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `host image`, with a cache and a docker configuration in this directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_on("stemcell", arguments)
    }

    /// `host image` with another stemcell image.
    pub fn command_on(&self, stemcell: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(boson_tests::binary().unwrap());
        command
            .arg("image")
            .args(arguments)
            .args(["--cache", "cache", "--stemcell-image", stemcell])
            .current_dir(self.directory.path())
            .env("DOCKER_CONFIG", self.directory.path())
            .env_remove("BOSON_REGISTRY_CA");
        command
    }

    /// The output of a run that succeeds.
    pub fn made(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The errors of a run that fails.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        said(&output)
    }
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A layout that was read.
pub struct Layout {
    pub config: Value,
    pub manifest: Value,
    /// Entries of each layer: path to a line about it.
    pub layers: Vec<BTreeMap<String, String>>,
}

// === impl Layout ===

impl Layout {
    /// Reads it, and checks every blob against its name.
    pub fn read(directory: &Path) -> Self {
        for blob in fs::read_dir(directory.join("blobs/sha256")).unwrap() {
            let path = blob.unwrap().path();
            let digest = boson_tests::compiled::sha256(&fs::read(&path).unwrap());
            assert_eq!(path.file_name().unwrap().to_str(), Some(digest.as_str()));
        }
        let json = |bytes: Vec<u8>| -> Value { serde_json::from_slice(&bytes).unwrap() };
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap().replace(':', "/");
            let bytes = fs::read(directory.join("blobs").join(digest)).unwrap();
            assert_eq!(descriptor["size"], bytes.len());
            bytes
        };
        let index = json(fs::read(directory.join("index.json")).unwrap());
        let manifest = json(blob(&index["manifests"][0]));
        let config = json(blob(&manifest["config"]));
        let listed = manifest["layers"].as_array().unwrap();
        for (layer, diff) in listed.iter().zip(config["rootfs"]["diff_ids"].as_array().unwrap()) {
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(blob(layer).as_slice())
                .read_to_end(&mut plain)
                .unwrap();
            assert_eq!(diff, &format!("sha256:{}", boson_tests::compiled::sha256(&plain)));
        }
        Self {
            layers: listed
                .iter()
                .enumerate()
                .map(|(nth, layer)| listing(&blob(layer), nth > 0))
                .collect(),
            config,
            manifest,
        }
    }

    /// The place of an entry: the number of its layer, and the line about it.
    pub fn find(&self, path: &str) -> Option<(usize, &str)> {
        let found = self
            .layers
            .iter()
            .enumerate()
            .rev()
            .find_map(|(nth, layer)| Some((nth, layer.get(path)?)));
        found.map(|(nth, line)| (nth, line.as_str()))
    }
}

/// `ours`: `host image` wrote it, so everything is owned by root and dated 1970.
fn listing(layer: &[u8], ours: bool) -> BTreeMap<String, String> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(layer));
    let mut all = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let (mode, gid) = (entry.header().mode().unwrap(), entry.header().gid().unwrap());
        let foreign = entry.header().uid().unwrap() + entry.header().mtime().unwrap();
        assert!(!ours || foreign == 0, "{path}");
        let link = entry
            .link_name()
            .unwrap()
            .map(|target| format!(" -> {}", target.display()));
        let mut text = String::new();
        if entry.size() < 200 {
            entry.read_to_string(&mut text).unwrap();
        }
        let line = format!("{mode:o} {gid}{} {}", link.unwrap_or_default(), text.trim_end());
        all.insert(path.trim_end_matches('/').to_string(), line.trim_end().to_string());
    }
    all
}

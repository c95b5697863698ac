//! Made-up compiled releases and stemcell images.

use anyhow::Result;
use boson_oci::layout::{BLOBS, INDEX, MARK, MARK_CONTENT};
use boson_oci::{Blob, Digesting, MediaType};
use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// An entry of an archive.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A file with this mode.
    File(u32, Vec<u8>),
    Link(String),
    HardLink(String),
    Device,
    Directory,
}

#[derive(Clone, Debug)]
pub struct Release {
    pub name: String,
    pub version: String,
    /// Jobs, each with its files.
    pub jobs: Vec<(String, Vec<(String, Entry)>)>,
    /// Packages, each with its files.
    pub packages: Vec<(String, Vec<(String, Entry)>)>,
    /// Whether the packages are source.
    pub source: bool,
}

// === impl Entry ===

impl Entry {
    /// A file that is not executable.
    pub fn text(text: &str) -> Self {
        Self::File(0o644, text.as_bytes().to_vec())
    }
}

// === impl Release ===

impl Release {
    /// A job `server` with a template that contains `greeting`, and the packages `bash` and `server`.
    pub fn small(greeting: &str) -> Self {
        let job = [
            (
                "./job.MF",
                Entry::text("name: server\ntemplates: {greeting.erb: config/greeting}\npackages: [server]\n"),
            ),
            ("./monit", Entry::text("")),
            ("./templates/greeting.erb", Entry::text(greeting)),
        ];
        let own = |files: &[(&str, Entry)]| -> Vec<(String, Entry)> {
            files
                .iter()
                .map(|(path, entry)| ((*path).to_string(), entry.clone()))
                .collect()
        };
        let server = own(&[
            ("./", Entry::Directory),
            ("./bin/", Entry::Directory),
            ("./bin/server", Entry::File(0o755, b"#!/bin/sh\n".to_vec())),
            ("./bin/again", Entry::HardLink("./bin/server".into())),
            ("./lib", Entry::Link("/var/vcap/packages/bash/lib".into())),
        ]);
        let noise = noise(3_000_000);
        Self {
            name: "messaging".into(),
            version: "1.4.0".into(),
            jobs: vec![("server".into(), own(&job))],
            packages: vec![
                ("bash".into(), own(&[("lib/libbash.so", Entry::File(0o640, noise))])),
                ("server".into(), server),
            ],
            source: false,
        }
    }

    /// Writes the tarball.
    ///
    /// # Errors
    /// A path that a tar cannot hold; disk errors.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut manifest = format!("name: {}\nversion: {}\njobs:\n", self.name, self.version);
        let mut files = Vec::new();
        for (name, entries) in &self.jobs {
            let bytes = tgz(entries)?;
            manifest.push_str(&format!(
                "- {{name: {name}, version: '1', sha1: 'sha256:{}'}}\n",
                sha256(&bytes)
            ));
            files.push((format!("jobs/{name}.tgz"), bytes));
        }
        let folder = if self.source { "packages" } else { "compiled_packages" };
        manifest.push_str(&format!("{folder}:\n"));
        for (name, entries) in &self.packages {
            let bytes = tgz(entries)?;
            let digest = sha256(&bytes);
            manifest.push_str(&format!(
                "- {{name: {name}, version: f-{name}, fingerprint: f-{name}, stemcell: ubuntu-jammy/1.584, sha1: 'sha256:{digest}', dependencies: []}}\n"
            ));
            files.push((format!("{folder}/{name}.tgz"), bytes));
        }
        if self.packages.is_empty() {
            manifest.push_str("  []\n");
        }
        // Last, as some tools write it.
        files.push(("release.MF".into(), manifest.into_bytes()));
        let files = files.into_iter().map(|(path, bytes)| (path, Entry::File(0o644, bytes)));
        std::fs::write(path, tgz(&files.collect::<Vec<_>>())?)?;
        Ok(())
    }
}

/// Writes a compiled release with one package of about this size in the tarball. It is streamed, not built in memory.
///
/// # Errors
/// Disk errors.
pub fn write_large(path: &Path, bytes: u64) -> Result<()> {
    let inner = path.with_extension("package");
    let mut archive = Builder::new(GzEncoder::new(
        BufWriter::new(File::create(&inner)?),
        Compression::fast(),
    ));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    const FILE_BYTES: u64 = 8 << 20;
    // Programs compress to about a third: a third of noise, the rest is repeated text.
    for nth in 0..(bytes * 5 / 2).div_ceil(FILE_BYTES) {
        let mut content = vec![0; FILE_BYTES as usize];
        for block in content.chunks_mut(1024) {
            for word in block.chunks_mut(8).take(48) {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                word.copy_from_slice(&(state ^ (state >> 29)).to_le_bytes());
            }
        }
        let mut header = header(EntryType::Regular, 0o755, FILE_BYTES);
        archive.append_data(&mut header, format!("bin/program-{nth}"), content.as_slice())?;
    }
    archive.into_inner()?.finish()?.flush()?;
    let mut file = Digesting::new(File::open(&inner)?);
    std::io::copy(&mut file, &mut std::io::sink())?;
    let digest = file.finish().digest;
    let job = tgz(&[
        (
            "job.MF".into(),
            Entry::text("name: large\ntemplates: {}\npackages: [large]\n"),
        ),
        ("monit".into(), Entry::text("")),
    ])?;
    let manifest = format!(
        "name: large\nversion: '1'\njobs: [{{name: large, version: '1', sha1: 'sha256:{}'}}]\n\
         compiled_packages: [{{name: large, version: f, fingerprint: f, stemcell: ubuntu-jammy/1.584, sha1: '{digest}'}}]\n",
        sha256(&job)
    );
    let mut outer = Builder::new(GzEncoder::new(BufWriter::new(File::create(path)?), Compression::none()));
    for (name, content) in [("release.MF", manifest.as_bytes()), ("jobs/large.tgz", &job)] {
        outer.append_data(
            &mut header(EntryType::Regular, 0o644, content.len() as u64),
            name,
            content,
        )?;
    }
    let size = std::fs::metadata(&inner)?.len();
    let mut header = header(EntryType::Regular, 0o644, size);
    outer.append_data(&mut header, "compiled_packages/large.tgz", File::open(&inner)?)?;
    outer.into_inner()?.finish()?.flush()?;
    std::fs::remove_file(inner)?;
    Ok(())
}

/// Writes an OCI image layout with one layer of these files: a stemcell image.
///
/// # Errors
/// A path that a tar cannot hold; disk errors.
pub fn write_stemcell(directory: &Path, files: &[(&str, &str)]) -> Result<()> {
    let plain = plain(files)?;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&plain)?;
    write_layout(directory, &plain, gzip.finish()?, MediaType::ImageLayerGzip)
}

/// The same with a layer that is not compressed.
///
/// # Errors
/// As [`write_stemcell`].
pub fn write_uncompressed_stemcell(directory: &Path, files: &[(&str, &str)]) -> Result<()> {
    let plain = plain(files)?;
    write_layout(directory, &plain, plain.clone(), MediaType::ImageLayer)
}

fn plain(files: &[(&str, &str)]) -> Result<Vec<u8>> {
    let entries: Vec<(String, Entry)> = files
        .iter()
        .map(|(path, text)| ((*path).to_string(), Entry::text(text)))
        .collect();
    let mut plain = Builder::new(Vec::new());
    append(&mut plain, &entries)?;
    Ok(plain.into_inner()?)
}

fn write_layout(directory: &Path, plain: &[u8], layer: Vec<u8>, media_type: MediaType) -> Result<()> {
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [boson_oci::digest(plain)]},
    });
    let config = Blob::json(MediaType::ImageConfig, &config);
    let layer = Blob {
        media_type,
        digest: boson_oci::digest(&layer),
        bytes: layer,
    };
    let manifest = boson_oci::manifest(&config.descriptor(), &[layer.descriptor()]);
    std::fs::create_dir_all(directory.join(BLOBS))?;
    for blob in [&config, &layer, &manifest] {
        std::fs::write(directory.join(boson_oci::path(&blob.digest)), &blob.bytes)?;
    }
    let index = json!({"schemaVersion": 2, "manifests": [manifest.descriptor()]});
    std::fs::write(directory.join(INDEX), index.to_string())?;
    std::fs::write(directory.join(MARK), MARK_CONTENT)?;
    Ok(())
}

/// A gzipped tar of these entries.
///
/// # Errors
/// A path that a tar cannot hold.
pub fn tgz(entries: &[(String, Entry)]) -> Result<Vec<u8>> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    append(&mut archive, entries)?;
    Ok(archive.into_inner()?.finish()?)
}

fn append(archive: &mut Builder<impl Write>, entries: &[(String, Entry)]) -> Result<()> {
    for (path, entry) in entries {
        match entry {
            Entry::File(mode, bytes) => {
                let mut header = header(EntryType::Regular, *mode, bytes.len() as u64);
                raw(&mut header, path);
                archive.append(&header, bytes.as_slice())?;
            }
            Entry::Link(target) => archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, target)?,
            Entry::HardLink(target) => archive.append_link(&mut header(EntryType::Link, 0o644, 0), path, target)?,
            Entry::Device => archive.append_data(&mut header(EntryType::Char, 0o644, 0), path, std::io::empty())?,
            Entry::Directory => {
                archive.append_data(&mut header(EntryType::Directory, 0o750, 0), path, std::io::empty())?
            }
        }
    }
    Ok(())
}

/// Writes the path unchecked: the library refuses paths that lead out.
fn raw(header: &mut Header, path: &str) {
    if let Some(place) = header.as_old_mut().name.get_mut(..path.len()) {
        place.copy_from_slice(path.as_bytes());
    }
    header.set_cksum();
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(1_700_000_000);
    header.set_uid(1234);
    header.set_gid(0);
    header.set_cksum();
    header
}

/// Bytes that do not compress.
pub fn noise(size: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..size).map(|_| next()).collect()
}

/// The hexadecimal digits, independent of what the product computes.
pub fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

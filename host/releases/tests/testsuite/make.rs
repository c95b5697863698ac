//! Makes releases to read: good ones, and ones that no tool would write.
use boson_pipeline::Diagnostic;
use boson_pipeline::release::Release;
use boson_releases::Limits;
pub use boson_releases::read;
use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::Write;
use tar::{Builder, EntryType, Header};

pub const SPEC: &str = "name: app\ntemplates:\n  run.erb: bin/run\n  bpm.yml.erb: config/bpm.yml\npackages: [ruby]\n";

/// A tar that is being made.
pub struct Tar(Builder<Vec<u8>>);

impl Tar {
    pub fn new() -> Self {
        Self(Builder::new(Vec::new()))
    }

    pub fn file(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        let mut header = header(path, EntryType::Regular, content.len() as u64);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    pub fn other(mut self, path: &str, kind: EntryType, target: &str) -> Self {
        let mut header = header(path, kind, 0);
        if let Some(gnu) = header.as_gnu_mut() {
            gnu.linkname[..target.len()].copy_from_slice(target.as_bytes());
        }
        header.set_cksum();
        self.0.append(&header, std::io::empty()).unwrap();
        self
    }

    /// An entry with this content whose header contains another size.
    pub fn raw(mut self, path: &str, kind: EntryType, size: u64, content: &[u8]) -> Self {
        let mut header = header(path, kind, size);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    pub fn plain(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }

    pub fn gz(self) -> Vec<u8> {
        gzip(&self.plain())
    }
}

/// Headers are made by hand: the library would not write a bad path.
fn header(path: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    if let Some(gnu) = header.as_gnu_mut() {
        gnu.name[..path.len()].copy_from_slice(path.as_bytes());
    }
    header.set_mode(if path.contains("bin/") || path.contains("run") {
        0o755
    } else {
        0o644
    });
    header.set_entry_type(kind);
    header.set_size(size);
    header
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// A good job.
pub fn job() -> Tar {
    Tar::new()
        .file("./job.MF", SPEC)
        .file("./monit", "check process app\n")
        .file("./templates/run.erb", "#!/bin/sh\n")
        .file("./templates/bpm.yml.erb", "processes: []\n")
}

pub fn manifest(job: &[u8]) -> String {
    format!(
        "name: app\nversion: 1.2.3\njobs:\n- name: app\n  version: x\n  sha1: sha256:{}\npackages:\n- {{name: ruby, version: 1}}\n",
        sha256(job)
    )
}

/// A release tarball with this one job in it.
pub fn release(job: &[u8]) -> Tar {
    Tar::new()
        .other("./", EntryType::Directory, "")
        .file("./release.MF", manifest(job))
        .other("./jobs/", EntryType::Directory, "")
        .file("./jobs/app.tgz", job)
        .file("./packages/ruby.tgz", vec![7; 5000])
}

/// Reads an archive with this content under low limits.
pub fn read_bytes(bytes: &[u8]) -> Result<Release, Vec<Diagnostic>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.tgz");
    std::fs::write(&path, bytes).unwrap();
    let limits = Limits {
        scanned: 16 << 20,
        ratio_from: 1 << 20,
        file: 1 << 20,
        kept: 3 << 20,
        entries: 1000,
        ..Limits::default()
    };
    let mut releases = boson_releases::read_all(
        &path,
        None,
        limits,
        &mut boson_pipeline::report::Sources::default(),
        &mut |_| {},
    )
    .map_err(|errors| {
        let source = path.display().to_string();
        errors
            .into_iter()
            .map(|error| Diagnostic {
                message: error.message.replace(&source, "r.tgz"),
                ..error
            })
            .collect::<Vec<_>>()
    })?;
    assert_eq!(releases.len(), 1);
    Ok(releases.remove(0))
}

/// The code and message of the one error.
pub fn error(bytes: &[u8]) -> (String, String) {
    let mut errors = read_bytes(bytes).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = errors.remove(0);
    assert!(error.place.document.is_some(), "{error:?}");
    (error.code, error.message)
}

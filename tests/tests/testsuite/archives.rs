//! Malicious release tarballs, given to `host convert`: each is refused with a code and the entry's name, with no
//! output and no file written. A good tarball is tested first, so that the bad ones fail for the tested reason.

use boson_tests::compiled::sha256;
use boson_tests::{Ran, host};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tar::{Builder, EntryType, Header};

const MANIFEST: &str = r#"
name: demo
releases: [{name: app, version: "1", url: registry.example.com/demo}]
stemcells: [{alias: default, os: ubuntu-jammy, version: "1.1"}]
instance_groups:
- {name: web, instances: 1, stemcell: default, jobs: [{name: app, release: app}]}
"#;
const SPEC: &str = "name: app\ntemplates: {bpm.yml.erb: config/bpm.yml}\npackages: []\n";
const BPM: &str = "processes: [{name: app, executable: /bin/app}]\n";

/// An archive under construction. Headers are written by hand: the library refuses to write bad ones.
struct Archive(Builder<Vec<u8>>);

// === impl Archive ===

impl Archive {
    fn new() -> Self {
        Self(Builder::new(Vec::new()))
    }

    /// A job in the layout of release tarballs.
    fn job() -> Self {
        Self::new()
            .file("./job.MF", SPEC)
            .file("./monit", "")
            .file("./templates/bpm.yml.erb", BPM)
    }

    /// A release tarball with this job.
    fn release(job: &[u8]) -> Self {
        let digest = sha256(job);
        let manifest =
            format!("name: app\nversion: \"1\"\njobs: [{{name: app, version: x, sha1: \"sha256:{digest}\"}}]\n");
        Self::new().file("./release.MF", manifest).file("./jobs/app.tgz", job)
    }

    fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        self.entry(path, EntryType::Regular, content.len() as u64, "", content)
    }

    fn other(self, path: &str, kind: EntryType, target: &str) -> Self {
        self.entry(path, kind, 0, target, &[])
    }

    fn entry(mut self, path: &str, kind: EntryType, size: u64, target: &str, content: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        let gnu = header.as_gnu_mut().unwrap();
        gnu.name[..path.len()].copy_from_slice(path.as_bytes());
        gnu.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_mode(0o644);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    fn gz(self) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.0.into_inner().unwrap()).unwrap();
        encoder.finish().unwrap()
    }
}

/// Converts with this release, in a new directory that must not change.
fn convert(release: &[u8]) -> Ran {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::create_dir(scratch.path().join("work")).unwrap();
    let work = scratch.path().join("work");
    std::fs::write(work.join("manifest.yml"), MANIFEST).unwrap();
    std::fs::write(work.join("r.tgz"), release).unwrap();
    let ran = host(&work, ["convert", "manifest.yml", "--release", "r.tgz"]).unwrap();
    assert_eq!(names(&work), ["manifest.yml", "r.tgz"]);
    assert_eq!(names(scratch.path()), ["work"]);
    ran
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[track_caller]
fn refused(release: &[u8], code: &str, words: &str) {
    let started = Instant::now();
    let ran = convert(release);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.contains(&format!("error[{code}]: ")),
        "{words}: {}",
        ran.stderr
    );
    assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{words}: {:?}",
        started.elapsed()
    );
}

fn good() -> Archive {
    Archive::release(&Archive::job().gz())
}

#[test]
fn a_good_tarball_is_converted() {
    let ran = convert(&good().gz());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("kind: StatefulSet"), "{}", ran.stdout);
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in [
        "../evil",
        "jobs/../../evil",
        "/etc/evil",
        "./../evil",
        "a/b/../../../evil",
    ] {
        refused(
            &good().file(path, "x").gz(),
            "release-archive-path",
            &format!("Entry '{path}' of 'r.tgz' leads out of the archive"),
        );
    }
    let job = Archive::job().file("../evil", "x").gz();
    refused(
        &Archive::release(&job).gz(),
        "release-archive-path",
        "Entry '../evil' of 'r.tgz:jobs/app.tgz' leads out of the archive",
    );
}

#[test]
fn links_that_lead_out_are_refused() {
    for (path, kind, target) in [
        ("l", EntryType::Symlink, "/etc/passwd"),
        ("a/l", EntryType::Symlink, "../../etc/passwd"),
        ("l", EntryType::Link, "../outside"),
        ("l", EntryType::Link, "/etc/passwd"),
    ] {
        refused(
            &good().other(path, kind, target).gz(),
            "release-archive-link",
            &format!("Entry '{path}' of 'r.tgz' is a link that leads out"),
        );
    }
    let job = Archive::new()
        .file("./job.MF", SPEC)
        .file("./monit", "")
        .other("./templates/bpm.yml.erb", EntryType::Symlink, "/etc/passwd")
        .gz();
    refused(
        &Archive::release(&job).gz(),
        "release-archive-link",
        "templates/bpm.yml.erb' of 'r.tgz:jobs/app.tgz' is a link that leads out",
    );
}

#[test]
fn dangling_links_and_loops_are_refused() {
    for (extra, target) in [
        (None, "./missing"),
        (None, "bpm.yml.erb"),
        (Some(("./templates/b", "bpm.yml.erb")), "b"),
    ] {
        let mut job = Archive::new().file("./job.MF", SPEC).file("./monit", "").other(
            "./templates/bpm.yml.erb",
            EntryType::Symlink,
            target,
        );
        if let Some((path, target)) = extra {
            job = job.other(path, EntryType::Symlink, target);
        }
        let ran = convert(&Archive::release(&job.gz()).gz());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{target}: {}", ran.stderr);
        assert!(ran.stderr.contains("error[release-"), "{target}: {}", ran.stderr);
        assert!(ran.stderr.contains("bpm.yml.erb"), "{target}: {}", ran.stderr);
    }
}

#[test]
fn entries_that_are_not_files_are_refused() {
    for (kind, what) in [
        (EntryType::Char, "is a device"),
        (EntryType::Block, "is a device"),
        (EntryType::Fifo, "is a named pipe"),
    ] {
        refused(
            &good().other("thing", kind, "").gz(),
            "release-archive-entry",
            &format!("Entry 'thing' of 'r.tgz' {what}"),
        );
    }
}

#[test]
fn bombs_are_stopped() {
    // 300 MB of zeros in 1.3 MB: in the release, then in a job inside it.
    let zeros = vec![0; 300 << 20];
    refused(
        &good().file("packages/big.tgz", &zeros).gz(),
        "release-archive-bomb",
        "'r.tgz' unpacks to more than 100 times its size",
    );
    let job = Archive::job().file("big", &zeros).gz();
    refused(
        &Archive::release(&job).gz(),
        "release-archive-bomb",
        "'r.tgz:jobs/app.tgz' unpacks to more than 100 times its size",
    );
}

#[test]
fn wrong_sizes_are_detected() {
    let archive = good().entry("x", EntryType::Regular, u64::MAX >> 2, "", b"").gz();
    refused(&archive, "release-archive-damaged", "'r.tgz' is ");
}

#[test]
fn truncated_or_altered_archives_are_detected() {
    let whole = good().gz();
    for cut in [20, whole.len() / 2, whole.len() - 9] {
        refused(&whole[..cut], "release-archive-damaged", "'r.tgz' is truncated");
    }
    let other = Archive::job().file("more", "x").gz();
    let digest_of_another = good().file("./jobs/app.tgz", &other).gz();
    let ran = convert(&digest_of_another);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_not_an_archive_is_refused() {
    refused(
        b"<html>not found</html>",
        "release-archive-format",
        "'r.tgz' is neither a gzip nor a tar archive",
    );
    refused(&[], "release-manifest", "Release manifest not found");
}

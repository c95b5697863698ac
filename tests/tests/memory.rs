//! Memory of the command line: input that is small on disk and large in memory is refused by name, in a container of 2
//! GiB as anywhere else.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use boson_tests::binary;
use boson_tests::cluster::Limited;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::path::Path;
use std::process::Command;
use tar::{Builder, EntryType, Header};
use wait4::Wait4;

const MAX_MEMORY_BYTES: u64 = 2 << 30;

/// Result of a run, with its peak memory in bytes.
struct Measured {
    code: Option<i32>,
    said: String,
    peak: u64,
}

/// Runs `host` in a container of 2 GiB; `None` if this user cannot create one.
fn run(folder: &Path, arguments: &[String]) -> Option<Measured> {
    use std::os::unix::process::ExitStatusExt;
    let limited = Limited::to(MAX_MEMORY_BYTES).unwrap()?;
    let said = fs::File::create(folder.join("said")).unwrap();
    let mut command: Command = limited.command(&binary().unwrap());
    let child = command
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdout(fs::File::create(folder.join("printed")).unwrap())
        .stderr(said)
        .spawn()
        .unwrap();
    let ended = child.wait4().unwrap();
    let said = fs::read_to_string(folder.join("said")).unwrap();
    assert_eq!(limited.killed().unwrap(), 0, "it had too much: {said}");
    assert_eq!(ended.status.signal(), None, "{said}");
    Some(Measured {
        code: ended.status.code(),
        said,
        peak: ended.rusage.maxrss,
    })
}

fn file(archive: &mut Builder<Vec<u8>>, path: &str, bytes: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, path, bytes).unwrap();
}

fn packed(archive: Builder<Vec<u8>>) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut gzip, &archive.into_inner().unwrap()).unwrap();
    gzip.finish().unwrap()
}

/// A tarball of a release with one job of `count` templates, all of them links to one file of `bytes` bytes.
fn release(name: &str, count: usize, bytes: usize) -> Vec<u8> {
    let mut job = Builder::new(Vec::new());
    let templates: String = (0..count).map(|nth| format!("  t{nth}: t{nth}\n")).collect();
    let spec = format!("name: {name}\ntemplates:\n{templates}packages: []\nproperties: {{}}\n");
    file(&mut job, "./job.MF", spec.as_bytes());
    file(&mut job, "./monit", b"");
    file(&mut job, "./templates/text", "text \n".repeat(bytes / 6).as_bytes());
    for nth in 0..count {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Symlink);
        header.set_size(0);
        job.append_link(&mut header, format!("./templates/t{nth}"), "text")
            .unwrap();
    }
    let mut archive = Builder::new(Vec::new());
    let manifest = format!("name: {name}\nversion: '1'\njobs: [{{name: {name}, version: '1'}}]\npackages: []\n");
    file(&mut archive, "./release.MF", manifest.as_bytes());
    file(&mut archive, &format!("./jobs/{name}.tgz"), &packed(job));
    packed(archive)
}

fn convert(folder: &Path, count: usize, bytes: usize) -> Option<Measured> {
    let mut arguments = vec!["convert".to_string(), "manifest.yml".to_string()];
    fs::write(folder.join("manifest.yml"), "name: x\ninstance_groups: []\n").unwrap();
    for nth in 0..6 {
        let name = format!("r{nth}");
        fs::write(folder.join(format!("{name}.tgz")), release(&name, count, bytes)).unwrap();
        arguments.extend(["--release".to_string(), format!("{name}.tgz")]);
    }
    run(folder, &arguments)
}

#[test]
fn six_small_tarballs_do_not_fill_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    // Each has some kilobytes, and 300 MB once its links are followed.
    let Some(ran) = convert(folder.path(), 1000, 300_000) else {
        return;
    };
    assert_eq!(ran.code, Some(1), "{}", ran.said);
    assert!(ran.said.contains("error[release-too-large]"), "{}", ran.said);
    assert!(ran.said.contains("r0.tgz") && ran.said.len() < 10_000, "{}", ran.said);
    assert!(ran.peak < MAX_MEMORY_BYTES / 2, "{} MiB", ran.peak >> 20);
}

#[test]
fn releases_that_each_are_small_enough_are_bounded_together() {
    let folder = tempfile::tempdir().unwrap();
    let Some(ran) = convert(folder.path(), 150, 300_000) else {
        return;
    };
    assert_eq!(ran.code, Some(1), "{}", ran.said);
    assert!(ran.said.contains("error[release-total-too-large]"), "{}", ran.said);
    assert!(
        ran.said.contains("'r0' ") && ran.said.contains("may take 256 MiB"),
        "{}",
        ran.said
    );
    assert!(ran.peak < MAX_MEMORY_BYTES / 2, "{} MiB", ran.peak >> 20);
}

#[test]
fn a_document_of_nothing_but_values_is_refused_or_read_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    for (values, code) in [(1_500_000, 1), (300_000, 0)] {
        fs::write(folder.path().join("m.yml"), format!("x: [{}~]\n", "~,".repeat(values))).unwrap();
        let arguments = ["interpolate", "m.yml"].map(str::to_string);
        let Some(ran) = run(folder.path(), &arguments) else {
            return;
        };
        assert_eq!(ran.code, Some(code), "{}", ran.said);
        assert!(code == 0 || ran.said.contains("error[yaml-size]"), "{}", ran.said);
        assert!(ran.peak < 512 << 20, "{values}: {} MiB", ran.peak >> 20);
    }
}

#[test]
fn files_that_each_are_small_enough_are_bounded_together() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.yml"), "x: []\n").unwrap();
    let value = format!("[{}~]", "~,".repeat(200_000));
    fs::write(
        folder.path().join("ops.yml"),
        format!("- {{type: replace, path: /x, value: {value}}}\n"),
    )
    .unwrap();
    fs::write(folder.path().join("vars.yml"), format!("a: {value}\n")).unwrap();
    let once = ["interpolate", "m.yml", "-o", "ops.yml"];
    let many = ["-o", "ops.yml"].repeat(63);
    let files = ["-l", "vars.yml"].repeat(64);
    for (more, file) in [(&many, "ops.yml"), (&files, "vars.yml")] {
        let arguments: Vec<String> = once.iter().chain(more.iter()).map(|one| one.to_string()).collect();
        let Some(ran) = run(folder.path(), &arguments) else {
            return;
        };
        assert_eq!(ran.code, Some(1), "{}", ran.said);
        let expected = format!("'{file}' exceeds the memory for input files: all of them may use 447 MiB");
        assert!(
            ran.said.contains("error[input-total-too-large]") && ran.said.contains(&expected),
            "{}",
            ran.said
        );
        assert_eq!(ran.said.matches("error[").count(), 1, "{}", ran.said);
        assert!(ran.peak < MAX_MEMORY_BYTES / 2, "{} MiB", ran.peak >> 20);
    }
    let Some(ran) = run(folder.path(), &once.map(str::to_string)) else {
        return;
    };
    assert_eq!(ran.code, Some(0), "{}", ran.said);
}

//! What is in the image: a layer that changes with this machine's packages, one that changes with the rules, and one
//! with the programs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::layer::{Entries, Entry};
use super::{ImageArguments, libraries};

/// Who runs in the image: `vcap`, as in BOSH.
pub(super) const USER: &str = "1000";
/// Directory of the program, which reads its plugins from `../share/boson/plugins`.
pub(super) const HOST: &str = "/usr/bin/host";
/// container-run, which an init container copies into the pod.
const CONTAINER_RUN: &str = "usr/bin/container-run";
const PLUGINS: &str = "usr/share/boson/plugins";
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

// A home that can be written to, where anything can.
const PASSWD: &str = "root:x:0:0:root:/root:/sbin/nologin\nvcap:x:1000:1000:vcap:/tmp:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nvcap:x:1000:\n";
// glibc asks DNS before /etc/hosts without it.
const NAMES: &str = "hosts: files dns\n";

/// The files of each layer, the lowest first.
pub(super) fn of(arguments: &ImageArguments) -> Result<[Entries; 3]> {
    let mut program = Entries::default();
    if !arguments.container_run.is_file() {
        bail!(
            "{} is missing: run `.ci/container-run`",
            arguments.container_run.display()
        );
    }
    program.add(CONTAINER_RUN, Entry::Program(arguments.container_run.clone()));
    program.add(HOST.trim_start_matches('/'), Entry::Program(arguments.host.clone()));
    Ok([base(arguments)?, plugins(&arguments.plugins)?, program])
}

fn base(arguments: &ImageArguments) -> Result<Entries> {
    let mut base = Entries::default();
    for (name, text) in [("passwd", PASSWD), ("group", GROUP), ("nsswitch.conf", NAMES)] {
        base.add(&format!("etc/{name}"), Entry::Text(text));
    }
    for library in libraries::of(&arguments.host)? {
        let inner = library.strip_prefix("/").context("a library without a place")?;
        let inner = inner.to_str().context("a library with an odd name")?.to_string();
        base.add(&inner, Entry::Program(library));
    }
    if arguments.certificates.is_file() {
        base.add(CERTIFICATES, Entry::File(arguments.certificates.clone()));
    } else {
        eprintln!(
            "{}: not there, the image trusts no authority",
            arguments.certificates.display()
        );
    }
    base.add("tmp", Entry::Scratch);
    Ok(base)
}

fn plugins(directory: &Path) -> Result<Entries> {
    let mut plugins = Entries::default();
    for stage in crate::stages::Stage::ALL {
        let stage = stage.to_string();
        for kind in ["wasm", "sha256"] {
            let name = format!("{stage}.{kind}");
            let path = directory.join(&name);
            if !path.is_file() {
                bail!(
                    "{} is missing: run `host plugin precompile {}`",
                    path.display(),
                    directory.display()
                );
            }
            plugins.add(&format!("{PLUGINS}/{name}"), Entry::File(path));
        }
        for path in machine_code(directory, &stage)? {
            let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
            plugins.add(&format!("{PLUGINS}/{name}"), Entry::File(path));
        }
    }
    Ok(plugins)
}

/// `<stage>.<engine>.cwasm`; what tests left there has other names.
fn machine_code(directory: &Path, stage: &str) -> Result<Vec<PathBuf>> {
    let is_engine = |middle: &str| middle.len() == 16 && middle.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let middle = name
            .strip_prefix(stage)
            .and_then(|name| name.strip_prefix('.')?.strip_suffix(".cwasm"));
        if middle.is_some_and(is_engine) {
            found.push(path.clone());
        }
    }
    if found.is_empty() {
        bail!(
            "no machine code of {stage}: run `host plugin precompile {}`",
            directory.display()
        );
    }
    Ok(found)
}

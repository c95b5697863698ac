//! The operator's image for tests: built from the binary and the plugins of this build, once for all test processes of
//! a target directory.

use anyhow::{Context, Result, ensure};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its name in pods.
pub(super) const NAME: &str = "boson.test/host:1";

/// The image as a tar; rebuilt if the binary, a plugin or the image builder changed.
pub(super) fn file() -> Result<PathBuf> {
    let host = crate::binary()?;
    let maker = host.with_file_name("boson-build");
    ensure!(
        maker.is_file(),
        "{} is missing: run `make build` first",
        maker.display()
    );
    let target = host.ancestors().nth(2).context("no target directory")?.to_path_buf();
    let container_run = target.join("container-run");
    let (plugins, image, key) = (
        target.join("plugins"),
        target.join("test-image.tar"),
        target.join("test-image.key"),
    );
    // A second process waits, and then finds the image.
    let lock = File::create(target.join("test-image.lock"))?;
    lock.lock()?;
    let made_of = traces(&[&host, &maker, &container_run], &plugins)?;
    if image.is_file() && fs::read_to_string(&key).is_ok_and(|key| key == made_of) {
        return Ok(image);
    }
    let made = Command::new(maker)
        .args(["image", "--name", NAME, "--host"])
        .arg(host)
        .arg("--container-run")
        .arg(container_run)
        .arg("--plugins")
        .arg(plugins)
        .arg("--out")
        .arg(&image)
        .output()?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::write(key, made_of)?;
    Ok(image)
}

/// One text for the state of these files: names, sizes and times, because reading hundreds of megabytes takes longer
/// than many tests.
fn traces(files: &[&Path], directory: &Path) -> Result<String> {
    let mut all = Sha256::new();
    let mut paths: Vec<PathBuf> = files.iter().map(|path| path.to_path_buf()).collect();
    for entry in fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        let state = fs::metadata(&path).with_context(|| format!("{}: run `make build` first", path.display()))?;
        let line = format!(
            "{} {} {}.{}\n",
            path.display(),
            state.size(),
            state.mtime(),
            state.mtime_nsec()
        );
        all.update(line);
    }
    Ok(HEXLOWER.encode(&all.finalize()))
}

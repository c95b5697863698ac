//! The shared libraries that a program needs, as the dynamic linker of this machine finds them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Their paths, the dynamic linker's among them. The image has them in the same places, where that linker searches by
/// default.
pub(super) fn of(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output().context("ldd is missing")?;
    if !output.status.success() {
        bail!("ldd {}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    }
    paths(&String::from_utf8_lossy(&output.stdout))
}

fn paths(listed: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for line in listed.lines().map(str::trim) {
        if line.ends_with("not found") {
            bail!("a shared library is missing: {line}");
        }
        // `name => path (address)` or `path (address)`; what the kernel brings has no path.
        let path = line
            .rsplit("=> ")
            .next()
            .unwrap_or(line)
            .split(" (")
            .next()
            .unwrap_or_default();
        if path.starts_with('/') {
            found.push(PathBuf::from(path));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn the_linker_and_all_libraries_are_found() {
        let listed = "\tlinux-vdso.so.1 (0x00007fff)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0e)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f0f)\n";
        let found = paths(listed).unwrap();
        let found: Vec<_> = found.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(
            found,
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]
        );
        assert!(paths("\tlibodd.so => not found\n").is_err());
    }
}

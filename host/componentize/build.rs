//! The version of the answers to WASI: a hash of this crate's sources.

#![allow(
    clippy::disallowed_methods,
    reason = "it runs where the crate is built, and reads its sources"
)]

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Result;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files)?;
    files.sort();
    #[allow(
        deprecated,
        reason = "SipHasher::new() is stable over processes, which the default hasher does not promise"
    )]
    let mut hasher = std::hash::SipHasher::new();
    for file in files {
        file.hash(&mut hasher);
        fs::read(&file)?.hash(&mut hasher);
    }
    println!("cargo::rustc-env=ANSWERS={:016x}", hasher.finish());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

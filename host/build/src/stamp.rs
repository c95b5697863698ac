//! Records the inputs of a component, so that the next build can skip it.
//!
//! A stamp holds two digests: of the inputs, this program included (its code and our Ruby files are in it), and of the
//! component. The second detects a component that was replaced.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// One digest of several parts, in hexadecimal.
pub(crate) fn digest_of(parts: &[&[u8]]) -> String {
    let mut all = Sha256::new();
    for part in parts {
        // Each part's own digest, or bytes could move from one part to the next unnoticed.
        all.update(Sha256::digest(part));
    }
    HEXLOWER.encode(&all.finalize())
}

/// The bytes of this program.
pub(crate) fn this_program() -> Result<Vec<u8>> {
    let program = std::env::current_exe().context("finding this program")?;
    std::fs::read(&program).with_context(|| format!("reading {}", program.display()))
}

/// Whether the component in `file` is the one that was made of `made_of`.
pub(crate) fn is_current(file: &Path, made_of: &str) -> bool {
    let (Ok(stamp), Ok(component)) = (std::fs::read_to_string(place(file)), std::fs::read(file)) else {
        return false;
    };
    stamp == text(made_of, &component)
}

pub(crate) fn set(file: &Path, made_of: &str, component: &[u8]) -> Result<()> {
    let place = place(file);
    std::fs::write(&place, text(made_of, component)).with_context(|| format!("writing {}", place.display()))
}

fn text(made_of: &str, component: &[u8]) -> String {
    format!("{made_of}\n{}\n", digest_of(&[component]))
}

fn place(file: &Path) -> PathBuf {
    file.with_extension("stamp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_current_until_it_or_its_inputs_change() {
        let folder = std::env::temp_dir().join(format!("boson-stamp-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("ops.wasm");
        let made_of = digest_of(&[b"input", b"program"]);
        assert!(!is_current(&file, &made_of), "nothing is there");

        std::fs::write(&file, b"component").unwrap();
        assert!(!is_current(&file, &made_of), "no stamp");
        set(&file, &made_of, b"component").unwrap();
        assert!(is_current(&file, &made_of));
        assert!(!is_current(&file, &digest_of(&[b"inputp", b"rogram"])), "another input");

        std::fs::write(&file, b"replaced").unwrap();
        assert!(!is_current(&file, &made_of), "another component");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

//! Files that are generated from the program. `BLESS=1` rewrites them.

use std::{env, fs};

/// Fails unless the file has this content.
pub fn check(file: &str, content: &str) {
    if env::var_os("BLESS").is_some() {
        fs::write(file, content).unwrap();
    }
    let found = fs::read_to_string(file).unwrap_or_default();
    assert!(
        found == content,
        "{file} is not current: run with BLESS=1 and read the difference"
    );
}

//! Fingerprints of packages and jobs, as the bosh CLI computes them ("v2"): a digest over the path, the digest and the
//! mode of every file, sorted by path, and over the names of dependencies.

use super::Source;
use data_encoding::HEXLOWER;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

/// Digits of a fingerprint from before the CLI used SHA-256.
const SHA1_DIGITS: usize = 40;

/// The algorithm of a fingerprint, and of the digests that it is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Sha1,
    Sha256,
}

/// A file, as it counts for a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Path below `src`, `blobs`, or the directory of the package or job.
    pub path: String,
    digest: String,
    /// What the CLI writes for the mode; empty for `packaging`.
    mode: &'static str,
}

// === impl Algorithm ===

impl Algorithm {
    /// The algorithm that made this fingerprint.
    pub fn of(fingerprint: &str) -> Self {
        if fingerprint.len() == SHA1_DIGITS {
            Self::Sha1
        } else {
            Self::Sha256
        }
    }

    /// The digest in the form of the CLI: the name of the algorithm is before it, except for SHA-1.
    fn digest(self, content: &mut dyn Read) -> io::Result<String> {
        Ok(match self {
            Self::Sha1 => hashed::<Sha1>(content)?,
            Self::Sha256 => format!("sha256:{}", hashed::<Sha256>(content)?),
        })
    }
}

// === impl Part ===

impl Part {
    /// A file of the package.
    ///
    /// # Errors
    /// Those of its content.
    pub fn file(
        algorithm: Algorithm,
        path: impl Into<String>,
        executable: bool,
        content: &mut dyn Read,
    ) -> io::Result<Self> {
        Ok(Self {
            path: path.into(),
            digest: algorithm.digest(content)?,
            mode: if executable { "100755" } else { "100644" },
        })
    }

    /// A symbolic link of the package.
    ///
    /// # Errors
    /// None.
    pub fn link(algorithm: Algorithm, path: impl Into<String>, target: &str) -> io::Result<Self> {
        Ok(Self {
            path: path.into(),
            digest: algorithm.digest(&mut target.as_bytes())?,
            mode: "symlink",
        })
    }

    /// A file that is not on this machine, if its digest is known; `None` if it was digested by another algorithm.
    pub fn known(path: impl Into<String>, digests: &str) -> Option<Self> {
        let digest = digests.split(';').find(|digest| digest.starts_with("sha256:"))?;
        Some(Self {
            path: path.into(),
            digest: digest.to_ascii_lowercase(),
            mode: "100644",
        })
    }
}

fn hashed<H: Digest + Write>(content: &mut dyn Read) -> io::Result<String> {
    let mut hash = H::new();
    io::copy(content, &mut hash)?;
    Ok(HEXLOWER.encode(&hash.finalize()))
}

/// The fingerprint of these parts. `dependencies`: names of packages, for a package.
pub fn fingerprint(algorithm: Algorithm, mut parts: Vec<Part>, dependencies: &[String]) -> String {
    parts.sort_by(|a, b| a.path.cmp(&b.path));
    let mut text = "v2".to_owned();
    for part in &parts {
        // The script counts without its mode.
        let mode = if part.path == Source::SCRIPT { "" } else { part.mode };
        text.extend([part.path.as_str(), &part.digest, mode]);
    }
    let mut dependencies = dependencies.to_vec();
    dependencies.sort();
    text.push_str(&dependencies.join(","));
    match algorithm {
        Algorithm::Sha1 => HEXLOWER.encode(&Sha1::digest(text.as_bytes())),
        Algorithm::Sha256 => HEXLOWER.encode(&Sha256::digest(text.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Computed independently, with python3: `d=lambda b: 'sha256:'+hashlib.sha256(b).hexdigest()`, and SHA-256 over
    // `'v2' + 'app/main.c' + d(b'int x;\n') + '100644' + 'app/run' + d(b'#!\n') + '100755' + 'app/to' + d(b'main.c') +
    // 'symlink' + 'packaging' + d(b'make\n') + 'a,b'`; for SHA-1, `d` is the plain hexadecimal digest.
    #[test]
    fn fingerprints_are_those_of_the_bosh_cli() {
        for (algorithm, expected) in [
            (
                Algorithm::Sha256,
                "3fb9c686ec6bea563ad467d9e654c5a5fd2e01f45165e8a2d311bd64095c35ca",
            ),
            (Algorithm::Sha1, "899149ce0d44d32ec7b47e58d69bec8b17a777ca"),
        ] {
            let file = |path: &str, text: &str, executable| {
                Part::file(algorithm, path, executable, &mut text.as_bytes()).unwrap()
            };
            let parts = vec![
                file("packaging", "make\n", true),
                file("app/run", "#!\n", true),
                Part::link(algorithm, "app/to", "main.c").unwrap(),
                file("app/main.c", "int x;\n", false),
            ];
            let made = fingerprint(algorithm, parts, &["b".into(), "a".into()]);
            assert_eq!(made, expected);
            assert_eq!(Algorithm::of(&made), algorithm);
        }
    }
}

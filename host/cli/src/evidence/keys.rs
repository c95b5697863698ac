//! The files of public keys, by the fingerprints of the keys.

use crate::signatures;
use std::path::PathBuf;

/// Names of public keys for messages.
#[derive(Debug, Default)]
pub struct KeyNames(Vec<(String, String)>);

// === impl KeyNames ===

impl KeyNames {
    /// Those of the keys in these files.
    ///
    /// # Errors
    /// A file is not a public key.
    pub fn read(files: &[PathBuf]) -> anyhow::Result<Self> {
        let mut names = Vec::new();
        for file in files {
            let keys = signatures::keys(std::slice::from_ref(file))?;
            let named = |fingerprint: &str| (fingerprint.to_string(), file.display().to_string());
            names.extend(keys.fingerprints().map(named));
        }
        Ok(Self(names))
    }

    /// The file of a key.
    pub fn file(&self, fingerprint: &str) -> &str {
        let mut names = self.0.iter();
        let found = names.find(|(of, _)| of == fingerprint);
        found.map_or("", |(_, file)| file.as_str())
    }

    /// File and fingerprint of a key.
    pub fn name(&self, fingerprint: &str) -> String {
        format!("'{}' ({fingerprint})", self.file(fingerprint))
    }

    /// Files and fingerprints of all keys.
    pub fn all(&self) -> String {
        let names = self.0.iter().map(|(fingerprint, _)| self.name(fingerprint));
        names.collect::<Vec<_>>().join(" or ")
    }
}

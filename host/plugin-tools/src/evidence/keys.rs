//! Public keys of files, and the names of the files by the fingerprints of the keys.

use boson_commands::files::read_all;
use boson_signatures::Keys;
use std::path::PathBuf;

/// Names of public keys for messages.
#[derive(Debug, Default)]
pub struct KeyNames(Vec<(String, String)>);

// === impl KeyNames ===

impl KeyNames {
    /// The keys in these files, and their names.
    ///
    /// # Errors
    /// A file is not a public key.
    pub fn read(files: &[PathBuf]) -> anyhow::Result<(Keys, Self)> {
        let (mut keys, mut names) = (Keys::default(), Vec::new());
        for (file, text) in files.iter().zip(read_all(files)?) {
            let name = file.display().to_string();
            let malformed = |_| {
                anyhow::anyhow!(
                    "'{name}' is not a public key in PEM: ECDSA with P-256, Ed25519, or RSA from 2048 bits on"
                )
            };
            keys.add(&text).map_err(malformed)?;
            let new = keys.fingerprints().skip(names.len());
            let new: Vec<_> = new.map(|fingerprint| (fingerprint.to_string(), name.clone())).collect();
            names.extend(new);
        }
        Ok((keys, Self(names)))
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

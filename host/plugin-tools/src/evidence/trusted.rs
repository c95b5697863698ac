//! Who may sign plugins: keys and trusted roots in files, and their names in messages.

use boson_commands::files::read_all;
use boson_document::Tree;
use boson_signatures::{Author, Identities, IdentityRule, Trust};
use clap::Args;
use std::path::{Path, PathBuf};
use std::slice;

/// Options of commands that verify signatures.
#[derive(Args, Clone, Debug)]
pub struct TrustArguments {
    /// Public key whose signatures count: a PEM file, such as `cosign.pub`. Of several keys and identities, one is
    /// enough
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// Identity whose keyless signatures count, such as `https://accounts.google.com=me@example.com`. `*` is any text
    /// without `/`, and `**` any text
    #[arg(long = "identity", value_name = "ISSUER=IDENTITY", requires = "trusted_root")]
    identities: Vec<IdentityRule>,
    /// Authorities and logs of keyless signatures: `trusted_root.json` of Sigstore
    #[arg(long, value_name = "FILE", requires = "identities")]
    trusted_root: Option<PathBuf>,
}

/// Names of those who may sign, for messages.
#[derive(Debug, Default)]
pub struct Names {
    /// Fingerprints of keys, and their files.
    keys: Vec<(String, String)>,
    identities: Vec<String>,
}

// === impl TrustArguments ===

impl TrustArguments {
    /// # Errors
    /// As [`read`].
    pub fn read(&self) -> anyhow::Result<(Trust, Names)> {
        read(&self.keys, self.trusted_root.as_deref(), &self.identities)
    }
}

/// Those who may sign, and their names.
///
/// # Errors
/// A file is not a public key or no trusted root.
pub fn read(keys: &[PathBuf], root: Option<&Path>, rules: &[IdentityRule]) -> anyhow::Result<(Trust, Names)> {
    let (mut trust, mut names) = (Trust::default(), Names::default());
    for (file, text) in keys.iter().zip(read_all(keys)?) {
        let name = file.display().to_string();
        let malformed = |_| {
            anyhow::anyhow!("'{name}' is not a public key in PEM: ECDSA with P-256, Ed25519, or RSA from 2048 bits on")
        };
        trust.keys.add(&text).map_err(malformed)?;
        let new = trust.keys.fingerprints().skip(names.keys.len());
        let new: Vec<_> = new.map(|fingerprint| (fingerprint.to_string(), name.clone())).collect();
        names.keys.extend(new);
    }
    if let Some(file) = root.map(Path::to_path_buf) {
        let text = read_all(slice::from_ref(&file))?.concat();
        let identities = Identities::new(&text, rules.to_vec());
        let malformed = |error| anyhow::anyhow!("'{}' is not a trusted root of Sigstore: {error}", file.display());
        trust.identities = Some(identities.map_err(malformed)?);
        names.identities = rules.iter().map(|rule| format!("'{rule}'")).collect();
    }
    Ok((trust, names))
}

// === impl Names ===

impl Names {
    fn file(&self, fingerprint: &str) -> &str {
        let mut keys = self.keys.iter();
        let found = keys.find(|(of, _)| of == fingerprint);
        found.map_or("", |(_, file)| file.as_str())
    }

    /// File and fingerprint of a key, or the identity and its issuer.
    pub fn name(&self, author: &Author) -> String {
        match author {
            Author::Key(fingerprint) => format!("key {}", self.key(fingerprint)),
            Author::Identity(identity) => format!("identity '{}' of '{}'", identity.name, identity.issuer),
        }
    }

    fn key(&self, fingerprint: &str) -> String {
        format!("'{}' ({fingerprint})", self.file(fingerprint))
    }

    /// All keys and identities.
    pub fn all(&self) -> String {
        let keys = self.keys.iter().map(|(fingerprint, _)| self.key(fingerprint));
        let all = keys.chain(self.identities.iter().cloned());
        all.collect::<Vec<_>>().join(" or ")
    }

    /// For programs: adds the member with the author.
    pub fn add_to(&self, tree: Tree, author: &Author) -> Tree {
        let (name, value) = match author {
            Author::Key(fingerprint) => {
                let key = Tree::object().with("file", self.file(fingerprint));
                ("key", key.with("fingerprint", fingerprint.as_str()))
            }
            Author::Identity(identity) => {
                let issuer = identity.issuer.as_str();
                let identity = Tree::object().with("name", identity.name.as_str());
                ("identity", identity.with("issuer", issuer))
            }
        };
        tree.with(name, value)
    }
}

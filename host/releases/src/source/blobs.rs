//! Files that a release's repository has in a blobstore: `config/blobs.yml`, the indexes in `.final_builds` and
//! `.dev_builds`, and where their content is on this machine.

use super::folder::Folder;
use crate::codes;
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::paths::clean;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file that `config/blobs.yml` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Its name in the blobstore, if it was uploaded.
    pub object: Option<String>,
    /// Digests, as written.
    pub digests: String,
}

/// The blobstore of a release: `config/final.yml`, overridden by `config/private.yml`.
#[derive(Clone, Debug, Default)]
pub struct Blobstore {
    provider: String,
    options: Tree,
    root: PathBuf,
}

/// Reads `config/blobs.yml`: only files listed there are part of the release, as for `bosh create-release`.
///
/// # Errors
/// It is not YAML, or a path leads out of `blobs`.
pub fn blobs(folder: &Folder) -> Result<BTreeMap<String, Blob>, Diagnostic> {
    let path = "config/blobs.yml";
    let Some(document) = folder.yaml(path)? else {
        return Ok(BTreeMap::new());
    };
    let mut blobs = BTreeMap::new();
    for (blob, entry) in document.as_object().into_iter().flatten() {
        let inner = clean(blob).map_err(|_| {
            let message = format!("Invalid blob path '{blob}': must be a safe local path");
            Diagnostic::error(codes::RELEASE_BLOB, message).in_document(folder.document(path))
        })?;
        blobs.insert(
            inner,
            Blob {
                object: text(entry, "object_id"),
                digests: text(entry, "sha").unwrap_or_default(),
            },
        );
    }
    Ok(blobs)
}

/// The archive of a package with this fingerprint, from the indexes of dev and final builds.
///
/// # Errors
/// An index is not YAML.
pub fn build(folder: &Folder, package: &str, fingerprint: &str) -> Result<Option<Blob>, Diagnostic> {
    for builds in [".dev_builds", ".final_builds"] {
        let Some(index) = folder.yaml(&format!("{builds}/packages/{package}/index.yml"))? else {
            continue;
        };
        let entries = index.get("builds").and_then(Tree::as_object);
        let mut entries = entries.into_iter().flat_map(|entries| entries.values());
        if let Some(entry) = entries.find(|entry| text(entry, "version").as_deref() == Some(fingerprint)) {
            return Ok(Some(Blob {
                object: text(entry, "blobstore_id"),
                digests: text(entry, "sha1").unwrap_or_default(),
            }));
        }
    }
    Ok(None)
}

// === impl Blobstore ===

impl Blobstore {
    /// Reads the configuration. Only names and places in it are used, no credentials.
    ///
    /// # Errors
    /// It is not YAML.
    pub fn read(folder: &Folder) -> Result<Self, Diagnostic> {
        let mut store = Self {
            root: folder.root().to_path_buf(),
            ..Self::default()
        };
        store.options = Tree::object();
        for path in ["config/final.yml", "config/private.yml"] {
            let config = folder.yaml(path)?.unwrap_or_default();
            let Some(own) = config.get("blobstore") else { continue };
            if let (true, Some(provider)) = (store.provider.is_empty(), own.str("provider")) {
                provider.clone_into(&mut store.provider);
            }
            for (key, value) in own.get("options").and_then(Tree::as_object).into_iter().flatten() {
                store.options.set(key.clone(), value.clone());
            }
        }
        Ok(store)
    }

    /// Where this content may be on this machine: in the cache of the bosh CLI, or in a local blobstore. It must be
    /// compared with its digests.
    pub fn local(&self, blob: &Blob) -> Option<PathBuf> {
        let names = |name: &str| !name.is_empty() && !name.contains('/') && name != "..";
        let cached = std::env::home_dir()
            .filter(|_| names(&blob.digests))
            .map(|home| home.join(".bosh/cache").join(&blob.digests));
        let stored = self.options.str("blobstore_path").filter(|_| self.provider == "local");
        let stored = stored.zip(blob.object.as_deref().filter(|object| names(object)));
        let stored = stored.map(|(path, object)| self.root.join(path).join(object));
        [cached, stored].into_iter().flatten().find(|path| path.is_file())
    }

    /// Where the content can be downloaded, for messages.
    pub fn address(&self, blob: &Blob) -> String {
        let Some(object) = &blob.object else {
            return "it was never uploaded: ask the author of the release for it".into();
        };
        let option = |key: &str| text(&self.options, key);
        let path = match option("folder_name") {
            Some(folder) => format!("{}/{object}", folder.trim_matches('/')),
            None => object.clone(),
        };
        let bucket = option("bucket_name").unwrap_or_default();
        match (self.provider.as_str(), option("host")) {
            ("gcs", _) => format!("https://storage.googleapis.com/{bucket}/{path}"),
            ("s3", Some(host)) => format!("https://{host}/{bucket}/{path}"),
            ("s3", None) => format!("https://{bucket}.s3.amazonaws.com/{path}"),
            ("local", _) => format!("'{path}' in '{}'", option("blobstore_path").unwrap_or_default()),
            (other, _) => format!("object '{object}' of blobstore '{other}'"),
        }
    }
}

/// A text, as the bosh CLI reads it into a string: `1e5` stays as it is written.
fn text(tree: &Tree, key: &str) -> Option<String> {
    super::folder::text(tree.get(key)?).filter(|text| !text.is_empty())
}

//! The image that a release's image is made on: a stemcell's, from an OCI layout, an archive of one, an archive of
//! `docker save`, or a registry.

mod accounts;
mod docker;
mod layout;

use crate::codes;
pub(crate) use accounts::Accounts;

use crate::gzip::Pool;
use boson_oci::{Layer, Section, digest, media};
use boson_pipeline::Diagnostic;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Layers that a base may have: with those of packages, storage drivers take 127.
const MAX_BASE_LAYERS: usize = 90;

/// An image to build on.
#[derive(Clone, Debug)]
pub struct Base {
    /// The name that the user gave.
    pub name: String,
    /// `sha256:<hex>` of its manifest.
    pub digest: String,
    pub(crate) config: Value,
    pub(crate) layers: Vec<Layer>,
    pub(crate) accounts: Accounts,
}

/// The parts of an image from any source. Layers may be compressed or not.
pub struct Parts {
    /// `sha256:<hex>` of its manifest.
    pub digest: String,
    pub config: Vec<u8>,
    /// The lowest first.
    pub layers: Vec<Part>,
}

/// A layer of a base, checked against its digest.
pub struct Part {
    /// Its media type.
    pub media_type: String,
    /// `sha256:<hex>` of its bytes; `None` in archives of `docker save`, which do not name it.
    pub digest: Option<String>,
    pub content: Section,
}

// === impl Base ===

impl Base {
    /// Reads the image at `path`: a layout, or an archive. `place`: a directory for what has to be compressed.
    ///
    /// # Errors
    /// `image-base`: it is not an image, or cannot be used as a base; the codes of damaged archives.
    pub fn read(path: &Path, place: &Path, pool: &Pool) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        let parts = if path.is_dir() {
            layout::directory(path, &name)?
        } else {
            docker::archive(path, &name)?
        };
        Self::of(&name, parts, place, pool)
    }

    /// Builds it from its parts.
    ///
    /// # Errors
    /// As [`Base::read`].
    pub fn of(name: &str, parts: Parts, place: &Path, pool: &Pool) -> Result<Self, Diagnostic> {
        let config: Value =
            serde_json::from_slice(&parts.config).map_err(|_| bad(name, "has a configuration that is not JSON"))?;
        let diff_ids = diff_ids(name, &config)?;
        if diff_ids.len() != parts.layers.len() {
            return Err(bad(name, "has a configuration that does not fit its layers"));
        }
        if parts.layers.len() > MAX_BASE_LAYERS {
            return Err(bad(name, "has too many layers").help("squash it: the image of a release adds some"));
        }
        let mut layers = Vec::new();
        for (part, diff_id) in parts.layers.into_iter().zip(diff_ids) {
            layers.push(layer(name, part, diff_id, place, pool)?);
        }
        let accounts = Accounts::find(name, &layers)?;
        Ok(Self {
            name: name.to_owned(),
            digest: parts.digest,
            config,
            layers,
            accounts,
        })
    }

    /// Warnings about the image.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.accounts.warnings(&self.name)
    }
}

fn layer(name: &str, part: Part, diff_id: String, place: &Path, pool: &Pool) -> Result<Layer, Diagnostic> {
    if part.media_type.ends_with("zstd") {
        return Err(bad(name, "has layers compressed with zstd")
            .help("compress them with gzip: `skopeo copy --dest-compress-format gzip`"));
    }
    let unreadable = |error: std::io::Error| bad(name, &format!("cannot be read: {error}"));
    let magic = part.content.part(0, 2).map_err(unreadable)?;
    match part.digest.filter(|_| magic == [0x1f, 0x8b]) {
        Some(digest) => Ok(Layer {
            media_type: media::LAYER_GZIP.to_owned(),
            digest,
            diff_id,
            content: part.content,
        }),
        // Registries would have to store it as large as it is.
        None if magic != [0x1f, 0x8b] => {
            let made = crate::layer::compress(part.content.reader(), place, pool)
                .map_err(|error| crate::error::unwritable(&error))?;
            if made.diff_id == diff_id {
                Ok(made)
            } else {
                Err(bad(name, "has a layer that does not match its configuration"))
            }
        }
        None => {
            let digest = digest_of(&part.content).map_err(unreadable)?;
            Ok(Layer {
                media_type: media::LAYER_GZIP.to_owned(),
                digest,
                diff_id,
                content: part.content,
            })
        }
    }
}

/// `sha256:<hex>` of a section.
pub(crate) fn digest_of(section: &Section) -> std::io::Result<String> {
    let mut out = boson_oci::Digesting::new(std::io::sink());
    std::io::copy(&mut section.reader(), &mut out)?;
    Ok(out.finish().1)
}

/// The part of a configuration that names the layers. The rest goes into the image as it is.
#[derive(Deserialize)]
struct Configuration {
    rootfs: Layers,
}

#[derive(Deserialize)]
struct Layers {
    diff_ids: Vec<String>,
}

fn diff_ids(name: &str, config: &Value) -> Result<Vec<String>, Diagnostic> {
    let read = Configuration::deserialize(config);
    let unreadable = |_| bad(name, "has a configuration that does not fit its layers");
    read.map(|config| config.rootfs.diff_ids).map_err(unreadable)
}

/// The digest of a manifest.
pub(crate) fn manifest_digest(bytes: &[u8]) -> String {
    digest(bytes)
}

pub(crate) fn bad(name: &str, what: &str) -> Diagnostic {
    Diagnostic::error(codes::IMAGE_BASE, format!("the stemcell image '{name}' {what}")).in_document(name)
}

//! The image that a release's image is made on: a stemcell's, from an OCI layout, an archive of one, an archive of
//! `docker save`, or a registry.

mod accounts;
mod docker;
mod layout;
mod uncompressed;

use crate::codes;
pub(crate) use accounts::Accounts;

use crate::gzip::Pool;
use boson_oci::{Blob, Digest, Image, Layer, MediaType, Part, Parts};
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
    /// The digest of its manifest.
    pub digest: Digest,
    pub(crate) config: Value,
    pub(crate) layers: Vec<Layer>,
    pub(crate) accounts: Accounts,
}

// === impl Base ===

impl Base {
    /// Reads the image at `path`: a layout, or an archive. `place`: a directory for layers that have to be compressed,
    /// which are kept there.
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
        let config: Value = serde_json::from_slice(&parts.config)
            .map_err(|_| base_error(name, "has a configuration that is not JSON"))?;
        let diff_ids = diff_ids(name, &config)?;
        if diff_ids.len() != parts.layers.len() {
            return Err(base_error(name, "has a configuration that does not fit its layers"));
        }
        if parts.layers.len() > MAX_BASE_LAYERS {
            return Err(base_error(name, "has too many layers").help("squash it: the image of a release adds some"));
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

    /// The image itself, under another name: to hand it to a builder of images.
    pub fn image(&self, name: &str) -> Image {
        let config = Blob::json(MediaType::ImageConfig, &self.config);
        Image::new(name, config, self.layers.clone())
    }

    /// Warnings about the image.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.accounts.warnings(&self.name)
    }
}

fn layer(name: &str, part: Part, diff_id: Digest, place: &Path, pool: &Pool) -> Result<Layer, Diagnostic> {
    if part.media_type.as_ref().ends_with("zstd") {
        return Err(base_error(name, "has layers compressed with zstd")
            .help("compress them with gzip: `skopeo copy --dest-compress-format gzip`"));
    }
    let unreadable = |error: std::io::Error| base_error(name, &format!("cannot be read: {error}"));
    if part.content.part(0, 2).map_err(unreadable)? != [0x1f, 0x8b] {
        let made = uncompressed::compressed(&part.content, &diff_id, place, pool);
        return made
            .map_err(|error| crate::error::write_error(&error))?
            .ok_or_else(|| base_error(name, "has a layer that does not match its configuration"));
    }
    let digest = match part.digest {
        Some(digest) => digest,
        None => part.content.digest().map_err(unreadable)?,
    };
    Ok(Layer {
        media_type: MediaType::ImageLayerGzip,
        digest,
        diff_id,
        content: part.content,
    })
}

/// The digests of the unpacked layers. The rest of the configuration goes into the image as it is.
fn diff_ids(name: &str, config: &Value) -> Result<Vec<Digest>, Diagnostic> {
    let digests = Vec::deserialize(&config["rootfs"]["diff_ids"]);
    digests.map_err(|_| base_error(name, "has a configuration that does not fit its layers"))
}

pub(crate) fn base_error(name: &str, what: &str) -> Diagnostic {
    Diagnostic::error(codes::IMAGE_BASE, format!("the stemcell image '{name}' {what}")).in_document(name)
}

//! Releases that were read, and the build contexts of source releases, for other builders.

use super::ImageError;
use super::blocking::blocking;
use boson_compile::{Whole, codes};
use boson_images::{Pool, Stemcell};
use boson_pipeline::Diagnostic;
use boson_releases::Opened;
use std::path::PathBuf;

/// A release that was read, and what its image is called and built on.
pub struct Read {
    pub opened: Opened,
    pub name: String,
    pub stemcell: Stemcell,
}

/// The name of what is written about an image, among that of several.
pub fn file_name(image: &str, title: &str) -> String {
    let tag = image.rsplit_once(':').map_or("latest", |(_, tag)| tag);
    format!("{title}-{tag}")
}

// === impl Read ===

impl Read {
    /// Writes the build context. Returns the name of the image.
    ///
    /// # Errors
    /// The release is compiled; sources are missing; the disk is full.
    pub async fn write_context(self, stemcell_image: String, out: PathBuf, pool: Pool) -> Result<String, ImageError> {
        blocking(move || {
            let Opened::Source(source) = &self.opened else {
                return Err(no_context_error(&self.name).into());
            };
            let whole = Whole {
                source,
                stemcell_image: &stemcell_image,
                stemcell: &self.stemcell.text(),
                name: &self.name,
            };
            boson_compile::write(&whole, &out, &pool).map_err(ImageError::of)?;
            Ok(self.name)
        })
        .await
    }
}

fn no_context_error(name: &str) -> Diagnostic {
    let message = format!("the release of '{name}' needs no compilation, so it has no build context");
    Diagnostic::error(codes::COMPILE_CONTEXT, message).help("build its image without --context")
}

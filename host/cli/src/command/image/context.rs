//! Build contexts of source releases, for other builders.

use super::Report;
use super::blocking::interrupted;
use super::making::{Read, Site};
use boson_compile::{Whole, codes};
use boson_pipeline::Diagnostic;
use boson_releases::Opened;
use std::path::Path;
use std::sync::Arc;

/// Writes the build context of a release to this directory, or to one below it if there are several. Returns the name of
/// the image.
///
/// # Errors
/// The release is compiled; sources are missing; the disk is full.
pub async fn write(site: &Arc<Site>, directory: &Path, read: Read, title: &str) -> Result<String, Report> {
    let tag = read.name.rsplit_once(':').map_or("latest", |(_, tag)| tag);
    let out = if site.many {
        directory.join(format!("{title}-{tag}"))
    } else {
        directory.to_path_buf()
    };
    let site = site.clone();
    let written = tokio::task::spawn_blocking(move || {
        let Opened::Source(source) = &read.opened else {
            return Err(compiled(&read.name).into());
        };
        let whole = Whole {
            source,
            stemcell_image: &site.bases.name(&read.stemcell),
            stemcell: &read.stemcell.text(),
            name: &read.name,
        };
        boson_compile::write(&whole, &out, &site.pool).map_err(Report::of)?;
        Ok(read.name)
    });
    written.await.unwrap_or_else(|_| Err(interrupted().into()))
}

fn compiled(name: &str) -> Diagnostic {
    let message = format!("the release of '{name}' needs no compilation, so it has no build context");
    Diagnostic::error(codes::COMPILE_CONTEXT, message).help("build its image without --context")
}

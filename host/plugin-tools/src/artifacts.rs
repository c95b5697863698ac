//! Components of plugins in images: in a registry (`oci://REFERENCE`), or in an archive of one (`oci-archive:FILE`).

use crate::codes;
use boson_commands::registries;
use boson_commands::runtime;
use boson_commands::user_cache;
use boson_pipeline::Diagnostic;
use boson_registry::{Attachments, Owned, Registry, Settings, docker_credentials, is_layout, read_archive};
use std::path::Path;
use tempfile::TempDir;

/// Where a component is, if it is in an image.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Registry(&'a str),
    Archive(&'a Path),
}

/// A component, and the reference of its image with its digest.
#[derive(Debug)]
pub struct Pulled {
    pub component: Vec<u8>,
    /// `HOST/PATH[:TAG]@sha256:DIGEST`.
    pub pinned: String,
}

/// The component at a path that names an image or an archive of one; `None` for any other file.
///
/// # Errors
/// Codes `plugin-image-*`.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Diagnostic> {
    match place(path) {
        None => Ok(None),
        Some(Place::Archive(file)) => read_archive(file).map(Some),
        Some(Place::Registry(image)) => {
            let settings = registries::settings_of_environment().map_err(|error| unusable(&error))?;
            pull(image, &settings).map(|pulled| Some(pulled.component))
        }
    }
}

/// The component in a registry, and what is attached to its image; `None` for any other file.
///
/// # Errors
/// Codes `plugin-image-*`.
pub fn with_attachments(path: &Path) -> Result<Option<(Pulled, Attachments)>, Diagnostic> {
    let Some(Place::Registry(image)) = place(path) else {
        return Ok(None);
    };
    let settings = registries::settings_of_environment().map_err(|error| unusable(&error))?;
    let pulled = pull(image, &settings)?;
    let (_directory, registry) = client(&settings)?;
    let credentials = docker_credentials(image)?;
    let asked = runtime::block_on(registry.attachments(&pulled.pinned, credentials.as_ref()));
    let attachments = asked.map_err(|error| unusable(&error))?;
    Ok(Some((pulled, attachments?)))
}

fn place(path: &Path) -> Option<Place<'_>> {
    let archive = path.to_str().and_then(|text| text.strip_prefix("oci-archive:"));
    if let Some(file) = archive {
        return Some(Place::Archive(Path::new(file)));
    }
    if let Some(rest) = path.to_str().and_then(|text| text.strip_prefix("oci:")) {
        return Some(Place::Registry(rest.strip_prefix("//").unwrap_or(rest)));
    }
    is_layout(path).then_some(Place::Archive(path))
}

/// Pulls the component of an image, with the credentials of the user. One with a digest is cached.
///
/// # Errors
/// Codes `plugin-image-*`.
pub fn pull(image: &str, settings: &Settings) -> Result<Pulled, Diagnostic> {
    let (_directory, registry) = client(settings)?;
    let credentials = docker_credentials(image)?;
    let requests = async {
        let pinned = if image.contains('@') {
            image.to_string()
        } else {
            format!("{image}@{}", registry.pin(image, credentials.as_ref()).await?)
        };
        let wanted = Owned {
            namespace: "",
            image: &pinned,
        };
        registry.pull_component(wanted, credentials.as_ref()).await?;
        let component = registry.component(wanted).await?;
        let evicted = || {
            Diagnostic::error(
                codes::PLUGIN_EVICTED,
                "the component was evicted from the cache while it was read",
            )
        };
        Ok(Pulled {
            component: component.ok_or_else(evicted)?,
            pinned,
        })
    };
    runtime::block_on(requests).map_err(|error| unusable(&error))?
}

/// A client of registries with the cache of the user. Who has none gets a directory that the client needs.
fn client(settings: &Settings) -> Result<(Option<TempDir>, Registry), Diagnostic> {
    let (temporary, path) = match user_cache::directory("components") {
        Some(directory) => (None, directory),
        None => {
            let temporary = tempfile::tempdir().map_err(|error| unusable(&error.into()))?;
            let path = temporary.path().to_path_buf();
            (Some(temporary), path)
        }
    };
    Ok((temporary, Registry::new(path, settings)?))
}

fn unusable(error: &anyhow::Error) -> Diagnostic {
    Diagnostic::error(
        codes::PLUGIN_REGISTRY_OPTIONS,
        format!("registries cannot be used: {error:#}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prefixes_and_layouts_name_images() {
        let directory = tempfile::tempdir().unwrap();
        for (path, expected) in [
            ("oci://r.example/p:1", Some(Place::Registry("r.example/p:1"))),
            ("oci:r.example/p:1", Some(Place::Registry("r.example/p:1"))),
            ("oci-archive:a/p.tar", Some(Place::Archive(Path::new("a/p.tar")))),
            ("my.wasm", None),
            ("oci/my.wasm", None),
        ] {
            assert_eq!(place(Path::new(path)), expected, "{path}");
        }
        assert_eq!(place(directory.path()), None);
        for file in ["oci-layout", "index.json"] {
            std::fs::write(directory.path().join(file), "{}").unwrap();
        }
        assert_eq!(place(directory.path()), Some(Place::Archive(directory.path())));
    }
}

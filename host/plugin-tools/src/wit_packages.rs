//! The packages of the plugin interface for `wkg` and other tools: as files, or as images in a registry.

use crate::metadata;
use crate::wasm_image::image;
use anyhow::Error;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_commands::{runtime, storage};
use boson_componentize::{Package, packages};
use boson_oci::Image;
use boson_pipeline::Diagnostic;
use boson_registry::{Settings, Transfer, docker_credentials};
use boson_sandbox::Interfaces;
use std::collections::BTreeMap;
use std::path::Path;

/// The namespace of the packages.
const NAMESPACE: &str = "boson";
const LICENSE: &str = "Apache-2.0";

/// A registry, or a path in it: what the names of the images begin with.
pub fn place(text: &str) -> Result<String, String> {
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    let has_host = host == "localhost" || host.contains(['.', ':']);
    if has_host && !path.contains(['@', ':', ' ']) && !path.starts_with('/') && !text.ends_with('/') {
        Ok(text.to_string())
    } else {
        Err("expected HOST[:PORT][/PATH], such as registry.example.com/team".to_string())
    }
}

/// Writes the packages as `<directory>/<namespace>/<package>/<version>.wasm`.
///
/// # Errors
/// Those of the disk.
pub fn write(directory: &Path) -> anyhow::Result<()> {
    for package in packages().map_err(Error::msg)? {
        let file = directory.join(format!("{NAMESPACE}/{}/{}.wasm", package.name, package.version));
        storage::create(&file, &package.bytes)?;
        output::print(&format!("{}\n", file.display()))?;
    }
    Ok(())
}

/// Pushes the packages as `<place>/<namespace>/<package>:<version>`. A released package never changes, so one that the
/// registry has is not replaced, even if another version of the encoder would give other bytes.
///
/// # Errors
/// Those of the registry are shown.
pub fn push(place: &str, settings: &Settings, color: Color) -> Result<(), ExitError> {
    let packages = packages().map_err(Error::msg)?;
    let images = packages.iter().map(|package| package_image(place, package));
    let images: Vec<Image> = images.collect::<anyhow::Result<_>>()?;
    let sent = runtime::block_on(send(&images, settings))?;
    let present = sent.map_err(|error| exit::fail(error, color))?;
    for (image, present) in images.iter().zip(present) {
        match present {
            Some(digest) => output::eprint(&format!("not replaced: {}@{digest}\n", image.name)),
            None => output::print(&format!("{}@{}\n", image.name, image.manifest.digest))?,
        }
    }
    Ok(())
}

/// Sends the images that the registry lacks; the digests of the others.
async fn send(images: &[Image], settings: &Settings) -> Result<Vec<Option<String>>, Diagnostic> {
    let transfer = Transfer::new(settings)?;
    let mut all = Vec::new();
    for image in images {
        let credentials = docker_credentials(&image.name)?;
        let present = transfer.present(&image.name, credentials.as_ref()).await?;
        if present.is_none() {
            transfer.push(image, credentials.as_ref(), None, &|_| {}).await?;
        }
        all.push(present);
    }
    Ok(all)
}

fn package_image(place: &str, package: &Package) -> anyhow::Result<Image> {
    let Package { name, version, .. } = package;
    let interfaces = Interfaces {
        imports: Vec::new(),
        exports: package.exports.clone(),
    };
    let image = image(
        &format!("{place}/{NAMESPACE}/{name}:{version}"),
        &package.bytes,
        &interfaces,
    )?;
    let title = format!("{NAMESPACE}:{name}");
    let annotations = [
        ("description", package.description.as_str()),
        ("licenses", LICENSE),
        (metadata::TITLE, title.as_str()),
        (metadata::VERSION, version.as_str()),
    ];
    let named = annotations.map(|(key, text)| (format!("{}{key}", metadata::PREFIX), text.to_string()));
    Ok(image.annotated(&BTreeMap::from(named)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_host_and_no_tag() {
        for place in ["r.example", "localhost:5000/a", "r.example/a/b"] {
            assert!(super::place(place).is_ok(), "{place}");
        }
        for place in [
            "",
            "team",
            "team/a",
            "r.example/",
            "r.example/a:1",
            "https://r.example/a",
        ] {
            assert!(super::place(place).is_err(), "{place}");
        }
    }

    #[test]
    fn the_image_of_a_package_keeps_its_bytes_and_lists_its_interfaces() {
        let all = packages().unwrap();
        let names: Vec<&str> = all.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "types",
                "ops",
                "variables",
                "links",
                "render",
                "bpm",
                "resources",
                "checks"
            ]
        );
        let [one, other] = ["r.example", "r.example/team"].map(|place| package_image(place, &all[6]).unwrap());
        assert_eq!(other.name, "r.example/team/boson/resources:1.0.0");
        assert_eq!(one.manifest.digest, other.manifest.digest);
        let exports = r#""exports":["boson:resources/resources@1.0.0","boson:resources/shapes@1.0.0","boson:resources/transformation@1.0.0","boson:types/about@1.0.0"],"imports":[]"#;
        let config = String::from_utf8(one.config.bytes).unwrap();
        assert!(config.contains(exports), "{config}");
        let manifest = String::from_utf8(one.manifest.bytes).unwrap();
        let description =
            r#""org.opencontainers.image.description":"The resources stage: a hook after the conversion."#;
        assert!(manifest.contains(description), "{manifest}");
    }
}

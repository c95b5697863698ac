//! `host plugin push`: a component as an image in a registry, or in an archive of one. The same component always gives
//! the same image.

use crate::command::pack::{self, Usable};
use crate::metadata;
use crate::wasm_image::image;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_commands::registries::{self, AuthorityArguments, WithoutTlsArguments};
use boson_commands::runtime;
use boson_images::write;
use boson_pipeline::Diagnostic;
use boson_registry::{Transfer, docker_credentials};
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of `host plugin push`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    host plugin push my-labels.wasm registry.example.com/team/my-labels:1.0\n  \
    host plugin push my-labels.wasm registry.example.com/team/my-labels:1.0 --archive my-labels.tar\n\n\
    The image has the name and the version of the plugin as annotations, and what the component says about itself in the sections \
    authors, description, homepage, licenses, revision, source and version.\n\n\
    Credentials are those of `docker login`. The output is the reference with the digest, for `image` in plugin.yaml.")]
pub struct PushArguments {
    /// The component, or the core module to make it of
    component: PathBuf,
    /// Name of the image: `HOST[:PORT]/PATH:TAG`
    #[arg(value_name = "REFERENCE", value_parser = tagged)]
    reference: String,
    /// Write the image to disk instead: FILE.tar is an archive, anything else a directory with an OCI image layout
    #[arg(long, value_name = "PATH")]
    archive: Option<PathBuf>,
    /// Add an annotation to the image, or replace one of the component; repeat it for several
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = annotation)]
    annotations: Vec<(String, String)>,
    #[command(flatten)]
    without_tls: WithoutTlsArguments,
    #[command(flatten)]
    authorities: AuthorityArguments,
}

/// A reference with host and tag: without a tag, every push would replace `latest`.
fn tagged(text: &str) -> Result<String, String> {
    let (host, path) = text.split_once('/').unwrap_or_default();
    let has_host = host == "localhost" || host.contains(['.', ':']);
    let has_tag = path.rsplit('/').next().is_some_and(|last| last.contains(':'));
    if has_host && has_tag && !text.contains(['@', ' ']) && !text.contains("://") {
        Ok(text.to_string())
    } else {
        Err("expected HOST[:PORT]/PATH:TAG, such as registry.example.com/team/my-labels:1.0".to_string())
    }
}

fn annotation(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    if key.is_empty() {
        return Err("the key is empty".to_string());
    }
    Ok((key.to_string(), value.to_string()))
}

pub fn run(arguments: &PushArguments, color: Color) -> Result<(), ExitError> {
    let fail = |error: Diagnostic| exit::fail(error, color);
    let bytes = pack::component(&arguments.component).map_err(fail)?;
    let plugin = pack::load(&arguments.component, &bytes).map_err(fail)?;
    let mut annotations = annotations(&bytes, &plugin);
    annotations.extend(arguments.annotations.iter().cloned());
    let image = image(&arguments.reference, &bytes, &plugin.interfaces)?.annotated(&annotations);
    match &arguments.archive {
        Some(file) if file.extension().is_some_and(|end| end == "tar") => write::archive(&image, file).map_err(fail)?,
        Some(directory) => write::layout(&image, directory).map_err(fail)?,
        None => {
            let settings = registries::settings(&arguments.without_tls, &arguments.authorities)?;
            let transfer = Transfer::new(&settings).map_err(fail)?;
            let credentials = docker_credentials(&image.name).map_err(fail)?;
            let pushed = runtime::block_on(transfer.push(&image, credentials.as_ref(), None, &|_| {}))?;
            pushed.map_err(fail)?;
        }
    }
    let pinned = format!("{}@{}\n", arguments.reference, image.manifest.digest);
    Ok(output::print(&pinned)?)
}

/// By their whole names.
fn annotations(component: &[u8], plugin: &Usable) -> BTreeMap<String, String> {
    let mut texts = metadata::of(component);
    texts.entry(metadata::TITLE).or_insert_with(|| plugin.name.clone());
    texts.entry(metadata::VERSION).or_insert_with(|| plugin.version.clone());
    let named = |(name, text)| (format!("{}{name}", metadata::PREFIX), text);
    texts.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_sandbox::Interfaces;

    #[test]
    fn a_reference_has_a_host_and_a_tag() {
        for reference in ["r.example/p:1", "localhost/p:1", "localhost:5000/team/p:1.0"] {
            assert!(tagged(reference).is_ok(), "{reference}");
        }
        for reference in [
            "p:1",
            "r.example/p",
            "r.example:5000/p",
            "r.example/p:1@sha256:0",
            "oci://r.example/p:1",
            "",
        ] {
            assert!(tagged(reference).is_err(), "{reference}");
        }
    }

    #[test]
    fn the_same_component_gives_the_same_image() {
        let plugin = Usable {
            interfaces: Interfaces {
                exports: vec!["boson:types/about@1.0.0".into()],
                imports: Vec::new(),
            },
            name: "labels".into(),
            version: "1.0.0".into(),
        };
        let annotations = annotations(b"component", &plugin);
        let image = |name: &str| {
            image(name, b"component", &plugin.interfaces)
                .unwrap()
                .annotated(&annotations)
        };
        let (one, other) = (image("r.example/p:1"), image("other.example/q:2"));
        let manifest = String::from_utf8(one.manifest.bytes.clone()).unwrap();
        let wanted =
            r#""annotations":{"org.opencontainers.image.title":"labels","org.opencontainers.image.version":"1.0.0"}"#;
        assert!(manifest.contains(wanted), "{manifest}");
        assert_eq!(one.manifest.digest, other.manifest.digest);
        let text = String::from_utf8(one.config.bytes).unwrap();
        assert!(
            text.contains(r#""architecture":"wasm","os":"wasip2","layerDigests":["sha256:"#),
            "{text}"
        );
    }
}

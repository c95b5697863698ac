//! `boson-build image`: the operator's image, made of what was built and of this machine's shared libraries, without a
//! container engine. The same files give the same bytes: no time, user or order of this machine gets in. It is a tar of
//! an OCI image layout that `docker load` takes as well.

mod contents;
mod layer;
mod libraries;

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result};
use boson_oci::{Archive, Blob, media};
use clap::Args;
use serde_json::json;

use self::layer::Layer;

/// The image's content and destination.
#[derive(Args)]
pub(crate) struct ImageArguments {
    /// The program `host`.
    #[arg(long, value_name = "PATH", default_value_os_t = crate::target().join("release/host"))]
    host: PathBuf,
    /// The process wrapper, a static program (`.ci/wrapper`).
    #[arg(long, value_name = "PATH", default_value_os_t = crate::target().join("container-run"))]
    container_run: PathBuf,
    /// The built-in plugins and their machine code (`host plugin precompile`).
    #[arg(long, value_name = "DIR", default_value_os_t = crate::target().join("plugins"))]
    plugins: PathBuf,
    /// Certificates of authorities that the operator trusts; where there is no such file, it trusts those that it is
    /// given only.
    #[arg(long, value_name = "PATH", default_value = "/etc/ssl/certs/ca-certificates.crt")]
    certificates: PathBuf,
    /// The name under which the image is loaded.
    #[arg(long, value_name = "NAME:TAG", default_value = concat!("localhost/boson/host:", env!("CARGO_PKG_VERSION")))]
    name: String,
    /// The tar to write.
    #[arg(long, value_name = "FILE", default_value_os_t = crate::target().join("image.tar"))]
    out: PathBuf,
}

/// Makes the image.
pub(crate) fn make(arguments: &ImageArguments) -> Result<()> {
    let place = arguments.out.parent().context("no directory to write to")?;
    let mut layers = Vec::new();
    for entries in contents::of(arguments)? {
        layers.push(Layer::write(&entries, place)?);
    }
    let temporary = arguments.out.with_extension("tar.new");
    let file = File::create(&temporary).with_context(|| format!("writing {}", temporary.display()))?;
    let digest = pack(&arguments.name, layers, file)?;
    std::fs::rename(&temporary, &arguments.out).with_context(|| format!("writing {}", arguments.out.display()))?;
    eprintln!("{}: {} in {}", arguments.name, digest, arguments.out.display());
    Ok(())
}

/// Writes the tar and gives the digest of the image's manifest. Layers are not compressed: the tool that pushes the
/// image compresses them, and so that tools need not unpack them twice.
fn pack(name: &str, layers: Vec<Layer>, file: File) -> Result<String> {
    name.rsplit_once(':').context("the image's name has no tag")?;
    let diffs: Vec<&str> = layers.iter().map(|layer| layer.digest.as_str()).collect();
    let config = Blob::json(media::CONFIG, &config(&diffs));
    let mut archive = Archive::new(file)?;
    let mut descriptors = Vec::new();
    for layer in layers {
        descriptors.push(boson_oci::descriptor(media::LAYER, &layer.digest, layer.size));
        archive.add(&layer.digest, layer.size, layer.file)?;
    }
    archive.blob(&config)?;
    let manifest = boson_oci::manifest(&config, &descriptors);
    archive.blob(&manifest)?;
    archive.end(name, &manifest, &config, &descriptors)?;
    Ok(manifest.digest)
}

fn config(diffs: &[&str]) -> serde_json::Value {
    json!({
        "created": "1970-01-01T00:00:00Z",
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
        "os": "linux",
        "config": {
            "User": contents::USER,
            "Entrypoint": [contents::HOST],
            "Env": ["PATH=/usr/bin"],
            "WorkingDir": "/",
            "Labels": {
                "org.opencontainers.image.title": "boson",
                "org.opencontainers.image.description": "Runs BOSH deployments on Kubernetes",
                "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": diffs},
    })
}

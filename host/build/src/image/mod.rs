//! `boson-build image`: the operator's image, made of what was built and of this machine's shared libraries, without a
//! container engine. The same files give the same bytes: no time, user or order of this machine gets in. It is a tar of
//! an OCI image layout that `docker load` takes as well.

mod contents;
mod layer;
mod libraries;

use std::path::PathBuf;

use anyhow::{Context, Result};
use boson_oci::{Blob, Digest, Image, Layer, MediaType};
use clap::Args;
use serde_json::json;

/// The image's content and destination.
#[derive(Args)]
pub(crate) struct ImageArguments {
    /// The program `host`.
    #[arg(long, value_name = "PATH", default_value_os_t = crate::target().join("release/host"))]
    host: PathBuf,
    /// container-run, a static program (`.ci/container-run`).
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
    arguments.name.rsplit_once(':').context("the image's name has no tag")?;
    let layers: Vec<Layer> = contents::of(arguments)?
        .iter()
        .map(|entries| layer::write(entries, place))
        .collect::<Result<_>>()?;
    let config = Blob::json(MediaType::ImageConfig, &config(&layers));
    let image = Image::new(&arguments.name, config, layers);
    boson_oci::archive(&image, &arguments.out).with_context(|| format!("writing {}", arguments.out.display()))?;
    let out = arguments.out.display();
    eprintln!("{}: {} in {out}", image.name, image.manifest.digest);
    Ok(())
}

fn config(layers: &[Layer]) -> serde_json::Value {
    let diffs: Vec<&Digest> = layers.iter().map(|layer| &layer.diff_id).collect();
    json!({
        "created": "1970-01-01T00:00:00Z",
        "architecture": boson_oci::architecture(),
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

//! Images with WebAssembly as their only layer, by the CNCF's guidance for Wasm in registries: components of plugins,
//! and WIT packages. The same content gives the same image.

use anyhow::Context;
use boson_oci::{Blob, Image, Layer, Section, digest};
use boson_sandbox::Interfaces;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

const CONFIG: &str = "application/vnd.wasm.config.v0+json";
const WASM: &str = "application/wasm";
/// The time of every image: that of the build would change the digest.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// An image of these bytes, whose configuration lists the interfaces.
///
/// # Errors
/// There is no space for a temporary file.
pub fn image(name: &str, bytes: &[u8], interfaces: &Interfaces) -> anyhow::Result<Image> {
    let mut file = tempfile::tempfile().context("there is no space for a temporary file")?;
    file.write_all(bytes).context("a temporary file cannot be written")?;
    let digest = digest(bytes);
    let layer = Layer {
        media_type: WASM.into(),
        digest: digest.clone(),
        diff_id: digest.clone(),
        content: Section::new(Arc::new(file), 0, bytes.len() as u64),
    };
    let config = json!({
        "created": CREATED,
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [digest],
        "component": {"exports": interfaces.exports, "imports": interfaces.imports},
    });
    Ok(Image::new(name, Blob::json(CONFIG.into(), &config), vec![layer]))
}

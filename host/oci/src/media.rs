//! Media types of the parts of an image.

pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The index of a layout.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// A layer that is not compressed.
pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
/// A layer that is compressed with gzip.
pub const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

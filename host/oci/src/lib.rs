//! OCI images: digests, reproducible headers of layers, manifests and indexes, image layouts in directories and in
//! tars, and the directories that hold them while they are in use. The types of documents are those of `oci-spec`. What
//! it writes depends on its input only, so that the same content has the same digest.

mod digest;
mod document;
mod image;
pub mod layout;
mod place;
mod section;
mod write;

pub use digest::{Digested, Digesting, digest, finished, is_sha256, parse_digest, parse_hex_digest, short_digest};
pub use document::{Document, NAME, architecture, images, index, is_for_this_platform};
pub use image::{Blob, Image, Layer, Part, Parts, manifest, path};
pub use oci_spec::image::ANNOTATION_TITLE as TITLE;
pub use oci_spec::image::{Descriptor, Digest, ImageIndex, ImageManifest, MediaType};
pub use place::{Place, open_locked};
pub use section::{Section, SectionReader};
pub use write::{archive, directory};

use tar::{EntryType, Header};

/// The header of an entry of root's, from 1970.
pub fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

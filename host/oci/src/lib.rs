//! OCI images as bytes: reproducible headers of layers, the JSON documents of an image, and the tar of an image layout.
//! The operator's image and release images are written with it.

mod archive;
mod blob;
mod digesting;
mod image;
pub mod media;

pub use archive::Archive;
pub use blob::{Blob, descriptor, index, manifest, path, saved};
pub use digesting::{Digesting, digest};
pub use image::{Image, Layer, Section, SectionReader};

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

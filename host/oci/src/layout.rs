//! Reads OCI image layouts, wherever their files are. Layouts are not trusted: documents are limited in size, and every
//! blob is checked against its digest.

use crate::document::{self, Document};
use crate::{Digesting, NAME, Section, SectionReader, is_sha256, path};
use oci_spec::image::{ANNOTATION_REF_NAME, Descriptor, Digest, ImageIndex, ImageManifest};
use serde::de::Error as _;
use std::fmt;
use std::io;

pub const INDEX: &str = "index.json";
/// The file that marks a layout.
pub const MARK: &str = "oci-layout";
/// The content of that file.
pub const MARK_CONTENT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
/// Directory of the blobs.
pub const BLOBS: &str = "blobs/sha256";
/// Largest index, manifest or configuration, in bytes. Registries refuse more than 4 MiB.
pub const MAX_DOCUMENT_BYTES: u64 = 4 << 20;
/// Most nested indexes.
const MAX_NESTED_INDEXES: usize = 3;

/// Finds the file at a path of a layout.
pub type Find<'f> = dyn Fn(&str) -> io::Result<Section> + 'f;

pub struct Layout<'l> {
    find: &'l Find<'l>,
}

/// An image in a layout.
pub struct Found {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Its name, if the index has it.
    pub name: Option<String>,
    pub manifest: Box<ImageManifest>,
}

/// Why a layout cannot be read. Its text is the rest of a sentence about the image.
#[derive(Debug)]
pub enum Error {
    /// The file at this path cannot be read.
    Unreadable(String, io::Error),
    /// The file at this path has too many bytes.
    TooLarge(String),
    /// The document at this path is not JSON, or lacks something.
    Malformed(String, serde_json::Error),
    /// A blob has another content than its digest says.
    Damaged { expected: Digest, found: Digest },
    /// A blob that is needed has a digest of another algorithm than sha256.
    Uncheckable(Digest),
    /// There is no image.
    Empty,
    /// There are several images, with these names.
    Several(usize, Vec<String>),
    /// Indexes lead to indexes.
    Nested,
}

// === impl Layout ===

impl<'l> Layout<'l> {
    pub fn new(find: &'l Find<'l>) -> Self {
        Self { find }
    }

    /// # Errors
    /// It is missing, too large or malformed.
    pub fn index(&self) -> Result<Box<ImageIndex>, Error> {
        let bytes = bytes(&self.file(INDEX)?, INDEX, MAX_DOCUMENT_BYTES)?;
        match document(&bytes, INDEX)? {
            Document::Index(index) => Ok(index),
            Document::Image(_) => Err(Error::Malformed(
                INDEX.to_owned(),
                serde_json::Error::custom("not an index"),
            )),
        }
    }

    /// The only image, or the only one for this platform.
    ///
    /// # Errors
    /// There is none, or several; a document is missing, too large, malformed or damaged.
    pub fn image(&self) -> Result<Found, Error> {
        let (mut index, mut name) = (self.index()?, None);
        for _ in 0..MAX_NESTED_INDEXES {
            let images = document::images(&index);
            let entry = match images.as_slice() {
                [entry] => entry,
                [] => return Err(Error::Empty),
                several => {
                    let names = several.iter().filter_map(|entry| name_of(entry)).collect();
                    return Err(Error::Several(several.len(), names));
                }
            };
            name = name.or_else(|| name_of(entry));
            index = match self.document(entry)? {
                Document::Index(inner) => inner,
                Document::Image(manifest) => {
                    let digest = entry.digest().clone();
                    return Ok(Found { digest, name, manifest });
                }
            };
        }
        Err(Error::Nested)
    }

    /// A manifest or an index.
    ///
    /// # Errors
    /// It is missing, too large, malformed or damaged.
    pub fn document(&self, descriptor: &Descriptor) -> Result<Document, Error> {
        document(&self.bytes(descriptor, MAX_DOCUMENT_BYTES)?, &path(descriptor.digest()))
    }

    /// The content of a blob.
    ///
    /// # Errors
    /// It is missing or damaged, or has more bytes than `most`.
    pub fn bytes(&self, descriptor: &Descriptor, most: u64) -> Result<Vec<u8>, Error> {
        let bytes = bytes(&self.blob(descriptor)?, &path(descriptor.digest()), most)?;
        compare(descriptor, crate::digest(&bytes))?;
        Ok(bytes)
    }

    /// The file of a blob, whose content is not checked.
    ///
    /// # Errors
    /// It is missing, or has no digest of sha256.
    pub fn blob(&self, descriptor: &Descriptor) -> Result<Section, Error> {
        if !is_sha256(descriptor) {
            return Err(Error::Uncheckable(descriptor.digest().clone()));
        }
        self.file(&path(descriptor.digest()))
    }

    fn file(&self, path: &str) -> Result<Section, Error> {
        (self.find)(path).map_err(|error| Error::Unreadable(path.to_owned(), error))
    }
}

/// Reads what is left of a blob, and checks all of it.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn check(descriptor: &Descriptor, mut content: Digesting<SectionReader>) -> Result<(), Error> {
    let unreadable = |error| Error::Unreadable(path(descriptor.digest()), error);
    io::copy(&mut content, &mut io::sink()).map_err(unreadable)?;
    compare(descriptor, content.finish().digest)
}

fn compare(descriptor: &Descriptor, found: Digest) -> Result<(), Error> {
    if found == *descriptor.digest() {
        return Ok(());
    }
    let expected = descriptor.digest().clone();
    Err(Error::Damaged { expected, found })
}

fn bytes(file: &Section, path: &str, most: u64) -> Result<Vec<u8>, Error> {
    match usize::try_from(file.size()) {
        Ok(size) if file.size() <= most => file.part(0, size),
        _ => return Err(Error::TooLarge(path.to_owned())),
    }
    .map_err(|error| Error::Unreadable(path.to_owned(), error))
}

fn document(bytes: &[u8], path: &str) -> Result<Document, Error> {
    Document::read(bytes).map_err(|error| Error::Malformed(path.to_owned(), error))
}

fn name_of(entry: &Descriptor) -> Option<String> {
    let annotations = entry.annotations().as_ref()?;
    annotations
        .get(NAME)
        .or_else(|| annotations.get(ANNOTATION_REF_NAME))
        .cloned()
}

// === impl Error ===

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) if error.kind() == io::ErrorKind::NotFound => {
                write!(f, "lacks the file '{path}'")
            }
            Self::Unreadable(path, error) => write!(f, "has the file '{path}', which cannot be read: {error}"),
            Self::TooLarge(path) => write!(f, "has the file '{path}', which is too large"),
            Self::Malformed(path, error) => write!(f, "has the unsupported document '{path}': {error}"),
            Self::Damaged { expected, .. } => write!(f, "has a file that does not match its digest {expected}"),
            Self::Uncheckable(digest) => write!(f, "needs a file whose digest is not sha256: {digest}"),
            Self::Empty => write!(f, "holds no image"),
            Self::Several(count, names) => write!(f, "holds {count} images: {}", names.join(", ")),
            Self::Nested => write!(f, "has endless indexes of indexes"),
        }
    }
}

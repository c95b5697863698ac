//! The blobs of an OCI image layout, by digest, checked while they are read.

use crate::directory::unreadable;
use crate::limits::Budget;
use boson_document::{Tree, json};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes;
use cap_std::fs::{Dir, File};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

/// Largest index or manifest, in bytes. Registries refuse more than 4 MiB.
const MAX_JSON_BYTES: u64 = 4 << 20;

/// Location of the blobs of a layout.
pub enum Blobs<'b> {
    /// In a directory.
    Directory {
        dir: &'b Dir,
        /// Its path, for messages.
        source: &'b str,
    },
    /// In a tar that is not compressed.
    Tar {
        file: &'b File,
        /// Begin and size of each file, in bytes.
        places: &'b BTreeMap<String, (u64, u64)>,
        /// Its path, for messages.
        source: &'b str,
    },
}

/// Names a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// `blobs/sha256/<hex>`
    pub path: String,
    /// Its media type.
    pub media_type: String,
    digest: String,
}

/// A blob that is being read.
pub struct Blob<'b> {
    inner: Box<dyn Read + 'b>,
    hash: Sha256,
    descriptor: &'b Descriptor,
    source: &'b str,
}

// === impl Descriptor ===

impl Descriptor {
    /// Reads a descriptor; only sha256 is supported, and only hexadecimal digits, so that the path stays in `blobs`.
    pub fn read(tree: &Tree) -> Option<Self> {
        let digest = tree.str("digest")?.strip_prefix("sha256:")?;
        let good = digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        good.then(|| Self {
            path: format!("blobs/sha256/{digest}"),
            media_type: tree.str("mediaType").unwrap_or_default().to_owned(),
            digest: digest.to_owned(),
        })
    }
}

// === impl Blobs ===

impl Blobs<'_> {
    /// The path of the layout, for messages.
    pub fn source(&self) -> &str {
        match self {
            Self::Directory { source, .. } | Self::Tar { source, .. } => source,
        }
    }

    /// The layout's `index.json`.
    ///
    /// # Errors
    /// It is missing, too large, or not JSON.
    pub fn index(&self) -> Result<Tree, Diagnostic> {
        let (reader, size) = self.file("index.json")?;
        self.parse("index.json", reader, size)
    }

    /// The JSON document in a blob.
    ///
    /// # Errors
    /// It is missing, damaged, too large, or not JSON.
    pub fn json(&self, descriptor: &Descriptor) -> Result<Tree, Diagnostic> {
        let (_, size) = self.file(&descriptor.path)?;
        let mut blob = self.open(descriptor)?;
        let tree = self.parse(&descriptor.path, &mut blob, size)?;
        blob.verify()?;
        Ok(tree)
    }

    /// Begins to read a blob.
    ///
    /// # Errors
    /// It is missing.
    pub fn open<'b>(&'b self, descriptor: &'b Descriptor) -> Result<Blob<'b>, Diagnostic> {
        let (inner, _) = self.file(&descriptor.path)?;
        Ok(Blob {
            inner,
            hash: Sha256::new(),
            descriptor,
            source: self.source(),
        })
    }

    fn parse(&self, path: &str, reader: impl Read, size: u64) -> Result<Tree, Diagnostic> {
        let document = format!("{}:{path}", self.source());
        let broken =
            |why: &str| Diagnostic::error(codes::RELEASE_IMAGE, format!("'{document}' {why}")).in_document(&document);
        if size > MAX_JSON_BYTES {
            return Err(broken("is too large"));
        }
        let mut text = String::new();
        reader
            .take(MAX_JSON_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| broken(&format!("can't be read: {error}")))?;
        json::parse(&text).map_err(|error| broken(&format!("is not JSON: {error}")))
    }

    fn file(&self, path: &str) -> Result<(Box<dyn Read + '_>, u64), Diagnostic> {
        let fail = |error: io::Error| unreadable(&format!("{}:{path}", self.source()), &error);
        match self {
            Self::Directory { dir, .. } => {
                let data = dir.metadata(path).map_err(fail)?;
                if !data.is_file() {
                    return Err(fail(io::Error::other("not a file")));
                }
                Ok((Box::new(dir.open(path).map_err(fail)?), data.len()))
            }
            Self::Tar { file, places, .. } => {
                let (begin, size) = *places.get(path).ok_or_else(|| fail(io::ErrorKind::NotFound.into()))?;
                let mut file: &File = file;
                file.seek(SeekFrom::Start(begin)).map_err(fail)?;
                Ok((Box::new(file.take(size)), size))
            }
        }
    }
}

// === impl Blob ===

impl Read for Blob<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl Blob<'_> {
    /// Reads what is left and checks the digest.
    ///
    /// # Errors
    /// The content does not match the descriptor.
    pub fn verify(mut self) -> Result<(), Diagnostic> {
        let document = format!("{}:{}", self.source, self.descriptor.path);
        io::copy(&mut self, &mut io::sink()).map_err(|error| unreadable(&document, &error))?;
        let got = HEXLOWER.encode(&self.hash.finalize());
        if got == self.descriptor.digest {
            return Ok(());
        }
        let message = format!(
            "Expected stream to have digest 'sha256:{}' but was 'sha256:{got}'",
            self.descriptor.digest
        );
        Err(Diagnostic::error(codes::RELEASE_DIGEST, message)
            .in_document(document)
            .help("the image is damaged: download it again"))
    }
}

/// Notes where the files of a layout are in a tar.
pub fn note(places: &mut BTreeMap<String, (u64, u64)>, path: &str, begin: u64, size: u64, budget: &Budget) {
    let wanted = matches!(path, "oci-layout" | "index.json") || path.starts_with("blobs/");
    // An image has some hundred layers at most.
    if wanted && (places.len() as u64) < budget.limits.linked {
        places.insert(path.to_owned(), (begin, size));
    }
}

//! Entries of a tar archive, none of them trusted: names of any form, extension headers of bounded size, links as data.

use crate::limits::Budget;
use crate::stream::{ExceededLimit, Meter, Stream};
use boson_document::Code;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes;
use std::io::{self, Read};
use std::ops::ControlFlow;
use tar::{Archive, EntryType, Header, PaxExtensions};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    File {
        executable: bool,
    },
    Directory,
    /// A symbolic link with this target.
    Link(String),
    /// Another name of the file at this path of the archive.
    HardLink(String),
    /// Anything else, with a description.
    Special(&'static str),
}

#[derive(Clone, Debug)]
pub struct Item {
    /// Path as in the archive: may be absolute, or contain `..`.
    pub path: String,
    pub kind: Kind,
    /// Permission bits, set-user-ID and the like included.
    pub mode: u32,
    pub size: u64,
    /// Offset of the content in the unpacked archive, in bytes.
    pub offset: u64,
}

// === impl Item ===

impl Item {
    /// The error for this entry, which releases never need.
    pub fn entry_error(&self, code: &Code, archive: &str, what: &str) -> Diagnostic {
        entry_error(code, archive, &self.path, what)
    }
}

/// A file stored as a map of its pieces. GNU tar writes it as a separate entry type, or as records before a regular
/// file.
const SPARSE_FILE: &str = "is a sparse file";

/// Called for each entry, with its content.
pub type Visit<'v> = dyn FnMut(&Item, &mut dyn Read) -> Result<(), Diagnostic> + 'v;

/// A [`Visit`] that can end the walk.
pub type BreakingVisit<'v> = dyn FnMut(&Item, &mut dyn Read) -> Result<ControlFlow<()>, Diagnostic> + 'v;

/// Names and sizes that come before an entry.
#[derive(Default)]
struct Extensions {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size: Option<u64>,
    /// A sparse file: the content is a map of segments, although the type of the entry is that of a regular file.
    sparse: bool,
}

/// Visits the entries of an archive like [`each`], until `visit` breaks. What follows is not read, so it may be
/// damaged.
///
/// # Errors
/// As [`each`].
pub fn each_until<R: Read>(
    name: &str,
    reader: R,
    budget: &Budget,
    tell: &mut dyn FnMut(u64),
    visit: &mut BreakingVisit<'_>,
) -> Result<(), Diagnostic> {
    let meter = Meter::new(budget);
    let walk = Walk {
        name,
        budget,
        meter: &meter,
    };
    let stream = Stream::open(reader, &meter, tell).map_err(|error| walk.stream_error(&error))?;
    let compressed = stream.is_gzip();
    let mut archive = Archive::new(stream);
    if walk.entries(&mut archive, compressed, visit)?.is_break() {
        return Ok(());
    }
    archive.into_inner().finish().map_err(|error| walk.stream_error(&error))
}

/// Visits all entries of an archive, compressed with gzip or not. `name` is for messages. `tell` is called with the
/// number of unpacked bytes.
///
/// # Errors
/// The archive is truncated, damaged, or over a limit; or an error of `visit`, which ends the walk.
pub fn each<R: Read>(
    name: &str,
    reader: R,
    budget: &Budget,
    tell: &mut dyn FnMut(u64),
    visit: &mut Visit<'_>,
) -> Result<(), Diagnostic> {
    let mut visit = |item: &Item, data: &mut dyn Read| visit(item, data).map(ControlFlow::Continue);
    each_until(name, reader, budget, tell, &mut visit)
}

struct Walk<'w> {
    name: &'w str,
    budget: &'w Budget,
    meter: &'w Meter<'w>,
}

// === impl Walk ===

impl Walk<'_> {
    fn entries<R: Read>(
        &self,
        archive: &mut Archive<R>,
        compressed: bool,
        visit: &mut BreakingVisit<'_>,
    ) -> Result<ControlFlow<()>, Diagnostic> {
        // Raw: the library would read extension headers of any size into memory.
        let entries = archive.entries().map_err(|error| self.stream_error(&error))?.raw(true);
        let mut extensions = Extensions::default();
        let mut first = true;
        for entry in entries {
            let mut entry = match entry {
                Ok(entry) => entry,
                // Without a valid first header, it is not an archive.
                Err(_) if first && !compressed && self.meter.exceeded_limit().is_none() => {
                    return Err(self.no_archive());
                }
                Err(error) => return Err(self.stream_error(&error)),
            };
            first = false;
            self.budget.entry(self.name)?;
            if self.extension(&mut entry, &mut extensions)? {
                continue;
            }
            let item = self.item(&entry, std::mem::take(&mut extensions))?;
            let mut content = Content {
                inner: &mut entry,
                failed: None,
            };
            let outcome = visit(&item, &mut content);
            // A truncated stream is reported before the visitor's error, which it causes.
            if let Some(error) = content.failed {
                return Err(self.stream_error(&error));
            }
            if outcome?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads the entry if it only describes the next one.
    fn extension<R: Read>(&self, entry: &mut tar::Entry<'_, R>, into: &mut Extensions) -> Result<bool, Diagnostic> {
        match entry.header().entry_type() {
            EntryType::GNULongName => into.path = Some(until_zero(self.short(entry)?)),
            EntryType::GNULongLink => into.target = Some(until_zero(self.short(entry)?)),
            EntryType::XHeader => self.extensions(&self.short(entry)?, into)?,
            EntryType::XGlobalHeader => {
                // It describes all entries that follow. Tools write comments into it. Names and sizes in it are
                // refused: some readers use them, others do not.
                let mut all = Extensions::default();
                self.extensions(&self.short(entry)?, &mut all)?;
                if all.path.is_some() || all.target.is_some() || all.size.is_some() || all.sparse {
                    return Err(self.entry_error("?", "is a header that gives all files one name or size"));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn extensions(&self, bytes: &[u8], into: &mut Extensions) -> Result<(), Diagnostic> {
        for extension in PaxExtensions::new(bytes) {
            let extension = extension.map_err(|error| self.stream_error(&error))?;
            let value = || extension.value_bytes().to_vec();
            match extension.key_bytes() {
                b"path" => into.path = Some(value()),
                b"linkpath" => into.target = Some(value()),
                b"size" => {
                    let size = extension.value().ok().and_then(|size| size.parse().ok());
                    into.size = Some(size.unwrap_or(u64::MAX));
                }
                key if key.starts_with(b"GNU.sparse.") => into.sparse = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn short<R: Read>(&self, entry: &mut tar::Entry<'_, R>) -> Result<Vec<u8>, Diagnostic> {
        // Enough for a path, the target of a link, and other pax records.
        let limit = self.budget.limits.path * 16;
        if entry.size() > limit {
            return Err(self.entry_error("?", "has a header that is too long"));
        }
        let mut bytes = Vec::new();
        entry
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| self.stream_error(&error))?;
        Ok(bytes)
    }

    fn item<R: Read>(&self, entry: &tar::Entry<'_, R>, extensions: Extensions) -> Result<Item, Diagnostic> {
        let header = entry.header();
        let path = extensions.path.unwrap_or_else(|| header.path_bytes().into_owned());
        let path = self.text(path)?;
        // With two sizes, two readers could extract different files.
        if extensions.size.is_some_and(|size| size != entry.size()) {
            return Err(self.entry_error(&path, "has two different sizes"));
        }
        let target = extensions.target.or_else(|| header.link_name_bytes().map(Vec::from));
        let target = self.text(target.unwrap_or_default())?;
        let kind = if extensions.sparse {
            Kind::Special(SPARSE_FILE)
        } else {
            kind(header, &path, target)
        };
        Ok(Item {
            path,
            kind,
            mode: entry.header().mode().unwrap_or_default() & 0o7777,
            size: entry.size(),
            offset: entry.raw_file_position(),
        })
    }

    fn text(&self, bytes: Vec<u8>) -> Result<String, Diagnostic> {
        let text =
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        if text.len() as u64 > self.budget.limits.path {
            let begin: String = text.chars().take(60).collect();
            return Err(self.entry_error(&format!("{begin}..."), "has a path that is too long"));
        }
        Ok(text)
    }

    fn entry_error(&self, path: &str, what: &str) -> Diagnostic {
        entry_error(codes::RELEASE_ARCHIVE_ENTRY, self.name, path, what)
    }

    fn no_archive(&self) -> Diagnostic {
        let message = format!("'{}' is neither a gzip nor a tar archive", self.name);
        Diagnostic::error(codes::RELEASE_ARCHIVE_FORMAT, message)
            .in_document(self.name)
            .help("expected a release tarball (.tgz), an OCI image (.tar), or a directory")
    }

    fn stream_error(&self, error: &io::Error) -> Diagnostic {
        let limits = &self.budget.limits;
        let failed = |code: &Code, what: &str| {
            let message = format!("'{}' {what}", self.name);
            Diagnostic::error(code, message).in_document(self.name)
        };
        let bomb = |what: &str| {
            let help = "no release needs that: the archive may be malicious";
            failed(codes::RELEASE_ARCHIVE_BOMB, what).help(help)
        };
        match self.meter.exceeded_limit() {
            Some(ExceededLimit::Size) => {
                let what = format!("unpacks to more than {} MiB", limits.scanned >> 20);
                failed(codes::RELEASE_ARCHIVE_SIZE, &what)
            }
            Some(ExceededLimit::Ratio) => bomb(&format!("unpacks to more than {} times its size", limits.ratio)),
            Some(ExceededLimit::Members) => bomb(&format!("consists of more than {} gzip members", limits.members)),
            None if error.kind() == io::ErrorKind::UnexpectedEof => {
                failed(codes::RELEASE_ARCHIVE_DAMAGED, "is truncated")
                    .help("download the file again; the download may have been interrupted")
            }
            None => failed(codes::RELEASE_ARCHIVE_DAMAGED, &format!("is damaged: {error}")),
        }
    }
}

/// The error for an entry at `path` that releases never need.
pub fn entry_error(code: &Code, archive: &str, path: &str, what: &str) -> Diagnostic {
    let path: String = path.chars().flat_map(char::escape_debug).collect();
    Diagnostic::error(code, format!("Entry '{path}' of '{archive}' {what}")).in_document(archive)
}

/// The content of an entry. Records that reading failed, even if the caller drops the error.
struct Content<'c, R> {
    inner: &'c mut R,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| {
            let again = io::Error::from(error.kind());
            self.failed = Some(error);
            again
        })
    }
}

fn kind(header: &Header, path: &str, target: String) -> Kind {
    match header.entry_type() {
        // Archives from before ustar mark directories by the slash.
        EntryType::Regular if path.ends_with('/') => Kind::Directory,
        EntryType::Regular | EntryType::Continuous => Kind::File {
            executable: header.mode().is_ok_and(|mode| mode & 0o111 != 0),
        },
        EntryType::Directory => Kind::Directory,
        EntryType::Symlink => Kind::Link(target),
        EntryType::Link => Kind::HardLink(target),
        EntryType::Char | EntryType::Block => Kind::Special("is a device"),
        EntryType::Fifo => Kind::Special("is a named pipe"),
        EntryType::GNUSparse => Kind::Special(SPARSE_FILE),
        _ => Kind::Special("is of a kind that releases do not have"),
    }
}

fn until_zero(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}

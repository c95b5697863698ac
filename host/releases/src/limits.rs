//! Limits for reading a release. All input is counted against them before it is stored.

use boson_pipeline::Diagnostic;
use boson_pipeline::quantities::MIB;
use boson_pipeline::release::codes;
use std::cell::Cell;

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;

/// An upper estimate of an entry's memory besides its path and content, in bytes.
const ENTRY_BYTES: u64 = 128;

/// Bounds for reading one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that archives may unpack to, all together. The largest releases (buildpacks, stacks) have 2 GiB of
    /// packages; they are skipped at some 300 MB/s.
    pub scanned: u64,
    /// Bytes that are kept in memory, all together. Jobs of the largest known release (capi) have 1 MiB.
    pub kept: u64,
    /// Bytes of one file that is kept.
    pub file: u64,
    /// Entries of all archives and directories together.
    pub entries: u64,
    /// Unpacked bytes per compressed byte, once an archive has unpacked to `ratio_from`. Text has about 10, and gzip
    /// can reach 1,000.
    pub ratio: u64,
    /// Unpacked bytes from which the ratio is checked.
    pub ratio_from: u64,
    /// Members of a gzip stream. Writers that make seekable files (bgzip, eStargz) start one for each 64 KiB, or for
    /// each file.
    pub members: u64,
    /// Bytes of a path or of the target of a link.
    pub path: u64,
    pub depth: usize,
    /// Entries of a directory outside of `jobs` that a link leads to.
    pub linked: u64,
}

/// What is left of the limits.
#[derive(Debug)]
pub struct Budget {
    pub limits: Limits,
    scanned: Cell<u64>,
    kept: Cell<u64>,
    entries: Cell<u64>,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self::usual()
    }
}

impl Limits {
    /// The limits of a conversion.
    pub const fn usual() -> Self {
        Self {
            scanned: 8 * GIB,
            kept: 32 * MIB,
            file: 32 * MIB,
            entries: 2_000_000,
            ratio: 100,
            ratio_from: 64 * MIB,
            members: 200_000,
            path: 4 * KIB,
            depth: 64,
            linked: 4096,
        }
    }

    /// The same, for archives that unpack to other sizes.
    pub const fn scanning(scanned: u64) -> Self {
        Self {
            scanned,
            ..Self::usual()
        }
    }
}

// === impl Budget ===

impl Budget {
    /// All of it.
    pub fn new(limits: Limits) -> Self {
        let left = |bytes| Cell::new(bytes);
        Self {
            limits,
            scanned: left(limits.scanned),
            kept: left(limits.kept),
            entries: left(limits.entries),
        }
    }

    /// Counts unpacked bytes; false where there are too many.
    pub fn scan(&self, bytes: u64) -> bool {
        take(&self.scanned, bytes)
    }

    /// Counts one entry of `source`.
    ///
    /// # Errors
    /// There are too many.
    pub fn entry(&self, source: &str) -> Result<(), Diagnostic> {
        if take(&self.entries, 1) {
            return Ok(());
        }
        let message = format!("'{source}' has too many entries: more than {}", self.limits.entries);
        Err(Diagnostic::error(codes::RELEASE_ARCHIVE_ENTRIES, message).in_document(source))
    }

    /// Counts a path that is kept, of something in `document`.
    ///
    /// # Errors
    /// There are too many: archives can hold millions of empty files with long names.
    pub fn note(&self, path: &str, document: &str) -> Result<(), Diagnostic> {
        self.keep(path.len() as u64 + ENTRY_BYTES, document)
    }

    /// Counts bytes that are kept, for the file `document`.
    ///
    /// # Errors
    /// There are too many.
    pub fn keep(&self, bytes: u64, document: &str) -> Result<(), Diagnostic> {
        if take(&self.kept, bytes) {
            return Ok(());
        }
        let message = format!("The jobs of the release have more than {} MiB", self.limits.kept / MIB);
        Err(Diagnostic::error(codes::RELEASE_ARCHIVE_SIZE, message)
            .in_document(document)
            .help("move large files from jobs into packages"))
    }
}

fn take(left: &Cell<u64>, amount: u64) -> bool {
    let rest = left.get().checked_sub(amount);
    rest.inspect(|rest| left.set(*rest)).is_some()
}

//! Unpacks a compressed stream and counts its bytes: detects archive bombs and truncated archives.

use crate::limits::Budget;
use crate::members::{Members, TooManyMembersError};
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};

/// Size of the reading buffer, in bytes.
const BUFFER_BYTES: usize = 128 << 10;

/// How often progress is reported, in unpacked bytes.
const PROGRESS_INTERVAL_BYTES: u64 = 32 << 20;

/// The limit that a stream exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceededLimit {
    /// It unpacks to too much.
    Size,
    /// It unpacks to too much for its size.
    Ratio,
    /// It has too many gzip members.
    Members,
}

/// Counts bytes; shared by both ends of the decompressor.
#[derive(Debug)]
pub struct Meter<'b> {
    budget: &'b Budget,
    packed: Cell<u64>,
    unpacked: Cell<u64>,
    exceeded: Cell<Option<ExceededLimit>>,
}

pub struct Stream<'m, R: Read> {
    inner: Inner<'m, R>,
    meter: &'m Meter<'m>,
    tell: &'m mut dyn FnMut(u64),
    reported: u64,
}

enum Inner<'m, R: Read> {
    Plain(BufReader<Packed<'m, R>>),
    Gzip(Box<Members<BufReader<Packed<'m, R>>>>),
}

struct Packed<'m, R> {
    inner: R,
    meter: &'m Meter<'m>,
}

// === impl Meter ===

impl<'b> Meter<'b> {
    pub fn new(budget: &'b Budget) -> Self {
        Self {
            budget,
            packed: Cell::new(0),
            unpacked: Cell::new(0),
            exceeded: Cell::new(None),
        }
    }

    /// The limit that the stream exceeded.
    pub fn exceeded_limit(&self) -> Option<ExceededLimit> {
        self.exceeded.get()
    }

    fn count(&self, bytes: u64) -> io::Result<u64> {
        let unpacked = self.unpacked.get().saturating_add(bytes);
        self.unpacked.set(unpacked);
        let limits = &self.budget.limits;
        let exceeded = if !self.budget.scan(bytes) {
            ExceededLimit::Size
        } else if unpacked > limits.ratio_from && unpacked / limits.ratio > self.packed.get() {
            ExceededLimit::Ratio
        } else {
            return Ok(unpacked);
        };
        self.exceeded.set(Some(exceeded));
        Err(io::Error::other("over the limit"))
    }
}

// === impl Stream ===

impl<'m, R: Read> Stream<'m, R> {
    /// Unpacks `reader`, gzip or not. `tell` is called with the number of unpacked bytes.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn open(reader: R, meter: &'m Meter<'m>, tell: &'m mut dyn FnMut(u64)) -> io::Result<Self> {
        let mut packed = BufReader::with_capacity(BUFFER_BYTES, Packed { inner: reader, meter });
        let gzip = packed.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let inner = if gzip {
            Inner::Gzip(Box::new(Members::new(packed, meter.budget.limits.members)))
        } else {
            Inner::Plain(packed)
        };
        Ok(Self {
            inner,
            meter,
            tell,
            reported: 0,
        })
    }

    pub fn is_gzip(&self) -> bool {
        matches!(self.inner, Inner::Gzip(_))
    }

    /// Reads to the end: gzip's checksum is at the end.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn finish(mut self) -> io::Result<()> {
        io::copy(&mut self, &mut io::sink()).map(drop)
    }
}

impl<R: Read> Read for Stream<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.inner {
            Inner::Plain(reader) => reader.read(buffer)?,
            Inner::Gzip(reader) => reader.read(buffer).inspect_err(|error| {
                if error.get_ref().is_some_and(|inner| inner.is::<TooManyMembersError>()) {
                    self.meter.exceeded.set(Some(ExceededLimit::Members));
                }
            })?,
        };
        let unpacked = self.meter.count(count as u64)?;
        if unpacked - self.reported >= PROGRESS_INTERVAL_BYTES {
            self.reported = unpacked;
            (self.tell)(unpacked);
        }
        Ok(count)
    }
}

impl<R: Read> Read for Packed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.meter
            .packed
            .set(self.meter.packed.get().saturating_add(count as u64));
        Ok(count)
    }
}

//! gzip on all cores: blocks of a fixed size are deflated independently of each other and put together to one ordinary
//! gzip stream. The result depends on the input only, never on the number of cores.

use flate2::{Compress, Compression, Crc, FlushCompress};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes that are deflated at once: large enough that the cost of a new compressor for each block is negligible.
const BLOCK_BYTES: usize = 1 << 20;
/// Compression level. For programs, as in stemcells and packages, higher levels take twice as long to save a few
/// percent.
const COMPRESSION_LEVEL: u32 = 4;
/// No name, no time, unknown system: nothing of this machine.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// An empty last block.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Threads that deflate, shared between all layers of a process. They end with the last handle.
#[derive(Clone, Debug)]
pub struct Pool {
    work: SyncSender<Work>,
    threads: usize,
}

#[derive(Debug)]
struct Work {
    block: Vec<u8>,
    done: SyncSender<io::Result<Vec<u8>>>,
}

/// A writer that compresses.
#[derive(Debug)]
pub struct Gzip<W> {
    out: W,
    pool: Pool,
    block: Vec<u8>,
    pending: VecDeque<Receiver<io::Result<Vec<u8>>>>,
    crc: Crc,
}

// === impl Pool ===

impl Pool {
    fn of(threads: usize) -> Self {
        let (work, queue) = sync_channel::<Work>(threads);
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads {
            let queue = queue.clone();
            thread::spawn(move || {
                loop {
                    let next = queue.lock().recv();
                    let Ok(Work { block, done }) = next else { return };
                    // The receiver may have given up.
                    let _ = done.send(deflate(&block));
                }
            });
        }
        Self { work, threads }
    }
}

impl Default for Pool {
    /// A thread for each core.
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self::of(threads)
    }
}

// === impl Gzip ===

impl<W: Write> Gzip<W> {
    /// Compresses into `out`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, pool: &Pool) -> io::Result<Self> {
        out.write_all(&GZIP_HEADER)?;
        Ok(Self {
            out,
            pool: pool.clone(),
            block: Vec::with_capacity(BLOCK_BYTES),
            pending: VecDeque::new(),
            crc: Crc::new(),
        })
    }

    /// Writes what is left, and gives `out` back.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.block.is_empty() {
            self.hand_over()?;
        }
        while !self.pending.is_empty() {
            self.take()?;
        }
        self.out.write_all(&LAST_BLOCK)?;
        self.out.write_all(&self.crc.sum().to_le_bytes())?;
        // The size modulo 2^32, as the format has it.
        self.out.write_all(&self.crc.amount().to_le_bytes())?;
        Ok(self.out)
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK_BYTES));
        let (done, result) = sync_channel(1);
        let work = Work { block, done };
        self.pool.work.send(work).map_err(|_| stopped())?;
        self.pending.push_back(result);
        while self.pending.len() > self.pool.threads {
            self.take()?;
        }
        Ok(())
    }

    fn take(&mut self) -> io::Result<()> {
        let Some(next) = self.pending.pop_front() else {
            return Ok(());
        };
        let block = next.recv().map_err(|_| stopped())??;
        self.out.write_all(&block)
    }
}

impl<W: Write> Write for Gzip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = BLOCK_BYTES - self.block.len();
        let part = bytes.get(..free.min(bytes.len())).unwrap_or_default();
        self.crc.update(part);
        self.block.extend_from_slice(part);
        if self.block.len() == BLOCK_BYTES {
            self.hand_over()?;
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // A flush in the middle of a block would make the bytes depend on who calls it.
        Ok(())
    }
}

/// Deflates a block to the end of a byte, so that another can follow.
fn deflate(block: &[u8]) -> io::Result<Vec<u8>> {
    let mut compress = Compress::new(Compression::new(COMPRESSION_LEVEL), false);
    let mut out = Vec::with_capacity(block.len() / 2 + 1024);
    loop {
        let done = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
        let rest = block.get(done..).unwrap_or_default();
        compress.compress_vec(rest, &mut out, FlushCompress::Sync)?;
        if compress.total_in() == block.len() as u64 && out.len() < out.capacity() {
            return Ok(out);
        }
        out.reserve(block.len() / 2 + 1024);
    }
}

fn stopped() -> io::Error {
    io::Error::other("the compression threads have ended")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn packed(bytes: &[u8], threads: usize, step: usize) -> Vec<u8> {
        let mut gzip = Gzip::new(Vec::new(), &Pool::of(threads)).unwrap();
        for part in bytes.chunks(step) {
            gzip.write_all(part).unwrap();
        }
        gzip.finish().unwrap()
    }

    #[test]
    fn one_stream_whatever_the_threads_and_the_writes() {
        let noise = |n: u32| (n.wrapping_mul(2_654_435_761) >> 21) as u8;
        for size in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES + 7] {
            let bytes: Vec<u8> = (0..size as u32).map(noise).collect();
            let one = packed(&bytes, 1, usize::MAX);
            assert_eq!(one, packed(&bytes, 3, 4099), "{size}");
            // Not the decoder for several members: the output is one member.
            let mut back = Vec::new();
            let mut decoder = GzDecoder::new(one.as_slice());
            decoder.read_to_end(&mut back).unwrap();
            assert_eq!(back, bytes, "{size}");
            assert!(decoder.into_inner().is_empty(), "{size}");
        }
    }
}

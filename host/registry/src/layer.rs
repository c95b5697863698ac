//! One layer: from the registry through the reducer into the cache.

use crate::cache::Cache;
use boson_pipeline::Diagnostic;
use boson_releases::{Limits, reduce};
use futures::Stream;
use std::io;
use std::path::PathBuf;
use tokio::task;
use tokio_util::bytes::Bytes;
use tokio_util::io::{StreamReader, SyncIoBridge};

/// Reduces the layer `name` (for messages) while it comes in, and keeps it as `digest`. The stream ends with an error where its bytes do not
/// have the digest.
pub(crate) async fn keep(
    cache: &Cache,
    name: String,
    digest: &str,
    stream: impl Stream<Item = Result<Bytes, io::Error>> + Send + Unpin + 'static,
) -> Result<PathBuf, Diagnostic> {
    let scratch = cache.scratch()?;
    let reader = SyncIoBridge::new(StreamReader::new(stream));
    // Unpacking is work for a processor: on the runtime's threads it would hold up everything else.
    let reduced = task::spawn_blocking(move || {
        let out = io::BufWriter::new(scratch.as_file());
        reduce(&name, reader, Limits::default(), out).map(|()| scratch)
    });
    let scratch = reduced.await.map_err(|_| {
        Diagnostic::error("image-registry", "reading the layer was interrupted").help("it is tried again")
    })??;
    cache.keep(scratch, digest)
}

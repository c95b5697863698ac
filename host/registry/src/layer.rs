//! One layer: from the registry through the reducer into the cache.

use crate::cache::Cache;
use crate::pipe::pipe;
use boson_pipeline::Diagnostic;
use boson_releases::{Limits, reduce};
use futures::{Stream, StreamExt};
use std::io;
use std::path::PathBuf;
use tokio::task;

/// Reduces the layer `name` (for messages) while it comes in, and keeps it as `digest`. The stream ends with an error where its bytes do not
/// have the digest.
///
/// # Guarantees
/// Where the caller stops waiting, the thread that unpacks ends, too.
pub(crate) async fn keep(
    cache: &Cache,
    name: String,
    digest: &str,
    mut stream: impl Stream<Item = Result<impl AsRef<[u8]>, io::Error>> + Unpin,
) -> Result<PathBuf, Diagnostic> {
    let scratch = cache.scratch()?;
    let (inlet, outlet) = pipe();
    // Unpacking is work for a processor: on the runtime's threads it would hold up everything else.
    let reduced = task::spawn_blocking(move || {
        let out = io::BufWriter::new(scratch.as_file());
        reduce(&name, outlet, Limits::default(), out).map(|()| scratch)
    });
    while let Some(part) = stream.next().await {
        let part = part.map_err(|_| interrupted("the layer breaks off, or is not what its digest says"))?;
        if !inlet.send(part.as_ref()).await {
            break;
        }
    }
    inlet.end().await;
    let scratch = reduced
        .await
        .map_err(|_| interrupted("reading the layer was interrupted"))??;
    cache.keep(scratch, digest)
}

fn interrupted(what: &str) -> Diagnostic {
    Diagnostic::error("image-registry", what).help("it is tried again")
}

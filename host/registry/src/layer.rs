//! One layer: from the registry through the reducer into a layout.

use crate::cache::Key;
use crate::layout::Draft;
use crate::pipe::pipe;
use boson_pipeline::Diagnostic;
use futures::{Stream, StreamExt};
use std::io;
use tokio::task;

/// Puts the layer `name` (for messages) on top of `draft` while it comes in. The stream ends with an error where its bytes do not have the
/// layer's digest.
///
/// # Guarantees
/// Where the caller stops waiting, the thread that unpacks ends, too.
pub(crate) async fn add(
    mut draft: Draft,
    key: Key,
    name: String,
    mut stream: impl Stream<Item = Result<impl AsRef<[u8]>, io::Error>> + Unpin,
) -> Result<Draft, Diagnostic> {
    let (inlet, outlet) = pipe();
    let added = task::spawn_blocking(move || draft.add(&key, &name, outlet).map(|()| draft));
    while let Some(part) = stream.next().await {
        let part = part.map_err(|_| interrupted("the layer breaks off, or is not what its digest says"))?;
        if !inlet.send(part.as_ref()).await {
            break;
        }
    }
    inlet.end().await;
    added
        .await
        .map_err(|_| interrupted("reading the layer was interrupted"))?
}

/// Work for the disk or a processor: on the runtime's threads it would hold up everything else.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Diagnostic> + Send + 'static,
) -> Result<T, Diagnostic> {
    let done = task::spawn_blocking(work).await;
    done.map_err(|_| interrupted("reading the image was interrupted"))?
}

fn interrupted(what: &str) -> Diagnostic {
    Diagnostic::error("image-registry", what).help("it is tried again")
}

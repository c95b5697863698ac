//! One layer: from the registry through the reducer into a layout.

use crate::cache::Key;
use crate::codes;
use crate::error::{Error, registry_error};
use crate::layout::Draft;
use crate::pipe::{Inlet, pipe};
use boson_oci::{Descriptor, finished};
use boson_pipeline::Diagnostic;
use reqwest::Response;
use sha2::{Digest, Sha256};
use tokio::task;

/// Fills the pipe, and ends it only if the layer matches its digest.
async fn copy_verified(mut answer: Response, layer: &Descriptor, inlet: Inlet) -> Result<(), Error> {
    const WRONG_DIGEST: Error = Error::Odd("returned a layer that does not match its digest");
    let (mut hash, mut left) = (Sha256::new(), layer.size());
    while let Some(part) = answer.chunk().await? {
        left = left.checked_sub(part.len() as u64).ok_or(WRONG_DIGEST)?;
        hash.update(&part);
        if !inlet.send(&part).await {
            // The reader reports why it stopped.
            return Ok(());
        }
    }
    if finished(hash) != *layer.digest() {
        return Err(WRONG_DIGEST);
    }
    inlet.end().await;
    Ok(())
}

/// Adds a layer on top of `draft` while it is received, and caches it. `layer`: its expected digest and size.
///
/// # Guarantees
/// If the caller stops waiting, the thread that unpacks ends, too.
pub(crate) async fn receive(
    mut draft: Draft,
    key: Key,
    layer: &Descriptor,
    answer: Response,
) -> Result<Draft, Diagnostic> {
    let (inlet, outlet) = pipe();
    let image = draft.image.clone();
    let name = format!("{image}:{}", layer.digest());
    let added = task::spawn_blocking(move || draft.add(&key, &name, outlet).map(|()| draft));
    let copied = copy_verified(answer, layer, inlet).await;
    // First, because then the thread has ended and removed its files.
    let added = added.await;
    copied.map_err(|error| error.explain(&image))?;
    added.map_err(|_| registry_error(&image, "returned a layer that cannot be read"))?
}

/// Work for the disk or a processor: on the runtime's threads it would block other tasks.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Diagnostic> + Send + 'static,
) -> Result<T, Diagnostic> {
    let done = task::spawn_blocking(work).await;
    done.map_err(|_| {
        Diagnostic::error(codes::IMAGE_REGISTRY, "reading the image was interrupted").help("it will be retried")
    })?
}

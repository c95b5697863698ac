//! Work for the disk or a processor, on a thread that may block.

use boson_images::codes;
use boson_pipeline::Diagnostic;

/// Runs this work.
///
/// # Errors
/// Those of the work, or the process is ending.
pub async fn blocking<T: Send + 'static, E: From<Diagnostic> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        let error = Diagnostic::error(codes::IMAGE_UNWRITABLE, "building the image was interrupted");
        Err(error.help("try again").into())
    })
}

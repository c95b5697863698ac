//! Work for the disk or a processor, on a thread that may block.

use boson_images::codes;
use boson_pipeline::Diagnostic;

/// Runs this work.
///
/// # Errors
/// Those of the work, or the process is ending.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Diagnostic> + Send + 'static,
) -> Result<T, Diagnostic> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(interrupted()))
}

/// The error of work that was not finished.
pub fn interrupted() -> Diagnostic {
    Diagnostic::error(codes::IMAGE_UNWRITABLE, "building the image was interrupted").help("try again")
}

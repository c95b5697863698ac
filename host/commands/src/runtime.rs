//! Requests to servers, in commands that do nothing else meanwhile.

/// Runs this to its end.
///
/// # Errors
/// There is no runtime.
pub fn block_on<T>(requests: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(requests))
}

//! The progress of a transfer.

/// Called with numbers of bytes that were sent or received, or that did not need to be.
pub type Tell<'t> = dyn Fn(u64) + Send + Sync + 't;

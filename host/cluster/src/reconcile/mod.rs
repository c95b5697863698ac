//! Runs the reconciles of a controller: watches requeue objects, each object is reconciled by one task at a time, and a
//! failure is retried after a back-off.

mod backoff;
mod batches;
mod interest;
mod running;
mod spawned;
pub mod watches;

pub use batches::batched;
pub use interest::Interest;
pub use running::{Running, key};

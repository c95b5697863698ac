//! Runs the reconciles of a controller: watches requeue objects, each object is reconciled by one task at a time, and a
//! failure is retried after a back-off.

mod backoff;
mod interest;
mod running;
mod spawned;
pub mod watches;

pub use interest::Interest;
pub use running::{Running, key};

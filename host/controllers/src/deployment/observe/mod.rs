//! Reads the state of the cluster. Nothing here writes, except for dry runs.

mod difference;
mod objects;
pub mod plugins;
mod readiness;
pub mod rollouts;
pub mod snapshot;

pub use difference::{difference, settle};
pub use objects::{documents, has_claims, job_sources, live, of_kind, quotas, secret, unused_plugins};
pub use readiness::{errands, groups, unchanged};

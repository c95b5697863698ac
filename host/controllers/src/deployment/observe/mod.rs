//! Reads the state of the cluster. Nothing here writes, except for dry runs.

mod additional;
mod difference;
mod objects;
mod of_kind;
pub mod plugins;
mod readiness;
pub mod rollouts;
pub mod snapshot;

pub use difference::{difference, skip_unchangeable};
pub use objects::{documents, has_claims, job_sources, live, quotas, secret, unused_plugins};
pub use of_kind::of_kind;
pub use readiness::{errands, groups, owned, reported_groups, unchanged_state};
pub use snapshot::linked;

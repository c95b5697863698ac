//! Drift: how an object in the cluster differs from the one that was written, what to write again, and what to remove.
//!
//! We own the fields that we write, and the lists and maps that contain them. A field with another value is written
//! again. For additions, the API server records the manager: what a user or another controller added to our lists and
//! maps is removed; what defaulting and mutating admission added has no manager, and stays. Pure, except for
//! [`skip_unchangeable`] and [`remove`].

mod additions;
mod compare;
mod dry_runs;
mod lists;

pub use additions::{Addition, Foreign};
pub use boson_pipeline::quantities::quantity;
pub use compare::holds;
pub use dry_runs::{AddedByOthers, Drifted, remove, skip_unchangeable};

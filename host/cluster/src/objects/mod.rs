//! The objects that a controller owns: what to write and what to delete, name conflicts, changes by others, and
//! versions of Secrets.

pub mod account;
pub mod conflicts;
pub mod drift;
mod metadata;
mod plan;
pub mod used;
pub mod versioned;

pub use metadata::{annotation, entry, label};
pub use plan::{DIGEST, Plan, TRIGGER, digest, has_owner, is_manual, names_owner, own, plan, short_hexadecimal};

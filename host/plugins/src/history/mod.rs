//! The versions of a plugin: the operator copies each version that it activates, and records when it became active and
//! why others were rejected. So one command can go back to an earlier version.
//!
//! ```text
//! registry -> keep (in the leader) -> ConfigMaps: a record, and copies of the last versions
//!     -> rollback (with the user's permissions)
//! ```

mod keep;
mod record;
mod rollback;

pub use keep::keep;
pub use record::{History, Revision, RevisionState};
pub use rollback::{RollbackError, histories, rollback};

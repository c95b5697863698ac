//! The commands, one file or folder each.

pub mod deploy;
pub mod history;
pub mod rollback;

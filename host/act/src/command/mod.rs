//! The commands, one file or folder each.

pub mod ignore;
pub mod states;
pub mod deploy;
pub mod history;
pub mod rollback;

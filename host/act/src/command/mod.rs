//! The commands, one file or folder each.

pub mod logs;
pub mod run_errand;
pub mod scp;
pub mod ssh;

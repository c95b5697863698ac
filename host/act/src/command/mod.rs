//! The commands, one file or folder each.

pub mod logs;
pub mod scp;
pub mod ssh;

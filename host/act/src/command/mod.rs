//! The commands, one file or folder each.

pub mod cancel;
pub mod cloud_check;
pub mod deploy;
pub mod disk;
pub mod history;
pub mod ignore;
pub mod import;
pub mod logs;
pub mod rollback;
pub mod rotate;
pub mod run_errand;
pub mod scp;
pub mod ssh;
pub mod states;

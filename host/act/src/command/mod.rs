//! The commands, one file or folder each.

pub mod ignore;
pub mod states;

//! The commands that show the deployments of a cluster: `host deployments`, `instances`, `status`, `disks`, `errands`,
//! `events`, `variables`, `manifest` and `graph`. They only read, and print what the commands of the same names of the
//! BOSH CLI print, which has no `graph`.
//!
//! In each command, a function without I/O makes a [`table::Table`] of objects, and `run` lists the objects.

pub mod access;
pub mod applied;
pub mod command;
pub mod instances;
pub mod state;
pub mod table;
mod time;
mod usage;

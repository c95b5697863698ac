//! The commands, one file each.

pub mod deployments;
pub mod disks;
pub mod errands;
pub mod events;
pub mod graph;
pub mod instances;
pub mod manifest;
pub mod status;
pub mod variables;

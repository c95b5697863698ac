//! The subcommands that copy files: to volumes of the pod, and out of a container and into it.

pub mod archive;
pub mod install;
pub mod jobs;
pub mod packages;

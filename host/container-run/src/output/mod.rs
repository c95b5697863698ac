//! What programs write: into a log file of BOSH's name, and into the container's log.

pub mod container;
pub mod logfile;
pub mod relay;
pub mod say;

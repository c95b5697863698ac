//! The commands that act on the deployments of a cluster, as the commands of the same names of the BOSH CLI do.
//!
//! Each command has the permissions of its user. Decisions and tables are made by functions without I/O; `run` calls
//! the API server.

mod codes;
pub mod command;
mod containers;
mod display;
mod drain;
mod follow;
mod interrupt;
mod lines;
mod log_text;
mod lost;
mod nodes;
mod recorded;
mod remote;
mod replace;
pub mod selection;
mod states;
mod unpack;

pub use codes::ALL as CODES;

//! Processes of a job, as all of its instances have them.

mod agree;
mod dropped;
mod findings;

pub use agree::of_job;
pub use boson_processes::{Process, Volume, clean};

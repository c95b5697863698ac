//! What one step of a conversion stores for a later one, in Secrets.

pub mod bpm;
mod foreign;
pub mod job_sources;
pub mod providers;
pub mod stored;

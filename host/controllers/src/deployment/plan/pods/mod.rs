//! How the objects of instance groups shape their pods, and what running pods keep. Pure.

pub mod active_pods;
pub mod init_containers;
pub mod instance_states;
pub mod job_sources;
pub mod manifest_version;
pub mod operator_image;
pub mod revisions;
pub mod serial;

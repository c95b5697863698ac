//! The commands that change a deployment in a cluster, or wait for it, and need more than [`boson_act`].

pub mod deploy;
pub mod import;
pub mod prune;
pub mod rollback;
pub mod wait;

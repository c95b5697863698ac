//! Plugins from ConfigMaps, with a real API server and the real operator.

mod approval;
mod canaries;
mod checks;
mod refused;
mod rollback;
pub mod scene;
mod stages;
mod versions;

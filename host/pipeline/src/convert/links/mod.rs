//! The Secrets of links, for pods and for other deployments.

pub mod secrets;
pub mod shared;

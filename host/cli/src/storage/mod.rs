//! Files that this program writes: whole or not at all, by one run at a time, and never outside of the directory that
//! the user named.

pub mod below;
#[cfg_attr(not(test), path = "crash_nowhere.rs")]
mod crash;
pub mod durable;
mod lock;
pub mod vars_store;

#[cfg(test)]
pub use crash::everywhere;
pub use lock::Lock;

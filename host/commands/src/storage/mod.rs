//! Files that this program writes: whole or not at all, by one run at a time, and never outside of the directory that
//! the user named. New directories of plugins are not read by others, and written by [`create()`].

pub mod below;
#[cfg_attr(not(test), path = "crash_disabled.rs")]
mod crash;
mod create;
pub mod durable;
mod lock;
pub mod vars_store;

pub use create::create;
pub use lock::Lock;

#[cfg(test)]
pub use crash::crash_at_each_point;

//! One budget for a process: how much memory calls of plugins, compiling, documents and releases may take together, and
//! how many calls run at a time. It is derived from the container's limit, and shared between namespaces, so that none
//! takes it all.
//!
//! ```text
//! container::memory() -> Budget::of_many(bytes, cores) -> hold(class, holder, bytes) : Share -- returned on drop
//! ```
//!
//! # Guarantees
//! The shares never exceed the budget. Requests in the order of [`Class`] are always granted in the end: a holder of a
//! share waits only for later classes, and a part of the budget is reserved for calls.
//!
//! # Caveats
//! Bytes are upper bounds that callers declare; nothing here measures. Other memory of the process (caches of objects,
//! retained pages of plugins, memory that the allocator has not returned yet) is the part of the container's memory
//! outside the budget.

mod budget;
mod class;
pub mod container;
mod ledger;
mod plan;

pub use budget::{Budget, Error, Share};
pub use class::Class;

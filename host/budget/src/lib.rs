//! One budget for a process: how much memory calls of plugins, compiling, documents and releases may take together, and how many calls run at
//! a time. It is derived from what the container has, and shared between namespaces, so that none takes it all.
//!
//! ```text
//! container::memory() -> Budget::of_many(bytes, cores) -> hold(class, holder, bytes) : Share -- given back on drop
//! ```
//!
//! # Guarantees
//! What is held never comes to more than the budget. Whoever asks in the order of [`Class`] is served in the end: a share is only ever waited
//! for by those whose holders wait for nothing but later classes, and calls have a part of the budget that nothing else may take.
//!
//! # Caveats
//! Bytes are what callers say that they need, an upper bound; nothing here measures. What the process takes besides (caches of objects, kept
//! pages of plugins, what the allocator has not given back yet) is the part of the container's memory that is left out of the budget.

mod budget;
pub mod container;
mod ledger;
mod plan;

pub use budget::{Budget, Excess, Share};
pub use ledger::Class;

//! How an object in the cluster differs from the one that was written: what has to be written again, and what has to be removed.
//!
//! The fields that were written are ours, and so are the lists and maps that they are in. A field with another value is written again. What
//! stands beside it was added by somebody, and the API server records by whom: what a user or another controller added to a list or map of ours
//! is removed; what defaulting and mutating admission added has no manager, and stays. All but [`settle`] and [`remove`] is pure.

mod additions;
mod compare;
mod lists;
mod settle;

pub(crate) use additions::{Addition, Foreign};
pub(crate) use compare::{holds, quantity};
pub(crate) use settle::{Drifted, Excess, REMOVED, remove, settle};

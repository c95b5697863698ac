//! The Secret of a QuarksSecret: its name, owner, annotations and entries. Pure.

pub(super) mod desired;
pub(super) mod entry;
pub(super) mod marks;

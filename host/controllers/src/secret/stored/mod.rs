//! The Secret of a QuarksSecret: its name, owner, annotations and entries. Pure.

pub(super) mod desired;
pub(super) mod marks;

//! What a value is generated from, and how.

pub(super) mod generate;
pub(super) mod image;
pub(super) mod keys;
pub(super) mod recipe;
pub(super) mod template;

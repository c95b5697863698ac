//! Documents of the stages: a lossless JSON tree, its text form, pointers into it, BOSH's placeholders, and Go's and Ruby's rules for values.
//!
//! Pure: no WIT, no IO. Shared by plugins and host, so that both read and write the contract's `json` (see `wit/types`) the same way.

mod closest;
pub mod code;
pub mod escape;
pub mod go;
pub mod json;
pub mod placeholder;
pub mod pointer;
pub mod ruby;
mod serde_impl;
pub mod tree;

pub use closest::{closest, did_you_mean};
pub use code::Codes;
pub use pointer::Pointer;
pub use tree::{Map, Number, Tree};

/// Deepest nesting of a document: more than BOSH's manifests need, and too little to exhaust a stack.
pub const MAX_DEPTH: usize = 128;

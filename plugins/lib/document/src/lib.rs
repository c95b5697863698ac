//! Documents of the stages: a lossless JSON tree, its text form, pointers into it, BOSH's placeholders, Go's and Ruby's
//! rules for values, and diagnostics about documents.
//!
//! Pure: no WIT, no IO. Shared by plugins and host, so that both read and write the contract's `json` (see `wit/types`)
//! the same way.

mod closest;
mod code;
pub mod contract;
mod diagnostic;
pub mod escape;
pub mod go;
pub mod json;
mod number;
mod place;
pub mod placeholder;
pub mod pointer;
mod report;
pub mod ruby;
mod serde_impl;
mod severity;
pub mod tree;

pub use closest::{SUGGESTION, closest, did_you_mean};
pub use code::Code;
pub use diagnostic::Diagnostic;
pub use number::Number;
pub use place::Place;
pub use pointer::Pointer;
pub use report::{LeftOut, Report};
pub use severity::Severity;
pub use tree::{Map, Tree};

/// Deepest nesting of a document: more than BOSH's manifests need, and too little to exhaust a stack.
pub const MAX_DEPTH: usize = 128;

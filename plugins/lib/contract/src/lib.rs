//! The nouns of the plugin interface: records of `wit/` with documents as trees, without bindings. The host and the
//! rules have no others: each field is here once, and where bindings become these types.
//!
//! Pure. A record has no `more`; diagnostics are beside a reply, because the rules and the host have two forms of them.

#![warn(missing_docs)]

pub mod bpm;
pub mod links;
pub mod objects;
pub mod ops;
pub mod render;
pub mod types;
pub mod variables;

use boson_document::Diagnostic;

/// Reply of a rule: the value with its warnings, or diagnostics of which at least one is an error.
pub type Reply<T> = Result<(T, Vec<Diagnostic>), Vec<Diagnostic>>;

//! The types of the plugin interface: records of `wit/` with documents as trees. The host and the rules have no others:
//! each field is here once, and once more in a macro below its type, which converts it from and to bindings, and from
//! JSON.
//!
//! Pure. A record has no `more`; diagnostics are beside a reply, because the rules and the host have two forms of them.

#![warn(missing_docs)]

pub mod bindings;
pub mod bpm;
pub mod call;
pub mod links;
pub mod objects;
pub mod ops;
pub mod render;
pub mod types;
pub mod variables;

use boson_document::Diagnostic;

/// Reply of a rule: the value with its warnings, or diagnostics of which at least one is an error.
pub type Reply<T> = Result<(T, Vec<Diagnostic>), Vec<Diagnostic>>;

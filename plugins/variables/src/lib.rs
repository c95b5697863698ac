//! The variables stage: what the manifest's `variables` section defines, what its placeholders refer to, and the values
//! in their places.
//!
//! Two sets of rules ([`Rules`]): those of `bosh interpolate` and those of the director. Pure: values come in, nothing
//! is generated.
//!
//! # Caveats
//! If BOSH quotes a value in an error, this crate writes `<redacted>` or `...`, because the value may be secret.

pub mod codes;
pub mod limit;
pub mod plan;
pub mod rules;

mod cli;
mod definitions;
mod director;
mod failure;
mod find;
mod names;
mod satisfied;
mod validation;
mod walk;

#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "generated bindings")]
mod guest;

pub use definitions::Definition;
pub use plan::{Plan, Reference, plan};
pub use rules::Rules;

use boson_document::{Diagnostic, Map, Tree};

/// JSON Schema of the settings: there are none.
pub const SETTINGS_SCHEMA: &str = r#"{"type":"object","additionalProperties":false}"#;

/// A document whose placeholders are replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpolated {
    pub document: Tree,
    /// Names that had no value, sorted, and the first place of each.
    pub missing: Vec<Reference>,
    /// Names of values that were used, sorted.
    pub used: Vec<String>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Replaces placeholders by values; takes entries out of `variables` whose variable has one.
///
/// # Errors
/// All errors in the placeholders, up to [`limit::MAX`]. A name without a value is not an error.
pub fn interpolate(document: Tree, values: &Map, rules: Rules) -> Result<Interpolated, Vec<Diagnostic>> {
    match rules {
        Rules::Cli => cli::interpolate(document, values),
        Rules::Director => director::interpolate(document, values),
    }
}

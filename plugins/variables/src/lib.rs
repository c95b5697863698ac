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

mod cli;
mod definitions;
mod director;
mod error;
mod find;
mod names;
mod satisfied;
mod validation;
mod walk;

#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "generated bindings")]
mod guest;

pub use boson_contract::variables::{Definition, Interpolated, Reference, Rules, VariablesPlan};
pub use plan::plan;

use boson_contract::Reply;
use boson_document::{Map, Tree};

/// JSON Schema of the settings: there are none.
pub const SETTINGS_SCHEMA: &str = r#"{"type":"object","additionalProperties":false}"#;

/// Replaces placeholders by values; takes entries out of `variables` whose variable has one.
///
/// # Errors
/// All errors in the placeholders, up to [`limit::MAX_DIAGNOSTICS`]. A name without a value is not an error.
pub fn interpolate(document: Tree, values: &Map, rules: Rules) -> Reply<Interpolated> {
    match rules {
        Rules::Cli => cli::interpolate(document, values),
        Rules::Director => director::interpolate(document, values),
    }
}

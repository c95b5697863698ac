//! Diagnostics and descriptions as records of the contract. Each plugin has its own types for these records, generated
//! from `wit/types`.

use crate::{Code, Diagnostic};

/// Prefix of members of a record that its reader must know.
pub const REQUIRED: &str = "required-";

/// Rejects a request that has a member which its reader must know, because the built-in plugins know none. `members`: the
/// names of all members of its records.
///
/// # Errors
/// Names the member.
pub fn reject_required<'a>(code: &'static Code, members: impl IntoIterator<Item = &'a str>) -> Result<(), Diagnostic> {
    match members.into_iter().find(|name| name.starts_with(REQUIRED)) {
        Some(name) => {
            let message = format!("The request has the member '{name}', which this plugin does not know");
            Err(Diagnostic::error(code, message))
        }
        None => Ok(()),
    }
}

/// Implements the interface `about` in this module, which `wit_bindgen` has generated, for a plugin with these settings
/// and [codes](crate::Code).
#[macro_export]
macro_rules! about_plugin {
    ($about:ident, $plugin:ty, $name:literal, $settings_schema:expr, $codes:expr) => {
        impl $about::Guest for $plugin {
            fn describe() -> $about::Description {
                let code = |code: &&$crate::Code| $about::Code {
                    name: code.name.into(),
                    title: code.title.into(),
                    explanation: code.explanation.into(),
                };
                $about::Description {
                    name: $name.into(),
                    version: env!("CARGO_PKG_VERSION").into(),
                    settings_schema: $settings_schema.into(),
                    codes: $codes.iter().map(code).collect(),
                    more: Vec::new(),
                }
            }
        }
    };
}

/// Converts [`Severity`](crate::Severity) and [`Diagnostic`](crate::Diagnostic) to the types in this module, which
/// `wit_bindgen` has generated.
#[macro_export]
macro_rules! contract_types {
    ($wit:ident) => {
        impl From<$crate::Severity> for $wit::Severity {
            fn from(severity: $crate::Severity) -> Self {
                match severity {
                    $crate::Severity::Error => Self::Error,
                    $crate::Severity::Warning => Self::Warning,
                    $crate::Severity::Info => Self::Info,
                }
            }
        }

        impl From<$crate::Diagnostic> for $wit::Diagnostic {
            fn from(diagnostic: $crate::Diagnostic) -> Self {
                Self {
                    severity: diagnostic.severity.into(),
                    code: diagnostic.code.name.into(),
                    message: diagnostic.message,
                    document: diagnostic.document,
                    pointer: diagnostic.pointer.as_ref().map($crate::Pointer::to_string),
                    line: None,
                    help: diagnostic.help.map(Into::into),
                    follows: diagnostic.follows.map(|code| code.name.into()),
                    more: Vec::new(),
                }
            }
        }
    };
}

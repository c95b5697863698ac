//! Diagnostics and descriptions as records of the contract. Each plugin has its own types for these records, generated
//! from `wit/types/1.0.0`.

use crate::{Code, Diagnostic};

/// Prefix of members of a record that its reader must know.
pub const REQUIRED: &str = "required-";

/// Rejects a call that has a member which its reader must know, because the built-in plugins know none. `members`: the
/// names of all members of its records.
///
/// # Errors
/// Names the member.
pub fn reject_required<'a>(code: &'static Code, members: impl IntoIterator<Item = &'a str>) -> Result<(), Diagnostic> {
    match members.into_iter().find(|name| name.starts_with(REQUIRED)) {
        Some(name) => {
            let message = format!("The call has the member '{name}', which this plugin does not know");
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

/// Converts [`Severity`](crate::Severity) and [`Diagnostic`] to the types in this module, which `wit_bindgen` has
/// generated; a diagnostic with a pointer names its document. Defines `reply`, which converts the diagnostics of a
/// reply, and `names`, which lists additional members for [`reject_required`].
#[macro_export]
macro_rules! contract_types {
    ($wit:ident) => {
        /// The names of additional members of a record.
        fn names(members: &[$wit::Member]) -> impl Iterator<Item = &str> {
            members.iter().map(|member| member.name.as_str())
        }

        /// A reply, whose diagnostics are about this document unless they name another.
        fn reply<T>(
            reply: Result<(T, Vec<$crate::Diagnostic>), Vec<$crate::Diagnostic>>,
            name: &str,
        ) -> Result<(T, Vec<$wit::Diagnostic>), Vec<$wit::Diagnostic>> {
            reply
                .map(|(value, diagnostics)| (value, to_wire(diagnostics, name)))
                .map_err(|errors| to_wire(errors, name))
        }

        fn to_wire(diagnostics: Vec<$crate::Diagnostic>, name: &str) -> Vec<$wit::Diagnostic> {
            let named = |mut diagnostic: $crate::Diagnostic| {
                diagnostic.document.get_or_insert_with(|| name.into());
                diagnostic.into()
            };
            diagnostics.into_iter().map(named).collect()
        }

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
                let pointer = diagnostic.pointer.as_ref().map($crate::Pointer::to_string);
                // A pointer without a document is a defect: the host rejects a place in a document without a name.
                let is_placed = diagnostic.document.is_some() || pointer.is_some();
                let document = diagnostic.document.unwrap_or_default();
                let place = $wit::DocumentPlace { document, pointer };
                Self {
                    severity: diagnostic.severity.into(),
                    code: diagnostic.code.name.into(),
                    message: diagnostic.message,
                    place: is_placed.then_some($wit::Place::Document(place)),
                    related: Vec::new(),
                    help: diagnostic.help.map(Into::into),
                    follows: diagnostic.follows.map(|code| code.name.into()),
                    more: Vec::new(),
                }
            }
        }
    };
}

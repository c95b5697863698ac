//! Diagnostics as records of the contract. Each plugin has its own types for these records, generated from `wit/types`.

/// Converts [`Code`](crate::Code), [`Severity`](crate::Severity) and [`Diagnostic`](crate::Diagnostic) to the types in
/// this module, which `wit_bindgen` has generated.
#[macro_export]
macro_rules! contract_types {
    ($wit:ident) => {
        impl From<&$crate::Code> for $wit::Code {
            fn from(code: &$crate::Code) -> Self {
                Self {
                    name: code.name.into(),
                    title: code.title.into(),
                    explanation: code.explanation.into(),
                }
            }
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
                let follows = diagnostic
                    .follows
                    .map(|code| ("follows".into(), code.name.into()));
                Self {
                    severity: diagnostic.severity.into(),
                    code: diagnostic.code.name.into(),
                    message: diagnostic.message,
                    document: diagnostic.document,
                    pointer: diagnostic.pointer.as_ref().map($crate::Pointer::to_string),
                    line: None,
                    help: diagnostic.help.map(Into::into),
                    extensions: follows.into_iter().collect(),
                }
            }
        }
    };
}

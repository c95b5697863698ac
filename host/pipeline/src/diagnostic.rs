//! Diagnostics: errors and warnings as data. Text is made at the edge (`report`).
//!
//! A stage makes a [`boson_document::Diagnostic`], whose code is a constant of its own table and whose place is a
//! pointer. What arrives here, through the contract or in the report of a pod, is located further: it has a code of any
//! plugin as text, perhaps a line and column of a text file, and the plugin that reported it. That is [`Diagnostic`].

use boson_document::{Code, closest, did_you_mean};

pub use boson_document::Severity;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;

/// A place in one of the input documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// Name of the document; of a file: its path as the user gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// RFC 6901 pointer into a JSON or YAML document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Line of a text document, from 1. Set by plugins for templates, and by the YAML reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column, from 1, with `line`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

/// Another place that a diagnostic refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Related {
    /// What is there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(flatten)]
    pub place: Place,
}

/// A message for the user. Never holds the value of a variable or a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable code: `ops-missing-key`.
    pub code: String,
    /// One sentence, without the place.
    pub message: String,
    pub place: Place,
    /// Other places that it refers to.
    pub related: Vec<Related>,
    /// What to do next.
    pub help: Option<String>,
    /// Code of the error that this one follows from; if that one is reported, this one is dropped.
    pub follows: Option<String>,
    /// The plugin that reported it, unless it ships with the host: `plugin 'mine.wasm', sha256:0123456789ab`. Any part
    /// may then quote a value.
    pub plugin: Option<String>,
}

// === impl Place ===

impl Place {
    /// A place in a JSON or YAML document.
    pub fn new(document: impl Into<String>, pointer: impl ToString) -> Self {
        Self {
            document: Some(document.into()),
            pointer: Some(pointer.to_string()),
            ..Self::default()
        }
    }
}

// === impl Diagnostic ===

impl Diagnostic {
    /// An error without a place.
    pub fn error(code: &Code, message: impl Into<String>) -> Self {
        Self::reported_error(code.name, message)
    }

    /// A warning without a place.
    pub fn warning(code: &Code, message: impl Into<String>) -> Self {
        Self::reported_warning(code.name, message)
    }

    /// A note without a place.
    pub fn info(code: &Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Info,
            ..Self::error(code, message)
        }
    }

    /// An error whose code is known only as text: of a plugin or a pod.
    pub fn reported_error(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code: code.into(),
            message: message.into(),
            place: Place::default(),
            related: Vec::new(),
            help: None,
            follows: None,
            plugin: None,
        }
    }

    /// A warning whose code is known only as text: of a plugin or a pod.
    pub fn reported_warning(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::reported_error(code, message)
        }
    }

    #[must_use]
    pub fn in_document(mut self, name: impl Into<String>) -> Self {
        self.place.document = Some(name.into());
        self
    }

    /// Sets the pointer in the document.
    #[must_use]
    pub fn at(mut self, pointer: impl ToString) -> Self {
        self.place.pointer = Some(pointer.to_string());
        self
    }

    /// Sets line and column (from 1) in the document.
    #[must_use]
    pub fn on_line(mut self, line: u32, column: Option<u32>) -> Self {
        self.place.line = Some(line);
        self.place.column = column;
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Asks in the help text whether the closest of these names is meant, if one is close to what the user typed.
    #[must_use]
    pub fn suggest<'n>(mut self, typed: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        if let Some(near) = closest(typed, names) {
            self.help = Some(did_you_mean(near, self.help.as_deref().unwrap_or_default()));
        }
        self
    }

    /// The message, with the plugin that reported it.
    pub fn sentence(&self) -> Cow<'_, str> {
        match &self.plugin {
            Some(plugin) => format!("{} (reported by {plugin})", self.message).into(),
            None => self.message.as_str().into(),
        }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl From<boson_document::Diagnostic> for Diagnostic {
    fn from(one: boson_document::Diagnostic) -> Self {
        Self {
            severity: one.severity,
            code: one.code.name.into(),
            message: one.message,
            place: Place {
                document: one.document,
                pointer: one.pointer.as_ref().map(ToString::to_string),
                ..Place::default()
            },
            related: Vec::new(),
            help: one.help.map(Into::into),
            follows: one.follows.map(|code| code.name.into()),
            plugin: None,
        }
    }
}

/// So that `?` ends with one diagnostic what may end with several.
impl From<Diagnostic> for Vec<Diagnostic> {
    fn from(one: Diagnostic) -> Self {
        vec![one]
    }
}

/// All values, in order.
///
/// # Errors
/// All errors, if there are any.
pub fn all<T, E>(results: impl IntoIterator<Item = Result<T, E>>) -> Result<Vec<T>, Vec<Diagnostic>>
where
    E: Into<Vec<Diagnostic>>,
{
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.append(&mut error.into()),
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

/// Drops errors that follow from others among them: the user fixes the cause.
pub fn causes(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let codes: HashSet<String> = diagnostics
        .iter()
        .filter(|one| one.is_error() && one.follows.is_none())
        .map(|one| one.code.clone())
        .collect();
    diagnostics.retain(|one| one.follows.as_ref().is_none_or(|cause| !codes.contains(cause)));
    diagnostics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consequences_are_dropped_only_where_their_cause_is_reported() {
        let cause = || Diagnostic::reported_error("no-registry", "cause");
        let consequence = || Diagnostic {
            follows: Some("no-registry".into()),
            ..Diagnostic::reported_error("no-image", "consequence")
        };
        assert_eq!(causes(vec![consequence(), cause(), consequence()]), [cause()]);
        assert_eq!(causes(vec![consequence()]), [consequence()]);
    }
}

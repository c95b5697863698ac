//! Why a plugin gave no reply, classified so that each class has its own help text.

use crate::plugin::{Digest, Plugin};
use boson_pipeline::Diagnostic;
use std::fmt;

/// The classes of failure that are a plugin's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It was not loaded: not a component, imports something, exports no stage, machine code.
    Refused,
    /// It trapped.
    Trapped,
    /// It nested its calls deeper than it may.
    TooDeep,
    /// It used up its fuel.
    OutOfFuel,
    /// The calls of its conversion used up their common fuel.
    OverBudget,
    /// It asked for more memory or table than it may have.
    OverMemory,
    /// Its reply was larger than allowed.
    OverOutput,
    /// It ran longer than the wall clock allows.
    Deadline,
    /// Its reply breaks the contract.
    Malformed,
}

/// A plugin that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Class.
    pub kind: FailureKind,
    /// Plugin: `ops` or a file's name.
    pub plugin: String,
    /// Its digest, if it does not ship with the host: names do not identify versions.
    pub digest: Option<Digest>,
    /// What happened, one sentence.
    pub message: String,
    /// Function names from the innermost outwards, for a trap.
    pub functions: Vec<String>,
}

// === impl FailureKind ===

impl FailureKind {
    /// All, for the registry of codes.
    pub const ALL: [Self; 9] = [
        Self::Refused,
        Self::Trapped,
        Self::TooDeep,
        Self::OutOfFuel,
        Self::OverBudget,
        Self::OverMemory,
        Self::OverOutput,
        Self::Deadline,
        Self::Malformed,
    ];

    /// Stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Refused => "plugin-refused",
            Self::Trapped => "plugin-trapped",
            Self::TooDeep => "plugin-too-deep",
            Self::OutOfFuel => "plugin-out-of-fuel",
            Self::OverBudget => "conversion-out-of-fuel",
            Self::OverMemory => "plugin-over-memory",
            Self::OverOutput => "plugin-over-output",
            Self::Deadline => "plugin-deadline",
            Self::Malformed => "plugin-malformed-reply",
        }
    }

    /// Title and explanation, for `host explain`.
    pub fn explanation(self) -> (&'static str, &'static str) {
        match self {
            Self::Refused => (
                "a plugin was not loaded",
                "A plugin is a WebAssembly component that exports one stage of the contract and imports nothing but types. Anything else is refused before it runs: \
                 core modules, components that import a function or a resource (WASI included), precompiled machine code.",
            ),
            Self::Trapped => (
                "a plugin stopped with a trap",
                "A trap is a bug of the plugin: an error of your input comes back as diagnostics instead. The functions listed were active, innermost first. \
                 Report it to the plugin's author together with the input.",
            ),
            Self::TooDeep => (
                "a plugin nested its calls too deep",
                "The stack of a call is bounded. In the render stage the usual reason is a template whose methods or blocks call each other \
                 without end, or data that is nested hundreds of levels deep.",
            ),
            Self::OutOfFuel => (
                "a plugin used up its fuel",
                "Each call has a fixed amount of fuel, about one unit an instruction, so that the same input fails the same way on every machine. \
                 In the render stage the usual reason is a template that loops for ever.",
            ),
            Self::OverBudget => (
                "a conversion used up its fuel",
                "All calls of one conversion together have a fixed amount of fuel, a hundred times what one call may use, so that no deployment keeps \
                 the processors for hours. The message names the instance groups whose templates used most of it: look for templates that compute \
                 much, and for groups with many instances, each of which renders them again.",
            ),
            Self::OverMemory => (
                "a plugin asked for too much memory",
                "The memories and tables of one call together have an upper bound. A template that builds a huge string runs into it.",
            ),
            Self::OverOutput => (
                "a plugin's reply is too large",
                "What one call hands back is bounded, because it is held in the host's memory.",
            ),
            Self::Deadline => (
                "a plugin ran for too long",
                "Besides fuel, each call has a wall-clock limit. It strikes on a machine that is overloaded; try again.",
            ),
            Self::Malformed => (
                "a plugin's reply breaks the contract",
                "A document was not JSON, files or groups were missing, or a reply named something that does not exist: a document, a place in it, a code \
                 of another stage, an extension that the host does not know and the plugin requires. This is a bug of the plugin.",
            ),
        }
    }
}

// === impl Failure ===

impl Failure {
    pub(crate) fn new(kind: FailureKind, plugin: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            plugin: plugin.into(),
            digest: None,
            message: message.into(),
            functions: Vec::new(),
        }
    }

    /// Of a reply of this plugin that breaks the contract.
    pub(crate) fn malformed(plugin: &Plugin, message: impl fmt::Display) -> Self {
        let message = format!("gave a reply that breaks the contract: {message}");
        Self::new(FailureKind::Malformed, plugin.name(), message).of(plugin)
    }

    pub(crate) fn of(mut self, plugin: &Plugin) -> Self {
        self.digest = plugin.is_foreign().then_some(plugin.digest);
        self
    }

    /// As data for the user.
    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self.kind {
            FailureKind::Refused | FailureKind::Malformed => "fix the plugin, or rebuild it against `wit/`".to_string(),
            FailureKind::Trapped if self.functions.is_empty() => {
                "this is a bug of the plugin, not of your input".to_string()
            }
            FailureKind::Trapped => format!(
                "this is a bug of the plugin, not of your input; it was in: {}",
                self.functions.join(" < ")
            ),
            FailureKind::TooDeep => {
                "something calls itself for ever, or is nested far deeper than expected".to_string()
            }
            FailureKind::OutOfFuel => "something loops for ever, or the input is far larger than expected".to_string(),
            FailureKind::OverBudget => "fewer instances, or templates that compute less".to_string(),
            FailureKind::OverMemory | FailureKind::OverOutput => {
                "the input makes the plugin build something huge".to_string()
            }
            FailureKind::Deadline => "try again when the machine is less busy".to_string(),
        };
        Diagnostic::error(self.kind.code(), self.to_string()).help(help)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin '{}' {}", self.plugin, self.message)?;
        match &self.digest {
            Some(digest) => write!(f, " ({})", digest.short()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

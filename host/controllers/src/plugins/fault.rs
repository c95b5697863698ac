//! Why a plugin is refused or was skipped, for conditions and events.

use boson_api::conditions;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources};

/// Why a plugin is refused or was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Code of the first error, as a condition's reason: `PluginRefused`.
    pub reason: String,
    /// The plugin, and everything that is wrong with it.
    pub message: String,
}

// === impl Fault ===

impl Fault {
    /// Errors of a plugin, with their positions in `sources`.
    pub fn of(plugin: &str, diagnostics: &[Diagnostic], sources: &Sources) -> Self {
        let errors: Vec<Diagnostic> = diagnostics.iter().filter(|one| one.is_error()).cloned().collect();
        let first = errors.first().map_or("plugin-refused", |error| error.code.as_str());
        Self {
            reason: conditions::reason(first),
            message: format!("{plugin}: {}", report::text(&errors, sources, false).trim_end()),
        }
    }

    /// A check that failed and was skipped. The text is that of the event about this warning, so that there is one
    /// event.
    pub fn of_skipped(warning: &Diagnostic) -> Self {
        Self {
            reason: conditions::reason(&warning.code),
            message: warning.message.clone(),
        }
    }

    /// One error of a plugin.
    pub fn one(plugin: &str, error: &Diagnostic) -> Self {
        Self::of(plugin, std::slice::from_ref(error), &Sources::default())
    }
}

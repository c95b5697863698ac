//! Why a plugin is refused or has failed, for conditions and events.

use boson_api::conditions;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources};

/// Why a plugin is refused or has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginProblem {
    /// Code of the first error, as a condition's reason: `PluginRefused`.
    pub reason: String,
    /// The plugin, and everything that is wrong with it.
    pub message: String,
}

// === impl PluginProblem ===

impl PluginProblem {
    /// Errors of a plugin, with their positions in `sources`.
    pub fn of(plugin: &str, diagnostics: &[Diagnostic], sources: &Sources) -> Self {
        let errors: Vec<Diagnostic> = diagnostics.iter().filter(|one| one.is_error()).cloned().collect();
        let first = errors.first().map_or("plugin-refused", |error| error.code.as_str());
        Self {
            reason: conditions::reason(first),
            message: format!("{plugin}: {}", report::text(&errors, sources, false).trim_end()),
        }
    }

    /// A plugin that failed in a conversion. The text is that of the event about this diagnostic, so that there is one
    /// event.
    pub fn of_failed(diagnostic: &Diagnostic) -> Self {
        Self {
            reason: conditions::reason(&diagnostic.code),
            message: diagnostic.message.clone(),
        }
    }

    /// One error of a plugin.
    pub fn one(plugin: &str, error: &Diagnostic) -> Self {
        Self::of(plugin, std::slice::from_ref(error), &Sources::default())
    }
}

//! The description that a plugin gives of itself.

use crate::account::Account;
use crate::bindings::exports::boson::types::about;
use crate::engine::Sandbox;
use crate::error::{Failure, FailureKind};
use crate::plugin::Plugin;
use crate::reply::unknown;
use boson_document::{Tree, json};
use boson_pipeline::settings;

/// A diagnostic code that a plugin documents.
#[derive(Clone, Debug)]
pub struct Code {
    /// `ops-missing-key`
    pub name: String,
    /// One line.
    pub title: String,
    /// Markdown.
    pub explanation: String,
}

/// The description of a plugin.
#[derive(Clone, Debug)]
pub struct Description {
    /// Name.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// JSON Schema of its settings.
    pub settings_schema: Tree,
    /// Its diagnostics.
    pub codes: Vec<Code>,
}

// === impl Plugin ===

impl Plugin {
    /// Calls `describe`.
    ///
    /// # Errors
    /// The plugin failed, or its description violates the contract.
    pub fn describe(&self, sandbox: &Sandbox) -> Result<Description, Failure> {
        let (result, _) = sandbox.call(self, &Account::unbounded(), |store, instance| {
            let guest = about::GuestIndices::new(&self.pre)?.load(&mut *store, instance)?;
            guest.call_describe(store)
        });
        let description = result?;
        let malformed = |message: String| self.failure(FailureKind::Malformed, message);
        if let Some(what) = unknown(&description.more) {
            return Err(malformed(what));
        }
        let settings_schema = json::parse(&description.settings_schema)
            .map_err(|error| malformed(format!("has a settings schema that is not JSON: {error}")))?;
        if let Some(fault) = settings::schema_fault(&settings_schema) {
            return Err(malformed(format!(
                "has a settings schema that is not a JSON Schema: {fault}"
            )));
        }
        let codes = description.codes.into_iter().map(|code| Code {
            name: code.name,
            title: code.title,
            explanation: code.explanation,
        });
        Ok(Description {
            name: description.name,
            version: description.version,
            settings_schema,
            codes: codes.collect(),
        })
    }
}

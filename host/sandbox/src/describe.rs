//! Asks a plugin for its description.

use crate::account::Account;
use crate::bindings::exports::boson::types::about;
use crate::description::{Code, Description, is_name};
use crate::engine::Sandbox;
use crate::error::{Failure, FailureKind};
use crate::plugin::Plugin;
use crate::reply::unknown;
use boson_document::json;
use boson_pipeline::settings;

// === impl Plugin ===

impl Plugin {
    /// The description of the plugin. Calls `describe` the first time.
    ///
    /// # Errors
    /// The plugin failed, or its description violates the contract.
    pub fn describe(&self, sandbox: &Sandbox) -> Result<&Description, Failure> {
        if let Some(description) = self.description.get() {
            return Ok(description);
        }
        let description = self.ask(sandbox)?;
        Ok(self.description.get_or_init(|| description))
    }

    /// The name that the codes of its diagnostics begin with. A plugin of the installation is named after its stage.
    pub(crate) fn own_name(&self, sandbox: &Sandbox) -> Result<&str, Failure> {
        match self.is_foreign() {
            true => self.describe(sandbox).map(|description| description.name.as_str()),
            false => Ok(self.stage.name()),
        }
    }

    fn ask(&self, sandbox: &Sandbox) -> Result<Description, Failure> {
        let (result, _) = sandbox.call(self, &Account::unbounded(), |store, instance| {
            let guest = about::GuestIndices::new(&self.pre)?.load(&mut *store, instance)?;
            guest.call_describe(store)
        });
        let description = result?;
        let malformed = |message: String| self.failure(FailureKind::Malformed, message);
        if let Some(what) = unknown(&description.more) {
            return Err(malformed(what));
        }
        if !is_name(&description.name) {
            let rule = "lower-case words joined by `-`, at most 63 characters";
            return Err(malformed(format!("has a name in its description that is not {rule}")));
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

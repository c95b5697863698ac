//! Asks a plugin for its description.

use crate::bindings::exports::boson::types::about;
use crate::call::reply::{member_names, unknown_members};
use crate::engine::Sandbox;
use crate::error::{Error, ErrorKind};
use crate::limits::account::Account;
use crate::plugin::Plugin;
use crate::plugin::description::{Code, Description, is_name, is_version};
use boson_document::json;

/// Bytes of all texts of a description, and of its schema. The operator keeps them for as long as the plugin is loaded,
/// and a schema takes a hundred times its bytes as a tree.
const MAX_DESCRIPTION_BYTES: usize = 512 << 10;
const MAX_SCHEMA_BYTES: usize = 64 << 10;
/// Codes of a description.
const MAX_CODES: usize = 1000;

// === impl Plugin ===

impl Plugin {
    /// The description of the plugin. Calls `describe` the first time.
    ///
    /// # Errors
    /// The plugin failed, or its description violates the contract.
    pub fn describe(&self, sandbox: &Sandbox) -> Result<&Description, Error> {
        if let Some(description) = self.description.get() {
            return Ok(description);
        }
        let description = self.ask(sandbox)?;
        Ok(self.description.get_or_init(|| description))
    }

    /// The name that the codes of its diagnostics begin with. A plugin of the installation is named after its stage.
    pub(crate) fn own_name(&self, sandbox: &Sandbox) -> Result<&str, Error> {
        if self.is_foreign() {
            self.describe(sandbox).map(|description| description.name.as_str())
        } else {
            Ok(self.stage.name())
        }
    }

    fn ask(&self, sandbox: &Sandbox) -> Result<Description, Error> {
        let (result, _) = sandbox.call(self, &Account::unbounded(), |store, instance| {
            let guest = about::GuestIndices::new(&self.pre)?.load(&mut *store, instance)?;
            guest.call_describe(store)
        });
        let description = result?;
        let malformed = |message: String| self.failure(ErrorKind::Malformed, message);
        if let Some(what) = unknown_members(member_names(&description.more)) {
            return Err(malformed(what));
        }
        if let Some(what) = text_error(&description) {
            return Err(malformed(format!("has {what} in its description")));
        }
        let settings_schema = json::parse(&description.settings_schema)
            .map_err(|error| malformed(format!("has a settings schema that is not JSON: {error}")))?;
        sandbox
            .check_schema(self, &settings_schema)
            .map_err(|reason| malformed(format!("has a settings schema that {reason}")))?;
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

/// What is wrong with the texts of a description.
fn text_error(description: &about::Description) -> Option<String> {
    let texts = |code: &about::Code| code.name.len() + code.title.len() + code.explanation.len();
    let schema = description.settings_schema.len();
    let size = schema + description.codes.iter().map(texts).sum::<usize>();
    if !is_name(&description.name) {
        Some("a name that is not lower-case words joined by `-`, at most 63 characters,".to_string())
    } else if !is_version(&description.version) {
        Some("a version that is not a semantic version of at most 63 characters".to_string())
    } else if schema > MAX_SCHEMA_BYTES {
        Some(format!("a settings schema of more than {} KiB", MAX_SCHEMA_BYTES >> 10))
    } else if description.codes.len() > MAX_CODES || size > MAX_DESCRIPTION_BYTES {
        let most = MAX_DESCRIPTION_BYTES >> 10;
        Some(format!("more than {MAX_CODES} codes, or more than {most} KiB of texts"))
    } else {
        None
    }
}

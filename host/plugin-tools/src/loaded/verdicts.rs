//! The errors in settings of one plugin, remembered: a process of its own checks them, and every conversion asks.

use crate::plugin_settings;
use boson_document::json;
use boson_pipeline::Diagnostic;
use boson_plugins::host::Settings;
use boson_sandbox::{Plugin, Sandbox};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Settings of one plugin that are remembered: of so many deployments.
const MAX_REMEMBERED_SETTINGS: usize = 128;

/// The errors by the name and the content of the settings' document.
#[derive(Default)]
pub struct Verdicts(Mutex<BTreeMap<(String, String), Vec<Diagnostic>>>);

// === impl Verdicts ===

impl Verdicts {
    /// The errors in these settings.
    ///
    /// # Errors
    /// The plugin does not describe itself.
    pub fn of(
        &self,
        plugin: &Plugin,
        sandbox: &Sandbox,
        settings: &Settings,
    ) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let key = (settings.document.clone(), json::to_text(&settings.tree));
        let known = || self.0.lock();
        if let Some(found) = known().get(&key) {
            return Ok(found.clone());
        }
        let document = plugin_settings::document(&settings.document, &settings.tree);
        let found = sandbox.check_settings(plugin, &document)?;
        let mut known = known();
        if known.len() >= MAX_REMEMBERED_SETTINGS {
            known.clear();
        }
        known.insert(key, found.clone());
        Ok(found)
    }
}

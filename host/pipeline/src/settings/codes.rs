//! What the diagnostics about settings mean.

use crate::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "plugin-settings",
        title: "Settings do not fit the plugin",
        explanation: "Every plugin describes its settings by a JSON Schema, and what `--plugin-settings` gives is held against it before the first call. \
                      `host plugin list` shows the plugins, `host run-plugin PLUGIN --call describe` the schema.",
    },
    Code {
        name: "plugin-settings-unchecked",
        title: "A part of a plugin's schema of settings was not looked at",
        explanation: "Types, members, items, ranges and choices of JSON Schema are checked; patterns, references and conditions are not. The plugin gets the \
                      settings as they are.",
    },
];

//! Explanations of the diagnostics about settings.

use crate::codes::Code;

/// All codes.
pub const CODES: &[Code] = &[
    Code {
        name: "plugin-settings",
        title: "Settings do not fit the plugin",
        explanation: "Every plugin describes its settings by a JSON Schema. The given settings are checked against it before the first call, and so is `{}` \
                      if none are given: a plugin may require settings. `host plugin list` shows the plugins, \
                      `host run-plugin PLUGIN --call describe` the schema.",
    },
    Code {
        name: "plugin-settings-reserved",
        title: "The host sets this setting itself",
        explanation: "`rules` of the stage `variables` and `only` of the stage `links` say what a call is for, and the host sets them for each call. With \
                      `only: variables` of a user's, for example, a conversion would lose its workloads. Leave them out of settings.",
    },
    Code {
        name: "plugin-settings-unchecked",
        title: "A part of a plugin's settings schema was not checked",
        explanation: "Types, members, items, ranges and choices of JSON Schema are checked; patterns, references and conditions are not. The plugin gets the \
                      settings as they are.",
    },
];

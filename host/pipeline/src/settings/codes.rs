//! Explanations of the diagnostics about settings.

boson_document::codes! {
    PLUGIN_SETTINGS = "plugin-settings", "Settings do not match the schema of the plugin",
        "Each plugin describes its settings with a JSON Schema. The host validates the settings before the first \
         call, or `{}` if there are none, because a plugin may require settings. `host plugin list` lists the \
         plugins, and `host run-plugin PLUGIN --call describe` prints the schema.";
    PLUGIN_SETTINGS_UNCHECKED = "plugin-settings-unchecked", "A part of a plugin's settings schema was not checked",
        "The host checks types, members, items, ranges and enumerations of JSON Schema, but no patterns, references \
         or conditions. The plugin gets the settings unchanged.";
}

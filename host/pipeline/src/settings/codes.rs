//! Explanations of the diagnostics about settings.

boson_document::codes! {
    PLUGIN_SETTINGS = "plugin-settings", "Settings do not match the schema of the plugin",
        "Each plugin describes its settings with a JSON Schema. The host validates the settings before the first \
         call, or `{}` if there are none, because a plugin may require settings. `host plugin list` lists the \
         plugins, and `host run-plugin PLUGIN --call describe` prints the schema.";
}

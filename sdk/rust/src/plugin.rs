//! What every plugin has.

use crate::types::{Context, Diagnostic, Place};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};

/// A plugin.
pub trait Plugin {
    /// Lower-case words joined by `-`, at most 63 characters. The codes of its diagnostics begin with it.
    const NAME: &str;
    /// Its version.
    const VERSION: &str = "0.1.0";
    /// The diagnostics that it may report.
    const CODES: &[Code] = &[];
    /// Its settings. The host validates them against the schema of this type before the first call.
    type Settings: DeserializeOwned + JsonSchema;
}

/// What a diagnostic code means, for `host explain`.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// Begins with the name of the plugin.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Why it happens, and what to do. Markdown.
    pub explanation: &'static str,
}

/// Settings of a plugin that has none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// The JSON Schema of a plugin's settings.
pub fn schema<P: Plugin>() -> String {
    // The host does not follow references, so each type is written where it is used.
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<P::Settings>();
    schema.as_value().to_string()
}

/// The settings in a context.
///
/// # Errors
/// Settings that fit the schema and not the type, such as a number out of range.
pub fn settings<P: Plugin>(context: &Context) -> Result<P::Settings, Vec<Diagnostic>> {
    serde_json::from_str(&context.settings).map_err(|error| {
        // Not the text of the error: it quotes values, and settings may be secret.
        let message = format!("the settings do not fit their type at column {}", error.column());
        let error = Diagnostic::error(&format!("{}-settings", P::NAME), message);
        vec![error.at(Place::Setting(String::new()))]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Severity;
    use serde_json::{Value, json};

    struct Labels;

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        /// Value of the annotation
        team: String,
        #[serde(default)]
        limits: Vec<Limit>,
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    struct Limit {
        megabytes: u8,
    }

    impl Plugin for Labels {
        const NAME: &str = "labels";
        type Settings = Settings;
    }

    #[test]
    fn the_schema_has_no_references() {
        let schema: Value = serde_json::from_str(&schema::<Labels>()).unwrap();
        assert_eq!(schema["properties"]["team"]["description"], "Value of the annotation");
        assert_eq!(schema["required"], json!(["team"]));
        assert_eq!(schema["additionalProperties"], false);
        let limit = &schema["properties"]["limits"]["items"]["properties"]["megabytes"];
        assert_eq!(limit["maximum"], 255);
    }

    #[test]
    fn settings_are_read_and_wrong_ones_are_an_error() {
        let read = settings::<Labels>(&Context::of("nats", &json!({"team": "a"}))).unwrap();
        assert_eq!(
            read,
            Settings {
                team: "a".into(),
                limits: Vec::new()
            }
        );
        let errors = settings::<Labels>(&Context::of("nats", &json!({"team": 1}))).unwrap_err();
        assert_eq!(
            (errors[0].severity, errors[0].code.as_str()),
            (Severity::Error, "labels-settings")
        );
        assert_eq!(errors[0].place, Some(Place::Setting(String::new())));
    }
}

//! The setting `rules`: the director's rules, or those of `bosh interpolate`.

use crate::codes;
use boson_document::{Diagnostic, Pointer, Tree};

/// Which rules apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// The director's, when it deploys.
    #[default]
    Director,
    /// Those of `bosh interpolate`.
    Cli,
}

/// JSON Schema of the settings.
pub const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "rules": {
      "description": "Whose rules hold: the director's, or those of the command `bosh interpolate`.",
      "enum": ["director", "cli"],
      "default": "director"
    }
  }
}"#;

// === impl Rules ===

impl Rules {
    /// Reads the setting, or returns the default.
    ///
    /// # Errors
    /// Rules that do not exist.
    pub fn from_settings(settings: &Tree) -> Result<Self, Diagnostic> {
        match settings.get("rules") {
            None => Ok(Self::default()),
            Some(Tree::String(name)) if name == "director" => Ok(Self::Director),
            Some(Tree::String(name)) if name == "cli" => Ok(Self::Cli),
            Some(_) => {
                let message = "Expected setting 'rules' to be 'director' or 'cli'";
                Err(Diagnostic::error(codes::SETTINGS, message).at(Pointer::root()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn the_director_is_the_default() {
        let rules = |text| Rules::from_settings(&json::parse(text).unwrap());
        assert_eq!(rules("{}"), Ok(Rules::Director));
        assert_eq!(rules("null"), Ok(Rules::Director));
        assert_eq!(rules(r#"{"rules": "cli"}"#), Ok(Rules::Cli));
        assert!(rules(r#"{"rules": "x"}"#).is_err() && rules(r#"{"rules": null}"#).is_err());
        assert!(json::parse(SETTINGS_SCHEMA).is_ok());
    }
}

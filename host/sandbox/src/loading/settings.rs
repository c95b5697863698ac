//! Settings against the schema of their plugin, and properties of jobs against that of their release. Schema and
//! values can be made so that their check takes any amount of time, memory or stack, so those of foreign plugins and of
//! releases are checked in a process that limits itself.

use crate::cache::Task;
use crate::engine::Sandbox;
use crate::error::Error;
use crate::plugin::Plugin;
use boson_document::{Pointer, Tree, json};
use boson_pipeline::Diagnostic;
use boson_pipeline::settings::codes::PLUGIN_SETTINGS;
use boson_pipeline::settings::{self, Schema, SettingsError, SettingsErrorKind};
use boson_pipeline::yaml::Document;
use std::path::Path;

/// What the process was asked, or has answered, is not in its form.
const NOT_READABLE: &str = "fails: it is not readable";

/// Of the process: places and what is wrong there, or why nothing was checked.
type AnswerJson = Result<Vec<(String, SettingsErrorKind)>, String>;

// === impl Sandbox ===

impl Sandbox {
    /// The errors in the settings of a plugin.
    ///
    /// # Errors
    /// It does not describe itself.
    pub fn check_settings(&self, plugin: &Plugin, settings: &Document) -> Result<Vec<Diagnostic>, Error> {
        let schema = &plugin.describe(self)?.settings_schema;
        let name = plugin.name();
        Ok(match self.errors(plugin, schema, Some(&settings.tree)) {
            Ok(errors) => settings::errors(settings, errors, name),
            Err(reason) => {
                let message = format!("settings of plugin '{name}': their check against its schema {reason}");
                vec![Diagnostic::error(PLUGIN_SETTINGS, message).in_document(&settings.name)]
            }
        })
    }

    /// Whether a plugin's schema is one.
    ///
    /// # Errors
    /// Why not, as the rest of a sentence about it.
    pub(crate) fn check_schema(&self, plugin: &Plugin, schema: &Tree) -> Result<(), String> {
        self.errors(plugin, schema, None).map(drop)
    }

    fn errors(&self, plugin: &Plugin, schema: &Tree, settings: Option<&Tree>) -> Result<Vec<SettingsError>, String> {
        // Every value fits it.
        if schema == &Tree::object() || schema == &Tree::Bool(true) {
            return Ok(Vec::new());
        }
        let question = Tree::object().with("schema", schema.clone());
        let program = self.cache.program().filter(|_| plugin.is_foreign());
        ask(program, &question.with_some("settings", settings.cloned()))
    }

    /// The errors in the properties of a job, with its `properties_schema.json`.
    ///
    /// # Errors
    /// Why they could not be checked.
    pub(crate) fn check_properties(&self, schema: &Tree, properties: &Tree) -> Result<Vec<SettingsError>, String> {
        let question = Tree::object().with("schema", schema.clone());
        ask(self.cache.program(), &question.with("properties", properties.clone()))
    }
}

/// Asks this program, or without one this process.
fn ask(program: Option<&Path>, question: &Tree) -> Result<Vec<SettingsError>, String> {
    match program {
        Some(program) => read(&Task::CheckSettings.run(program, json::to_text(question).as_bytes())?),
        None => check(question),
    }
}

/// The answer of the process to a question on its standard input.
pub fn answer(question: &[u8]) -> String {
    let errors = check(&parse(question).unwrap_or_default());
    let entry = |one: SettingsError| (one.place.to_string(), one.kind);
    let answer: AnswerJson = errors.map(|all| all.into_iter().map(entry).collect());
    serde_json::to_string(&answer).unwrap_or_default()
}

/// The errors in settings or properties; without either, only the schema is checked.
fn check(question: &Tree) -> Result<Vec<SettingsError>, String> {
    let schema = question.get("schema").unwrap_or(&Tree::Null);
    let properties = question.get("properties");
    let schema = match properties {
        Some(_) => Schema::of_job(schema),
        None => Schema::new(schema),
    };
    let schema = schema.map_err(|error| format!("is not a JSON Schema: {error}"))?;
    let values = properties.or_else(|| question.get("settings"));
    Ok(values.map(|values| schema.errors(values)).unwrap_or_default())
}

fn parse(text: &[u8]) -> Option<Tree> {
    json::parse(str::from_utf8(text).ok()?).ok()
}

fn read(answer: &[u8]) -> Result<Vec<SettingsError>, String> {
    let unreadable = || NOT_READABLE.to_string();
    let answer: AnswerJson = serde_json::from_slice(answer).map_err(|_| unreadable())?;
    let error = |(place, kind): (String, SettingsErrorKind)| {
        let place = Pointer::parse(&place).ok_or_else(unreadable)?;
        Ok(SettingsError { place, kind })
    };
    answer?.into_iter().map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let ask = |text: &str| read(answer(text.as_bytes()).as_bytes());
        let error = |place: &str, kind: SettingsErrorKind| SettingsError {
            place: Pointer::parse(place).unwrap(),
            kind,
        };
        let typed = r#""schema": {"additionalProperties": {"type": "null"}}"#;
        assert_eq!(
            ask(&format!(r#"{{{typed}, "settings": {{"a/b": 1}}}}"#)),
            Ok(vec![error(
                "/a~1b",
                SettingsErrorKind::Value("is not of type \"null\"".into())
            )])
        );
        assert_eq!(ask(&format!("{{{typed}}}")), Ok(Vec::new()));
        let reason = ask(r#"{"schema": 7}"#).unwrap_err();
        assert!(reason.starts_with("is not a JSON Schema: at ''"), "{reason}");
        assert_eq!(read(b"[[]]"), Err(NOT_READABLE.to_string()));
    }
}

//! JSON Schema as the crate `jsonschema` implements it: draft 2020-12, or the one that `$schema` names. References to
//! other documents are refused, because nothing is fetched.
//!
//! # Caveats
//! Schema and value together can take any amount of time, memory and stack: `$ref` repeats what it refers to. A process
//! that limits itself has to check foreign schemas.

pub mod job;

use boson_document::{Pointer, Tree};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

const MAX_ERRORS: usize = 100;
/// Steps back of a pattern on one text.
const MAX_BACKTRACKS: usize = 100_000;
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Values of an enumeration, or forms of a value, that a message lists.
const MAX_LISTED: usize = 20;

/// A schema that values can be checked against.
pub struct Schema(Validator);

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    pub place: Pointer,
    pub kind: SettingsErrorKind,
}

/// What is wrong at a place. It quotes the schema, and never the value, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum SettingsErrorKind {
    /// A member of this name is not allowed.
    #[error("there is no setting '{0}'")]
    Unknown(String),
    /// The rest of a sentence that begins with the value.
    #[error("it {0}")]
    Value(String),
    /// A whole sentence.
    #[error("{0}")]
    Other(String),
}

// === impl Schema ===

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Its first error: place and reason.
    pub fn new(schema: &Tree) -> Result<Self, String> {
        Self::build(&options(), schema)
    }

    /// Compiles the `properties_schema.json` of a job.
    ///
    /// # Errors
    /// As [`Schema::new`]; another dialect.
    pub fn of_job(schema: &Tree) -> Result<Self, String> {
        let options = options()
            .should_validate_formats(true)
            .with_format(job::CERTIFICATE_FORMAT, job::is_certificate);
        Self::build(&options, &job::standard(schema)?)
    }

    fn build(options: &ValidationOptions<'_>, schema: &Tree) -> Result<Self, String> {
        let built = options.build(&value(schema).map_err(|why| format!("it {why}"))?);
        built
            .map(Self)
            .map_err(|error| format!("at '{}': {error}", error.instance_path()))
    }

    pub fn errors(&self, tree: &Tree) -> Vec<SettingsError> {
        let value = match value(tree) {
            Ok(value) => value,
            Err(why) => {
                return vec![SettingsError {
                    place: Pointer::root(),
                    kind: SettingsErrorKind::Value(why),
                }];
            }
        };
        let mut found = Vec::new();
        let errors: Vec<ValidationError<'_>> = self.0.iter_errors(&value).take(MAX_ERRORS).collect();
        add(&errors, &mut found);
        found.truncate(MAX_ERRORS);
        found
    }
}

fn options() -> ValidationOptions<'static> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_BACKTRACKS)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    jsonschema::options().with_pattern_options(patterns)
}

fn value(tree: &Tree) -> Result<Value, String> {
    serde_json::to_value(tree).map_err(|error| format!("cannot be checked: {error}"))
}

fn add(errors: &[ValidationError<'_>], found: &mut Vec<SettingsError>) {
    let is_type = |error: &&ValidationError<'_>| matches!(error.kind(), ValidationErrorKind::Type { .. });
    let mistyped: BTreeSet<&str> = errors
        .iter()
        .filter(is_type)
        .map(|one| one.instance_path().as_str())
        .collect();
    for error in errors {
        let path = error.instance_path().as_str();
        // A value of the wrong type fails nearly everything else, too.
        if mistyped.contains(path) && !is_type(&error) {
            continue;
        }
        let place = Pointer::parse(path).unwrap_or_default();
        match error.kind() {
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                match matching_form(path, context) {
                    Some(errors) => add(errors, found),
                    None => found.push(SettingsError {
                        place,
                        kind: alternatives(path, context),
                    }),
                }
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                found.extend(unexpected.iter().map(|name| SettingsError {
                    place: place.at(name),
                    kind: SettingsErrorKind::Unknown(name.trim_start_matches('\0').into()),
                }));
            }
            _ => found.push(SettingsError {
                place,
                kind: kind(error),
            }),
        }
    }
}

/// The errors of the only form that is of the value's type: `Option<T>` of Rust is T or null. A form that lists its
/// values has no other type than they, so it is not the only one.
fn matching_form<'c>(path: &str, forms: &'c [Vec<ValidationError<'static>>]) -> Option<&'c [ValidationError<'static>]> {
    use ValidationErrorKind::{Constant, Enum, Type};
    let is_here = |error: &&ValidationError<'_>| error.instance_path().as_str() == path;
    let is_other = |error: &ValidationError<'_>| matches!(error.kind(), Type { .. });
    let is_list = |error: &ValidationError<'_>| matches!(error.kind(), Enum { .. } | Constant { .. });
    let mut of_type = forms
        .iter()
        .filter(|errors| !errors.iter().filter(is_here).any(is_other));
    match (of_type.next(), of_type.next()) {
        (Some(errors), None) if forms.len() > 1 && !errors.iter().filter(is_here).any(is_list) => Some(errors),
        _ => None,
    }
}

/// What each form requires.
fn alternatives(path: &str, forms: &[Vec<ValidationError<'_>>]) -> SettingsErrorKind {
    let first = |errors: &Vec<ValidationError<'_>>| {
        let error = errors.first()?;
        let below = error.instance_path().as_str().strip_prefix(path).unwrap_or_default();
        Some(match below {
            "" => kind(error).to_string(),
            below => format!("at '{below}', {}", kind(error)),
        })
    };
    let required: Vec<String> = forms.iter().filter_map(first).take(MAX_LISTED).collect();
    SettingsErrorKind::Value(format!("has none of the allowed forms: {}", required.join("; ")))
}

fn kind(error: &ValidationError<'_>) -> SettingsErrorKind {
    match error.kind() {
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten();
            let shown: Vec<String> = options.take(MAX_LISTED).map(Value::to_string).collect();
            SettingsErrorKind::Value(format!("should be one of {}", shown.join(", ")))
        }
        // The error itself would quote the name.
        ValidationErrorKind::PropertyNames { error } => {
            SettingsErrorKind::Other(format!("the name of a member is not allowed: {}", kind(error)))
        }
        ValidationErrorKind::Format { format } if format == job::CERTIFICATE_FORMAT => {
            SettingsErrorKind::Value("is not a certificate".into())
        }
        ValidationErrorKind::Contains => {
            SettingsErrorKind::Value("has no item that `contains` of the schema requires".into())
        }
        // Sentences that begin with the value are what follows it if it is masked with nothing.
        _ => match error.masked_with("").to_string().strip_prefix(' ') {
            Some(rest) => SettingsErrorKind::Value(rest.into()),
            None => SettingsErrorKind::Other(error.masked_with("it").to_string()),
        },
    }
}

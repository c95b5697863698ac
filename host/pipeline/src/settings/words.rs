//! Messages about values that do not fit a schema. They quote the schema, and never the value, which may be a secret.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// Values of an enumeration that a message lists.
const MAX_LISTED: usize = 20;

/// What is wrong with a value, as a sentence about it.
pub fn of(error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;
    match error.kind() {
        Kind::Type { kind } => format!(
            "it should be {}, not {}",
            types(kind),
            article(type_of(error.instance()))
        ),
        Kind::Enum { options } => one_of(options.as_array().map_or(&[][..], Vec::as_slice)),
        Kind::Constant { expected_value } => one_of(std::slice::from_ref(expected_value)),
        Kind::Required { property } => format!("'{}' is missing", property.as_str().unwrap_or_default()),
        Kind::FalseSchema => "no value is allowed here".to_string(),
        Kind::Minimum { limit } => format!("it should be at least {limit}"),
        Kind::Maximum { limit } => format!("it should be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("it should be greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("it should be less than {limit}"),
        Kind::MinLength { limit } => at_least(*limit, "characters"),
        Kind::MaxLength { limit } => at_most(*limit, "characters"),
        Kind::MinItems { limit } => at_least(*limit, "items"),
        Kind::MaxItems { limit } => at_most(*limit, "items"),
        Kind::MinProperties { limit } => at_least(*limit, "members"),
        Kind::MaxProperties { limit } => at_most(*limit, "members"),
        Kind::Pattern { pattern } => format!("it should match the pattern '{pattern}'"),
        Kind::UniqueItems => "its items should differ from each other".to_string(),
        Kind::Contains => "it should contain other items: see `contains` in the schema".to_string(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => "it matches none of the allowed forms".to_string(),
        Kind::OneOfMultipleValid { .. } => "it matches several forms that exclude each other".to_string(),
        Kind::Not { .. } => "it has a form that is not allowed here".to_string(),
        Kind::PropertyNames { error } => format!("the name of a member is not allowed: {}", of(error)),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "it needs too much computation to be matched with a pattern of the schema".to_string()
        }
        _ => error.masked_with("it").to_string(),
    }
}

fn at_least(limit: u64, what: &str) -> String {
    format!("it should have at least {limit} {what}")
}

fn at_most(limit: u64, what: &str) -> String {
    format!("it should have at most {limit} {what}")
}

fn one_of(possible: &[Value]) -> String {
    let shown: Vec<String> = possible.iter().take(MAX_LISTED).map(Value::to_string).collect();
    let more = if possible.len() > MAX_LISTED { ", ..." } else { "" };
    format!("it should be one of {}{more}", shown.join(", "))
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => article(*one).to_string(),
        TypeKind::Multiple(several) => several.iter().map(article).collect::<Vec<_>>().join(" or "),
    }
}

fn type_of(value: &Value) -> JsonType {
    match value {
        Value::Null => JsonType::Null,
        Value::Bool(_) => JsonType::Boolean,
        Value::Number(_) => JsonType::Number,
        Value::String(_) => JsonType::String,
        Value::Array(_) => JsonType::Array,
        Value::Object(_) => JsonType::Object,
    }
}

fn article(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
    }
}

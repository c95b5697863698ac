//! Builds a value from a scalar with its style and tag.

use super::node::Kind;
use crate::diagnostic::Diagnostic;
use crate::yaml::scalar::{Scalar, format_float, psych};
use crate::yaml::{Dialect, codes};
use base64::Engine;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use boson_document::{Number, Tree, escape};
use saphyr_parser::{ScalarStyle, Tag};
use std::borrow::Cow;

const CORE_TAG_PREFIX: &str = "tag:yaml.org,2002:";

type Value = Result<(Tree, Kind), Diagnostic>;

/// The value, or a diagnostic without a place if the tag does not fit.
pub(super) fn of_scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>, dialect: Dialect) -> Value {
    let quoted = style != ScalarStyle::Plain;
    match dialect {
        Dialect::YamlV2 => of_yaml_v2(text, quoted, tag),
        Dialect::Bpm => of_bpm(text, quoted, tag),
        Dialect::Psych => of_psych(text, quoted, tag),
    }
}

fn of_yaml_v2(text: Cow<'_, str>, quoted: bool, tag: Option<&Tag>) -> Value {
    match tag.map(core) {
        None if quoted => Ok(string(text)),
        None => Ok(of_meaning(Scalar::plain(&text), text)),
        Some("merge") if text == "<<" => Ok((text.as_ref().into(), Kind::Merge)),
        Some(tag) => tagged(tag, text),
    }
}

/// As BPM reads it. What is not null and not a string stays a text, marked as [`escape::special`]: its meaning depends
/// on where it is, see [`super::bpm`].
fn of_bpm(text: Cow<'_, str>, quoted: bool, tag: Option<&Tag>) -> Value {
    let meaning = match tag.filter(|tag| tag.suffix != "!").map(core) {
        None if quoted => return Ok(string(text)),
        None => Scalar::of_yaml_v3(&text, true),
        Some("merge") if text == "<<" => Scalar::Merge,
        Some(tag @ ("null" | "bool" | "int" | "float")) => {
            tagged(tag, text.clone())?;
            Scalar::of_yaml_v3(&text, false)
        }
        Some(tag) => return tagged(tag, text),
    };
    Ok(match meaning {
        Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_) => (escape::special(&text), Kind::Scalar),
        meaning => of_meaning(meaning, text),
    })
}

fn of_psych(text: Cow<'_, str>, quoted: bool, tag: Option<&Tag>) -> Value {
    let name = tag
        .filter(|tag| tag.suffix != "!")
        .map(|tag| match tag.handle.as_str() {
            "!" => tag.suffix.as_str(),
            _ => core(tag),
        });
    let meaning = match name {
        // Psych merges a quoted key, too.
        _ if text == "<<" && name != Some("str") => Scalar::Merge,
        None if quoted && tag.is_none() => Scalar::String,
        Some("str") => Scalar::String,
        Some("binary") => return binary(&text).map(|text| (text, Kind::Scalar)),
        Some("float") => match psych::resolve(&text) {
            Scalar::Int(digits) => Scalar::Float(digits.parse().unwrap_or(f64::INFINITY)),
            Scalar::Float(value) => Scalar::Float(value),
            _ => return Err(Diagnostic::error(codes::YAML_TAG, "invalid value for Float()")),
        },
        Some(name) if name.starts_with("ruby/") => return Err(unknown_class_error("a class of Ruby")),
        _ => psych::resolve(&text),
    };
    match meaning {
        Scalar::Timestamp => Err(unknown_class_error(if text.contains(':') { "Time" } else { "Date" })),
        Scalar::Float(value) => Ok((float(value), Kind::Scalar)),
        Scalar::Symbol(name) => Ok((Tree::String(name), Kind::Scalar)),
        meaning => Ok(of_meaning(meaning, text)),
    }
}

fn unknown_class_error(class: &str) -> Diagnostic {
    let message = format!("Tried to load unspecified class: {class}");
    Diagnostic::error(codes::YAML_CLASS, message).help("quote the value")
}

fn string(text: Cow<'_, str>) -> (Tree, Kind) {
    (Tree::String(text.into_owned()), Kind::Scalar)
}

/// The name of a tag of YAML itself; empty for others.
fn core(tag: &Tag) -> &str {
    if tag.handle == CORE_TAG_PREFIX {
        &tag.suffix
    } else {
        tag.suffix.strip_prefix(CORE_TAG_PREFIX).unwrap_or("")
    }
}

fn tagged(tag: &str, text: Cow<'_, str>) -> Value {
    match tag {
        "binary" => return binary(&text).map(|text| (text, Kind::Scalar)),
        "null" | "bool" | "int" | "float" | "timestamp" => {}
        _ => return Ok(string(text)),
    }
    match Scalar::resolve(&text, tag == "timestamp") {
        // yaml.v2 does not accept larger ones.
        Scalar::Int(digits) if tag == "float" && digits.parse::<i64>().is_ok() => {
            Ok((float(digits.parse().unwrap_or(0.0)), Kind::Scalar))
        }
        meaning if meaning.tag().strip_prefix("!!") == Some(tag) => Ok(of_meaning(meaning, text)),
        // yaml.v2 quotes the value, which may be a secret.
        meaning => {
            let message = format!("cannot decode {} as a !!{tag}", meaning.tag());
            Err(Diagnostic::error(codes::YAML_TAG, message))
        }
    }
}

/// As in Go: unused bits may be set.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

fn binary(text: &str) -> Result<Tree, Diagnostic> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let bytes = BASE64
        .decode(digits)
        .map_err(|_| Diagnostic::error(codes::YAML_TAG, "!!binary value contains invalid base64 data"))?;
    String::from_utf8(bytes).map(Tree::String).map_err(|_| {
        Diagnostic::error(codes::YAML_TAG, "!!binary value is not UTF-8 text")
            .help("keep binary content base64-encoded, as a string")
    })
}

/// The value of a scalar with this meaning.
pub fn of_meaning(meaning: Scalar, text: Cow<'_, str>) -> (Tree, Kind) {
    let tree = match meaning {
        Scalar::Null => Tree::Null,
        Scalar::Bool(value) => Tree::Bool(value),
        Scalar::Int(digits) => Number::new(&digits).map_or(Tree::Null, Tree::Number),
        // An integer that is too large for 64 bits is read as a float; its text could be mistaken for an integer.
        Scalar::Float(value) => match Number::new(&text) {
            Some(number) if !number.is_integer() => Tree::Number(number),
            _ => float(value),
        },
        Scalar::Merge => return (text.as_ref().into(), Kind::Merge),
        Scalar::Timestamp | Scalar::Symbol(_) | Scalar::String => Tree::String(text.into_owned()),
    };
    (tree, Kind::Scalar)
}

/// A double as JSON spells it, always distinct from an integer.
pub fn float(value: f64) -> Tree {
    let text = format_float(value);
    if text.contains(['.', 'e']) {
        return Number::new(&text).map_or_else(|| escape::special(&text), Tree::Number);
    }
    Number::new(&format!("{text}.0")).map_or(Tree::Null, Tree::Number)
}

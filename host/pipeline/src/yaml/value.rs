//! Builds a value from a scalar with its style and tag.

use super::node::Kind;
use super::scalar::{Scalar, format_float};
use crate::diagnostic::Diagnostic;
use crate::yaml::codes;
use base64::Engine;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use boson_document::{Number, Tree, escape};
use saphyr_parser::{ScalarStyle, Tag};
use std::borrow::Cow;

const CORE: &str = "tag:yaml.org,2002:";

/// The value, or a diagnostic without a place if the tag does not fit.
pub(super) fn of_scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Result<(Tree, Kind), Diagnostic> {
    let Some(tag) = tag else {
        return Ok(match style {
            ScalarStyle::Plain => of_meaning(Scalar::plain(&text), text),
            _ => (Tree::String(text.into_owned()), Kind::Scalar),
        });
    };
    let tag = if tag.handle == CORE {
        &tag.suffix
    } else {
        tag.suffix.strip_prefix(CORE).unwrap_or("")
    };
    match tag {
        "binary" => binary(&text).map(|text| (text, Kind::Scalar)),
        "merge" if text == "<<" => Ok((text.as_ref().into(), Kind::Merge)),
        "null" | "bool" | "int" | "float" | "timestamp" => tagged(tag, text),
        _ => Ok((Tree::String(text.into_owned()), Kind::Scalar)),
    }
}

fn tagged(tag: &str, text: Cow<'_, str>) -> Result<(Tree, Kind), Diagnostic> {
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

fn of_meaning(meaning: Scalar, text: Cow<'_, str>) -> (Tree, Kind) {
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
        Scalar::Timestamp | Scalar::String => Tree::String(text.into_owned()),
    };
    (tree, Kind::Scalar)
}

/// A double as JSON spells it, always distinct from an integer.
pub(super) fn float(value: f64) -> Tree {
    let text = format_float(value);
    if text.contains(['.', 'e']) {
        return Number::new(&text).map_or_else(|| escape::special(&text), Tree::Number);
    }
    Number::new(&format!("{text}.0")).map_or(Tree::Null, Tree::Number)
}

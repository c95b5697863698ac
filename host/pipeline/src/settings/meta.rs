//! Checks the schema of a plugin itself: a faulty schema is reported when the plugin is loaded, not when its first
//! settings arrive.

use boson_document::{Pointer, Tree};

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// The first fault of a schema: its place and the reason. Unknown keywords are ignored.
pub fn schema_fault(schema: &Tree) -> Option<String> {
    fault(schema, &mut Pointer::root()).err()
}

fn fault(schema: &Tree, place: &mut Pointer) -> Result<(), String> {
    match schema {
        Tree::Bool(_) => Ok(()),
        Tree::Object(keywords) => keywords.iter().try_for_each(|(name, value)| {
            place.push(name);
            keyword(name, value, place)?;
            place.pop();
            Ok(())
        }),
        _ => wrong(place, "a schema is an object, true or false"),
    }
}

fn keyword(name: &str, value: &Tree, place: &mut Pointer) -> Result<(), String> {
    match name {
        "type" => types(value, place),
        "properties" | "$defs" => match value {
            Tree::Object(members) => members.iter().try_for_each(|(name, schema)| below(name, schema, place)),
            _ => wrong(place, "it is an object of schemas"),
        },
        "additionalProperties" | "items" | "not" => fault(value, place),
        "allOf" | "anyOf" | "oneOf" => match value {
            Tree::Array(schemas) if !schemas.is_empty() => {
                let mut schemas = schemas.iter().enumerate();
                schemas.try_for_each(|(nth, schema)| below(nth, schema, place))
            }
            _ => wrong(place, "it is a list of schemas, at least one"),
        },
        "enum" if value.as_array().is_none() => wrong(place, "it is a list of values"),
        "required" => match value {
            Tree::Array(names) if names.iter().all(|name| name.as_str().is_some()) => Ok(()),
            _ => wrong(place, "it is a list of names"),
        },
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => match value {
            Tree::Number(_) => Ok(()),
            _ => wrong(place, "it is a number"),
        },
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            match value.as_i64().filter(|size| *size >= 0) {
                Some(_) => Ok(()),
                None => wrong(place, "it is a number from 0"),
            }
        }
        _ => Ok(()),
    }
}

fn types(value: &Tree, place: &Pointer) -> Result<(), String> {
    let is_type = |name: &Tree| name.as_str().is_some_and(|name| TYPES.contains(&name));
    let good = match value {
        Tree::Array(names) => !names.is_empty() && names.iter().all(is_type),
        one => is_type(one),
    };
    match good {
        true => Ok(()),
        false => wrong(place, &format!("it is one of {}, or a list of them", TYPES.join(", "))),
    }
}

fn below(token: impl ToString, schema: &Tree, place: &mut Pointer) -> Result<(), String> {
    place.push(token);
    fault(schema, place)?;
    place.pop();
    Ok(())
}

fn wrong(place: &Pointer, what: &str) -> Result<(), String> {
    Err(format!("at '{place}': {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn invalid_schemas_are_reported() {
        for (schema, place) in [
            ("7", ""),
            ("[]", ""),
            (r#""object""#, ""),
            (r#"{"type": "strnig"}"#, "/type"),
            (r#"{"type": []}"#, "/type"),
            (r#"{"properties": []}"#, "/properties"),
            (r#"{"properties": {"a": {"type": 7}}}"#, "/properties/a/type"),
            (r#"{"properties": {"a": "string"}}"#, "/properties/a"),
            (r#"{"items": {"required": "a"}}"#, "/items/required"),
            (r#"{"required": [7]}"#, "/required"),
            (r#"{"anyOf": []}"#, "/anyOf"),
            (r#"{"oneOf": [{}, {"enum": 1}]}"#, "/oneOf/1/enum"),
            (r#"{"additionalProperties": "no"}"#, "/additionalProperties"),
            (r#"{"minimum": "1"}"#, "/minimum"),
            (r#"{"maxItems": -1}"#, "/maxItems"),
        ] {
            let fault = schema_fault(&json::parse(schema).unwrap()).unwrap_or_default();
            assert!(fault.starts_with(&format!("at '{place}': ")), "{schema}: {fault}");
        }
        for schema in [
            "true",
            "{}",
            r#"{"type": ["string", "null"], "properties": {"required": {"items": false, "x-ours": 7}}, "required": ["required"],
                "oneOf": [{"minLength": 1}], "enum": [], "$defs": {"a": true}, "pattern": "^a"}"#,
        ] {
            assert_eq!(schema_fault(&json::parse(schema).unwrap()), None, "{schema}");
        }
    }
}

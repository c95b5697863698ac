//! The properties of a link, from the data of its Secret.

use super::codes;
use super::object::Object;
use crate::diagnostic::Diagnostic;
use crate::yaml;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_document::{Map, Tree, json};
use boson_manifest::labels::JSON_VALUE;
use std::collections::BTreeMap;

/// The only key of the predecessor's Secrets: a YAML map of all properties, by their dotted names.
const PREDECESSOR_KEY: &str = "link";

/// The properties, and how many bytes they have.
///
/// # Errors
/// No data; values that are not text, or not JSON where the Secret says so; keys that cannot be properties.
pub fn properties(secret: &Object<'_>) -> Result<(Tree, usize), Vec<Diagnostic>> {
    let texts = texts(secret)?;
    if texts.is_empty() {
        let help = "add a key for each property of the link";
        let message = format!("{secret} provides a link, but has no data");
        return Err(vec![secret.error(codes::NATIVE_LINK_NO_DATA, &[], message, help)]);
    }
    let bytes = texts.iter().map(|(key, text)| key.len() + text.len()).sum();
    let values = match of_predecessor(&texts) {
        Some(values) => values,
        None => values(secret, texts)?,
    };
    Ok((nested(secret, &values)?, bytes))
}

/// The text of each key.
fn texts(secret: &Object<'_>) -> Result<BTreeMap<String, String>, Vec<Diagnostic>> {
    let (mut texts, mut errors) = (BTreeMap::new(), Vec::new());
    let map = |member: &str| secret.tree.get(member).and_then(Tree::as_map).into_iter().flatten();
    for (key, value) in map("data") {
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text.trim()).ok());
        match bytes.map(String::from_utf8) {
            Some(Ok(text)) => drop(texts.insert(key.clone(), text)),
            Some(Err(_)) => errors.push(wrong_value(secret, key, "is not UTF-8 text")),
            None => errors.push(wrong_value(secret, key, "is not base64 text")),
        }
    }
    for (key, value) in map("stringData") {
        match value.as_str() {
            Some(text) => drop(texts.insert(key.clone(), text.into())),
            None => errors.push(wrong_value(secret, key, "is not a string")),
        }
    }
    if errors.is_empty() { Ok(texts) } else { Err(errors) }
}

fn wrong_value(secret: &Object<'_>, key: &str, why: &str) -> Diagnostic {
    let message = format!("{secret}: the value of the key '{key}' {why}");
    secret.error(
        codes::NATIVE_LINK_VALUE,
        &[],
        message,
        "properties of links are text, or JSON",
    )
}

/// The values of a Secret in the predecessor's form.
fn of_predecessor(texts: &BTreeMap<String, String>) -> Option<BTreeMap<String, Tree>> {
    let text = texts.get(PREDECESSOR_KEY).filter(|_| texts.len() == 1)?;
    let document = yaml::read(PREDECESSOR_KEY, text).ok()?;
    let members = document.tree.as_map()?.iter();
    Some(members.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn values(secret: &Object<'_>, texts: BTreeMap<String, String>) -> Result<BTreeMap<String, Tree>, Vec<Diagnostic>> {
    let is_json = secret.annotation(JSON_VALUE) == Some("true");
    let (mut values, mut errors) = (BTreeMap::new(), Vec::new());
    for (key, text) in texts {
        match json::parse(&text) {
            Ok(value) if is_json => drop(values.insert(key, value)),
            Err(_) if is_json => {
                let why = format!("is not JSON, as the annotation '{JSON_VALUE}' requires");
                errors.push(wrong_value(secret, &key, &why));
            }
            Ok(_) | Err(_) => drop(values.insert(key, text.into())),
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

/// Nests dotted keys.
fn nested(secret: &Object<'_>, values: &BTreeMap<String, Tree>) -> Result<Tree, Vec<Diagnostic>> {
    let wrong = |message: String, help: &str| secret.error(codes::NATIVE_LINK_KEY, &[], message, help);
    let (mut root, mut errors) = (Map::new(), Vec::new());
    for (key, value) in values {
        if key.split('.').any(str::is_empty) {
            let message = format!("{secret}: the key '{key}' has a level without a name");
            errors.push(wrong(message, "write one dot between two names"));
            continue;
        }
        let dots = key.match_indices('.').filter_map(|(at, _)| key.get(..at));
        if let Some(other) = dots.into_iter().find(|prefix| values.contains_key(*prefix)) {
            let message = format!("{secret}: the keys '{other}' and '{key}' collide, because dots separate levels");
            errors.push(wrong(message, "rename or remove one of them"));
            continue;
        }
        insert(&mut root, key, value.clone());
    }
    if errors.is_empty() {
        Ok(Tree::Object(root))
    } else {
        Err(errors)
    }
}

/// Adds a value below the maps that its key names. No other key ends on the way.
fn insert(into: &mut Map, key: &str, value: Tree) {
    match key.split_once('.') {
        None => drop(into.insert(key.into(), value)),
        Some((first, rest)) => {
            let below = into.entry(first.to_string()).or_insert_with(Tree::object);
            if let Some(below) = below.as_object_mut() {
                insert(below, rest, value);
            }
        }
    }
}

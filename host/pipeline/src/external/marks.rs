//! The annotations by which native objects provide links.

use super::codes;
use super::object::Object;
use crate::diagnostic::Diagnostic;
use boson_document::{Tree, json};
use boson_manifest::labels::{DEPLOYMENT_NAME, LINK_PROVIDER_NAME, PROVIDES};
use boson_manifest::names::label;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    pub name: String,
    pub kind: String,
}

/// Whether an object with these annotations and labels provides a link; an API object or its metadata.
pub fn is_marked(annotation: impl Fn(&str) -> bool) -> bool {
    annotation(PROVIDES) || annotation(LINK_PROVIDER_NAME)
}

/// Whether the value of `deployment-name` means this deployment: its name, or the form of it that labels have.
pub fn names_deployment(value: &str, deployment: &str) -> bool {
    value == deployment || value == label(deployment)
}

/// The deployment that an object provides links to: its annotation or, as in the predecessor, its label.
pub fn deployment<'a>(object: &Object<'a>) -> Option<&'a str> {
    object
        .annotation(DEPLOYMENT_NAME)
        .or_else(|| object.label(DEPLOYMENT_NAME))
}

/// The link in `provides`; `None` if the object does not have the annotation.
pub fn identity(object: &Object<'_>) -> Result<Option<Identity>, Diagnostic> {
    let Some(text) = object.annotation(PROVIDES) else {
        return Ok(None);
    };
    let wrong = |why: &str| {
        let message = format!("{object}: the annotation '{PROVIDES}' {why}");
        let help = r#"write it as '{"name":"nats","type":"nats"}'"#;
        object.error(codes::NATIVE_LINK_ANNOTATION, &["annotations", PROVIDES], message, help)
    };
    let tree = json::parse(text).map_err(|_| wrong("is not JSON"))?;
    let Some(members) = tree.as_object() else {
        return Err(wrong("is not a JSON object"));
    };
    let member = |key: &str| {
        let text = members.get(key).and_then(Tree::as_str).filter(|text| !text.is_empty());
        text.map(str::to_string).ok_or_else(|| match members.get(key) {
            None => wrong(&format!("has no member '{key}'")),
            Some(_) => wrong(&format!("has a member '{key}' that is not a non-empty string")),
        })
    };
    let identity = Identity {
        name: member("name")?,
        kind: member("type")?,
    };
    if members.keys().any(|key| key != "name" && key != "type") {
        Err(wrong("has members other than 'name' and 'type'"))
    } else {
        Ok(Some(identity))
    }
}

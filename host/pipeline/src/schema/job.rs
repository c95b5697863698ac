//! The dialect of `properties_schema.json`: draft 2020-12 with formats, and the type `certificate`, as the director
//! validates it.

use boson_document::{Map, Tree};
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The only dialect that the director takes.
pub const DIRECTOR_DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const CERTIFICATE_TYPE: &str = "certificate";
/// Format that takes its place for the library, which takes no other types.
pub const CERTIFICATE_FORMAT: &str = "boson:certificate";
/// Keywords whose values are no schemas.
const LITERAL_KEYWORDS: [&str; 4] = ["const", "default", "enum", "examples"];
const PEM_LABELS: [&str; 3] = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"];

/// The schema in terms of the standard, or the director's error.
pub fn standard(schema: &Tree) -> Result<Tree, &'static str> {
    match schema.str("$schema") {
        None | Some("") => Err("You must declare your $schema draft version"),
        Some(DIRECTOR_DIALECT) => Ok(without_type(schema)),
        Some(_) => Err("Only https://json-schema.org/draft/2020-12/schema schema is currently supported"),
    }
}

/// Whether a text is a certificate, or empty.
pub fn is_certificate(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let Ok(blocks) = pem::parse_many(text) else {
        return false;
    };
    let certificates: Vec<_> = blocks
        .iter()
        .filter(|block| PEM_LABELS.contains(&block.tag()))
        .collect();
    let is_readable = |block: &&pem::Pem| Certificate::from_der(block.contents()).is_ok();
    !certificates.is_empty() && certificates.iter().all(is_readable)
}

/// Keywords whose values are maps of schemas: their keys are names.
const SCHEMA_MAP_KEYWORDS: [&str; 4] = ["properties", "patternProperties", "$defs", "dependentSchemas"];

/// A schema in which the type `certificate` is a string of our format.
fn without_type(schema: &Tree) -> Tree {
    match schema {
        Tree::Array(items) => Tree::Array(items.iter().map(without_type).collect()),
        Tree::Object(members) => {
            let each = members.iter().map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    (key, value) if LITERAL_KEYWORDS.contains(&key) => value.clone(),
                    (key, Tree::Object(schemas)) if SCHEMA_MAP_KEYWORDS.contains(&key) => {
                        let each = schemas.iter();
                        Tree::Object(
                            each.map(|(name, schema)| (name.clone(), without_type(schema)))
                                .collect(),
                        )
                    }
                    (_, value) => without_type(value),
                };
                (key.clone(), value)
            });
            of_types(each.collect())
        }
        other => other.clone(),
    }
}

/// Replaces the type in the keyword `type`.
fn of_types(mut members: Map) -> Tree {
    let kind = members.get("type").cloned();
    let other_types = match &kind {
        Some(Tree::String(kind)) if kind == CERTIFICATE_TYPE => Vec::new(),
        Some(Tree::Array(kinds)) if kinds.iter().any(|kind| kind.as_str() == Some(CERTIFICATE_TYPE)) => {
            let others = kinds.iter().filter(|kind| kind.as_str() != Some(CERTIFICATE_TYPE));
            others.cloned().collect()
        }
        _ => return Tree::Object(members),
    };
    members.shift_remove("type");
    let certificate = Tree::object().with("type", "string").with("format", CERTIFICATE_FORMAT);
    let mut forms = vec![certificate];
    if !other_types.is_empty() {
        forms.push(Tree::object().with("type", Tree::Array(other_types)));
    }
    let either = match forms.len() {
        1 => forms.swap_remove(0),
        _ => Tree::object().with("anyOf", Tree::Array(forms)),
    };
    // The schema may have a format, or an `anyOf`, itself.
    let mut all = members
        .get("allOf")
        .and_then(Tree::as_array)
        .cloned()
        .unwrap_or_default();
    all.push(either);
    members.insert("allOf".into(), Tree::Array(all));
    Tree::Object(members)
}

#[cfg(test)]
mod tests {
    use crate::schema::Schema;
    use boson_document::{Tree, json};

    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n\
        MIIBITCByKADAgECAgEBMAoGCCqGSM49BAMCMAwxCjAIBgNVBAMMAWEwHhcNMjYw\n\
        -----END CERTIFICATE-----\n";

    fn errors(schema: &str, value: &Tree) -> Vec<String> {
        let schema = json::parse(schema).unwrap().with("$schema", super::DIRECTOR_DIALECT);
        let errors = Schema::of_job(&schema).unwrap().errors(value).into_iter();
        errors.map(|one| format!("{} {}", one.place, one.kind)).collect()
    }

    #[test]
    fn certificates_are_a_type() {
        let value = |text: &str| Tree::object().with("cert", text);
        let schema = r#"{"properties": {"cert": {"type": "certificate", "maxLength": 9000}}}"#;
        assert_eq!(errors(schema, &value("")), [""; 0]);
        assert_eq!(errors(schema, &value("s3cret")), ["/cert it is not a certificate"]);
        assert_eq!(errors(schema, &value(CERTIFICATE)), ["/cert it is not a certificate"]);
        assert_eq!(
            errors(schema, &Tree::object().with("cert", 7_i64)),
            ["/cert it is not of type \"string\""]
        );
        let list = r#"{"properties": {"cert": {"type": ["certificate", "null"]}}}"#;
        assert_eq!(errors(list, &Tree::object().with("cert", Tree::Null)), [""; 0]);
        assert_eq!(errors(list, &value("x")).len(), 1);
        let named = r#"{"properties": {"type": {"const": {"type": "certificate"}}}}"#;
        let same = Tree::object().with("type", Tree::object().with("type", "certificate"));
        assert_eq!(errors(named, &same), [""; 0]);
    }

    #[test]
    fn formats_count() {
        let schema = r#"{"properties": {"a": {"format": "ipv4"}}}"#;
        assert_eq!(errors(schema, &Tree::object().with("a", "10.0.0.1")), [""; 0]);
        assert_eq!(errors(schema, &Tree::object().with("a", "x")).len(), 1);
    }

    #[test]
    fn only_one_draft_is_taken() {
        for (schema, message) in [
            ("{}", "You must declare your $schema draft version"),
            (
                r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
                "Only https://json-schema.org/draft/2020-12/schema schema is currently supported",
            ),
        ] {
            assert_eq!(super::standard(&json::parse(schema).unwrap()), Err(message));
        }
    }
}

//! Addresses of links that certificates consume: they become names in the certificate's options.

use crate::stage::Definition;
use boson_document::Tree;
use std::collections::BTreeMap;

/// What a variable consumes, by its name.
pub type Addresses = BTreeMap<String, Consumed>;

/// Addresses of the links that one variable consumes, as their providers have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Of the link `alternative_name`.
    pub alternative_name: Option<String>,
    /// Of the link `common_name`.
    pub common_name: Option<String>,
}

// === impl Consumed ===

impl Consumed {
    /// Puts the addresses into options: the one appended to `alternative_names`, the other as `common_name` where there is none.
    pub fn amend(&self, definition: &Definition, options: &mut Tree) {
        if let Some(address) = &self.alternative_name {
            let address = Tree::from(shaped(address, definition, "alternative_name"));
            match options.get_mut("alternative_names").and_then(Tree::as_array_mut) {
                Some(names) => names.push(address),
                None => drop(options.set("alternative_names", vec![address])),
            }
        }
        if let (Some(address), None) = (&self.common_name, options.get("common_name")) {
            options.set("common_name", shaped(address, definition, "common_name"));
        }
    }
}

/// The address, its first label replaced by `*` where the consumer wants that.
fn shaped(address: &str, definition: &Definition, consumer: &str) -> String {
    let properties = definition
        .consumes
        .get(consumer)
        .and_then(|consumer| consumer.get("properties"));
    let wildcard = properties
        .and_then(|properties| properties.get("wildcard"))
        .and_then(Tree::as_bool)
        .unwrap_or(false);
    match address.split_once('.') {
        Some((_, rest)) if wildcard => format!("*.{rest}"),
        _ => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn addresses_become_names() {
        let consumed = Consumed {
            alternative_name: Some("api.ns.svc".into()),
            common_name: Some("db.ns.svc".into()),
        };
        let wild = r#"{"alternative_name": {"properties": {"wildcard": true}}, "common_name": {}}"#;
        for (consumes, options, want) in [
            (
                "null",
                "null",
                r#"{"alternative_names":["api.ns.svc"],"common_name":"db.ns.svc"}"#,
            ),
            (
                wild,
                "{}",
                r#"{"alternative_names":["*.ns.svc"],"common_name":"db.ns.svc"}"#,
            ),
            (
                wild,
                r#"{"common_name":"own","alternative_names":["a"]}"#,
                r#"{"common_name":"own","alternative_names":["a","*.ns.svc"]}"#,
            ),
        ] {
            let definition = Definition {
                name: "c".into(),
                kind: Some("certificate".into()),
                options: Tree::Null,
                update_mode: None,
                consumes: json::parse(consumes).unwrap(),
                pointer: String::new(),
            };
            let mut options = json::parse(options).unwrap();
            consumed.amend(&definition, &mut options);
            assert_eq!(json::to_text(&options), want);
        }
    }
}

//! Adds the addresses of links that certificates consume to the certificates' options.

use crate::stage::{Named, Reply};
use boson_document::Tree;
use std::collections::BTreeMap;

/// Addresses of the links that variables consume, by the variable's name.
pub type Addresses = BTreeMap<String, Consumed>;

/// Asks the links stage for the addresses of the links that variables of this document consume. They are unknown before
/// given values are put in: the deployment's name may be one.
pub type AskAddresses<'a> = dyn Fn(Named<'_>) -> Reply<Addresses> + 'a;

/// Addresses of the links that one variable consumes, in the form of the links stage (wildcards).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Of the link `alternative_name`.
    pub alternative_names: Vec<String>,
    /// Of the link `common_name`.
    pub common_name: Option<String>,
}

/// Reads the reply of the links stage: name of a variable -> `alternative_names` and `common_name`.
pub fn read_addresses(reply: &Tree) -> Addresses {
    let text = |tree: &Tree| tree.as_str().map(str::to_string);
    let consumed = |options: &Tree| Consumed {
        alternative_names: options.items("alternative_names").iter().filter_map(text).collect(),
        common_name: options.str("common_name").map(str::to_string),
    };
    let all = reply.as_object().into_iter().flatten();
    all.map(|(name, options)| (name.clone(), consumed(options))).collect()
}

// === impl Consumed ===

impl Consumed {
    /// Adds the addresses to options: appends those of `alternative_names`, and sets `common_name` if it is missing.
    pub fn amend(&self, options: &mut Tree) {
        let names = self.alternative_names.iter().map(|name| Tree::from(name.as_str()));
        match options.get_mut("alternative_names").and_then(Tree::as_array_mut) {
            Some(held) => held.extend(names),
            None if self.alternative_names.is_empty() => {}
            None => drop(options.set("alternative_names", self.alternative_names.clone())),
        }
        if let (Some(address), None) = (&self.common_name, options.get("common_name")) {
            options.set("common_name", address.as_str());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn addresses_become_names() {
        let reply = r#"{"c": {"alternative_names": ["api.ns", "api-0.ns"], "common_name": "db.ns"}, "d": {}}"#;
        let addresses = read_addresses(&json::parse(reply).unwrap());
        for (name, options, want) in [
            (
                "c",
                "null",
                r#"{"alternative_names":["api.ns","api-0.ns"],"common_name":"db.ns"}"#,
            ),
            (
                "c",
                r#"{"common_name":"own","alternative_names":["a"]}"#,
                r#"{"common_name":"own","alternative_names":["a","api.ns","api-0.ns"]}"#,
            ),
            ("d", r#"{"is_ca":true}"#, r#"{"is_ca":true}"#),
        ] {
            let mut options = json::parse(options).unwrap();
            addresses[name].amend(&mut options);
            assert_eq!(json::to_text(&options), want);
        }
    }
}

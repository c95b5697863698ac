//! Adds the addresses of links that certificates consume to the certificates' options.

use crate::stage::{Addresses, Consumed, Named, Reply};
use boson_document::Tree;

/// Asks the links stage for the addresses of the links that variables of this document consume. They are unknown before
/// given values are put in: the deployment's name may be one.
pub type AskAddresses<'a> = dyn Fn(Named<'_>) -> Reply<Addresses> + 'a;

/// Adds the addresses to options: appends those of `alternative_names`, and sets `common_name` if it is missing.
pub fn amend(options: &mut Tree, consumed: &Consumed) {
    let names = consumed.alternative_names.iter().map(|name| Tree::from(name.as_str()));
    match options.get_mut("alternative_names").and_then(Tree::as_array_mut) {
        Some(held) => held.extend(names),
        None if consumed.alternative_names.is_empty() => {}
        None => drop(options.set("alternative_names", consumed.alternative_names.clone())),
    }
    if let (Some(address), None) = (&consumed.common_name, options.get("common_name")) {
        options.set("common_name", address.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn addresses_become_names() {
        let none = Consumed::default();
        let both = Consumed {
            alternative_names: vec!["api.ns".into(), "api-0.ns".into()],
            common_name: Some("db.ns".into()),
        };
        for (consumed, options, want) in [
            (
                &both,
                "null",
                r#"{"alternative_names":["api.ns","api-0.ns"],"common_name":"db.ns"}"#,
            ),
            (
                &both,
                r#"{"common_name":"own","alternative_names":["a"]}"#,
                r#"{"common_name":"own","alternative_names":["a","api.ns","api-0.ns"]}"#,
            ),
            (&none, r#"{"is_ca":true}"#, r#"{"is_ca":true}"#),
        ] {
            let mut options = json::parse(options).unwrap();
            amend(&mut options, consumed);
            assert_eq!(json::to_text(&options), want);
        }
    }
}

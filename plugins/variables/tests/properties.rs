//! What holds for every document.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use boson_document::{Map, Tree, json};
use boson_variables::{Rules, interpolate, plan};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("((a))".to_string()),
        Just("((!b))".to_string()),
        Just("x((a))y((c.k))".to_string()),
        Just("((c))".to_string()),
        Just("((missing))-((a))".to_string()),
        "[(a!.) )]{0,12}",
        "[a-z]{0,4}",
    ]
}

fn document() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        text().prop_map(Tree::String),
        any::<i64>().prop_map(Tree::from),
        Just(Tree::Null)
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Tree::Array),
            prop::collection::vec((text(), inner), 0..6).prop_map(Tree::from_iter),
        ]
    })
}

fn values() -> Map {
    json::parse(r#"{"a": "va", "b": "vb", "c": {"k": 7}, "": "e"}"#)
        .unwrap()
        .as_object()
        .unwrap()
        .clone()
}

/// The document with the members of all maps in the other direction.
fn reversed(tree: &Tree) -> Tree {
    match tree {
        Tree::Array(items) => Tree::Array(items.iter().map(reversed).collect()),
        Tree::Object(map) => map
            .iter()
            .rev()
            .map(|(name, value)| (name.clone(), reversed(value)))
            .collect(),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn twice_is_once(document in document(), cli in any::<bool>()) {
        let rules = if cli { Rules::Cli } else { Rules::Director };
        if let Ok((once, _)) = interpolate(document, &values(), rules) {
            // Parts around a value may make a new placeholder; then the second time replaces that.
            prop_assume!(plan(&once.document, rules).is_ok_and(|(plan, _)| plan.references.iter().all(|r| !values().contains_key(&r.name))));
            let (twice, _) = interpolate(once.document.clone(), &values(), rules).unwrap();
            prop_assert_eq!(twice.document, once.document);
        }
    }

    #[test]
    fn the_order_of_members_changes_nothing(document in document(), cli in any::<bool>()) {
        let rules = if cli { Rules::Cli } else { Rules::Director };
        let (one, other) = (interpolate(document.clone(), &values(), rules), interpolate(reversed(&document), &values(), rules));
        match (one, other) {
            (Ok((one, _)), Ok((other, _))) => {
                prop_assert_eq!(one.document, other.document);
                prop_assert_eq!(one.used, other.used);
                let names = |all: Vec<boson_variables::Reference>| all.into_iter().map(|m| m.name).collect::<Vec<_>>();
                prop_assert_eq!(names(one.missing), names(other.missing));
            }
            (Err(one), Err(other)) => {
                let messages = |all: Vec<boson_document::Diagnostic>| {
                    let mut all: Vec<_> = all.into_iter().map(|d| d.message).collect();
                    all.sort();
                    all
                };
                prop_assert_eq!(messages(one), messages(other));
            }
            (one, other) => prop_assert!(false, "{:?} {:?}", one, other),
        }
    }

    #[test]
    fn nothing_is_lost_without_values(document in document()) {
        let (done, _) = interpolate(document.clone(), &Map::new(), Rules::Cli).unwrap();
        prop_assert_eq!(done.document, document.clone());
        let missing: Vec<_> = done.missing.into_iter().map(|m| m.name).collect();
        let references: Vec<_> = plan(&document, Rules::Cli).unwrap().0.references.into_iter().map(|r| r.name).collect();
        prop_assert_eq!(missing, references);
    }
}

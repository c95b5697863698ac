//! What holds for all documents and operations.

use crate::cases::DOCUMENT;
use boson_document::{Map, Pointer, Tree, escape, json};
use boson_ops::{Applied, OperationsFile, apply, find};
use proptest::prelude::*;
use std::collections::HashMap;

// === documents and operations at random ===

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "name", "0", "", "x/y", "k?", "\u{0}7", "\u{0}true"]).prop_map(Into::into)
}

fn scalar() -> impl Strategy<Value = Tree> {
    let number = prop::sample::select(vec!["0", "1", "7", "1.0", "1.5", "1e3", "18446744073709551615"]);
    prop_oneof![
        prop::sample::select(vec!["p", "q", "x/y", ""]).prop_map(Tree::from),
        number.prop_map(|text| json::parse(text).unwrap()),
        any::<bool>().prop_map(Tree::from),
        Just(Tree::Null),
        Just(escape::special(".inf")),
    ]
}

fn named() -> impl Strategy<Value = Tree> {
    prop::sample::select(vec!["p", "q"]).prop_map(|name| Tree::object().with("name", name).with("a", Tree::object()))
}

fn document() -> impl Strategy<Value = Tree> {
    scalar().prop_recursive(4, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(prop_oneof![inner.clone(), named()], 0..5).prop_map(Tree::Array),
            prop::collection::vec((key(), inner), 0..5).prop_map(Tree::from_iter),
        ]
    })
}

/// Keys are likely to exist, and what is missing is often optional: most operations should work.
fn path() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b?",
        "c?",
        "name",
        "a?",
        "x~1y?",
        "0",
        "1",
        "-1",
        "0:next",
        "0:after",
        "1:before",
        "-",
        "name=p",
        "name=q?",
        "name=p:prev",
        "name=q?:after",
        "name=p?",
    ]);
    prop::collection::vec(piece, 1..4).prop_map(|pieces| format!("/{}", pieces.join("/")))
}

fn operation() -> impl Strategy<Value = Tree> {
    let replace = (
        path(),
        document().prop_filter("a null is no value", |value| !value.is_null()),
    )
        .prop_map(|(path, value)| {
            Tree::object()
                .with("type", "replace")
                .with("path", path)
                .with("value", value)
        });
    let remove = path().prop_map(|path| Tree::object().with("type", "remove").with("path", path));
    prop_oneof![3 => replace, 1 => remove]
}

/// A document, and of random operations those that work on it one after the other.
fn worked() -> impl Strategy<Value = (Tree, Vec<Tree>)> {
    (document(), prop::collection::vec(operation(), 0..24)).prop_map(|(document, operations)| {
        let mut state = document.clone();
        let mut working = Vec::new();
        for operation in operations {
            if let Ok(applied) = go(&state, &[vec![operation.clone()]]) {
                state = applied.document;
                working.push(operation);
            }
        }
        (document, working)
    })
}

fn go(document: &Tree, files: &[Vec<Tree>]) -> Result<Applied, String> {
    let file = |(number, operations): (usize, &Vec<Tree>)| OperationsFile {
        name: number.to_string(),
        operations: Tree::Array(operations.clone()),
    };
    let files = files.iter().enumerate().map(file).collect();
    apply(document.clone(), DOCUMENT, files)
        .map(|(applied, _)| applied)
        .map_err(|errors| errors[0].message.clone())
}

// === origins ===

/// Document and pointer that the value at `place` comes from.
fn source(origins: &HashMap<Pointer, (String, Pointer)>, place: &Pointer) -> (String, Pointer) {
    let mut prefix = place.clone();
    let mut rest = Vec::new();
    loop {
        if let Some((document, pointer)) = origins.get(&prefix) {
            rest.reverse();
            return (document.clone(), pointer.join(&rest));
        }
        match prefix.pop() {
            Some(token) => rest.push(token),
            None => return (DOCUMENT.to_string(), place.clone()),
        }
    }
}

/// All values that hold no others, and their places.
fn leaves(tree: &Tree, place: Pointer, out: &mut Vec<(Pointer, Tree)>) {
    match tree {
        Tree::Array(items) if !items.is_empty() => {
            items
                .iter()
                .enumerate()
                .for_each(|(number, item)| leaves(item, place.at(number), out));
        }
        Tree::Object(map) if !map.is_empty() && escape::as_special(tree).is_none() => {
            map.iter().for_each(|(name, value)| leaves(value, place.at(name), out));
        }
        leaf => out.push((place, leaf.clone())),
    }
}

fn same_leaf(result: &Tree, source: &Tree) -> bool {
    match (result, source) {
        (Tree::Number(a), Tree::Number(b)) => a.as_f64() == b.as_f64(),
        // Emptied by a removal.
        (Tree::Array(items), Tree::Array(_)) => items.is_empty(),
        (Tree::Object(_), Tree::Object(_)) => true,
        (a, b) => a == b,
    }
}

fn shuffled(tree: &Tree) -> Tree {
    match tree {
        Tree::Array(items) => Tree::Array(items.iter().map(shuffled).collect()),
        Tree::Object(map) => map
            .iter()
            .rev()
            .map(|(name, value)| (name.clone(), shuffled(value)))
            .collect(),
        other => other.clone(),
    }
}

fn sorted(tree: &Tree) -> Tree {
    match tree {
        Tree::Array(items) => Tree::Array(items.iter().map(sorted).collect()),
        Tree::Object(map) => {
            let mut members: Vec<_> = map.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Tree::Object(members.into_iter().collect::<Map>())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_files_are_one_after_the_other((document, operations) in worked(), cut in 0.0..1.0_f64) {
        let (a, b) = operations.split_at((operations.len() as f64 * cut) as usize);
        let together = go(&document, std::slice::from_ref(&operations)).unwrap().document;
        let first = go(&document, &[a.to_vec()]).unwrap().document;
        prop_assert_eq!(&go(&first, &[b.to_vec()]).unwrap().document, &together);
        prop_assert_eq!(&go(&document, &[a.to_vec(), b.to_vec()]).unwrap().document, &together);
    }

    #[test]
    fn every_leaf_comes_from_where_its_origin_says((document, operations) in worked()) {
        let applied = go(&document, std::slice::from_ref(&operations)).unwrap();
        let file = Tree::Array(operations);
        let read = |text: &str| Pointer::parse(text).unwrap();
        let origins: HashMap<_, _> =
            applied.origins.iter().map(|o| (read(&o.pointer), (o.document.clone(), read(&o.source)))).collect();
        prop_assert_eq!(origins.len(), applied.origins.len(), "a pointer is listed twice");
        let mut all = Vec::new();
        leaves(&applied.document, Pointer::root(), &mut all);
        for (place, leaf) in all {
            let (name, pointer) = source(&origins, &place);
            let from = if name == DOCUMENT { &document } else { &file };
            let found = pointer.find(from);
            prop_assert!(found.is_some(), "{} comes from {} {}, which is nowhere", place, name, pointer);
            let created = pointer.tokens().get(1).is_some_and(|part| part == "path") && name != DOCUMENT;
            let same = found.is_some_and(|found| created || same_leaf(&leaf, found));
            prop_assert!(same, "{} is not what {} {} has", place, name, pointer);
        }
    }

    #[test]
    fn origins_are_few((document, operations) in worked()) {
        let applied = go(&document, &[operations]).unwrap();
        let read = |text: &str| Pointer::parse(text).unwrap();
        let origins: HashMap<_, _> =
            applied.origins.iter().map(|o| (read(&o.pointer), (o.document.clone(), read(&o.source)))).collect();
        for place in origins.keys() {
            prop_assert!(place.find(&applied.document).is_some(), "{} is not in the result", place);
            let mut others = origins.clone();
            let removed = others.remove(place).unwrap();
            prop_assert_ne!(source(&others, place), removed, "the others say the same of {}", place);
        }
    }

    #[test]
    fn the_order_of_keys_changes_nothing(
        document in document(),
        operations in prop::collection::vec(operation(), 0..8),
    ) {
        let straight = go(&document, std::slice::from_ref(&operations)).map(|applied| sorted(&applied.document));
        let operations = operations.iter().map(shuffled).collect();
        let other = go(&shuffled(&document), &[operations]).map(|applied| sorted(&applied.document));
        prop_assert_eq!(straight, other);
    }

    #[test]
    fn no_path_panics(document in document(), path in "[/:?=~a-z0-9-]{0,24}") {
        let _ = find(&document, DOCUMENT, &path);
        let replace = Tree::object().with("type", "replace").with("path", path.as_str()).with("value", 1_i64);
        let remove = Tree::object().with("type", "remove").with("path", path);
        let _ = go(&document, &[vec![replace]]);
        let _ = go(&document, &[vec![remove]]);
    }
}

//! How two versions of a document differ, value by value.

use boson_document::{Map, Pointer, Tree};

#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'t> {
    /// Where. The index of an item is that in the new document, unless only the old one has the item.
    pub pointer: Pointer,
    /// `None`: only the new document has it.
    pub old: Option<&'t Tree>,
    /// `None`: only the old document has it.
    pub new: Option<&'t Tree>,
}

/// All differences, in the order of the new document; a member or an item that only one has is one difference. The
/// order of members is not compared.
pub fn differences<'t>(old: &'t Tree, new: &'t Tree) -> Vec<Difference<'t>> {
    let mut found = Vec::new();
    compare(Some(old), Some(new), &mut Pointer::root(), &mut found);
    found
}

fn compare<'t>(old: Option<&'t Tree>, new: Option<&'t Tree>, place: &mut Pointer, found: &mut Vec<Difference<'t>>) {
    match (old, new) {
        (Some(old), Some(new)) if old == new => {}
        (Some(Tree::Object(old)), Some(Tree::Object(new))) => members(old, new, place, found),
        (Some(Tree::Array(old)), Some(Tree::Array(new))) => items(old, new, place, found),
        (old, new) => found.push(Difference {
            pointer: place.clone(),
            old,
            new,
        }),
    }
}

/// Equal items at the beginning and at the end stay together, so that an additional item is one difference.
fn items<'t>(old: &'t [Tree], new: &'t [Tree], place: &mut Pointer, found: &mut Vec<Difference<'t>>) {
    let same = |(old, new): &(&Tree, &Tree)| old == new;
    let begin = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[begin..], &new[begin..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    for nth in 0..old.len().max(new.len()) {
        place.push(begin + nth);
        compare(old.get(nth), new.get(nth), place, found);
        place.pop();
    }
}

fn members<'t>(old: &'t Map, new: &'t Map, place: &mut Pointer, found: &mut Vec<Difference<'t>>) {
    let removed = old.keys().filter(|name| !new.contains_key(*name));
    for name in new.keys().chain(removed) {
        place.push(name);
        compare(old.get(name), new.get(name), place, found);
        place.pop();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use boson_document::json::{parse, to_text};

    #[test]
    fn each_value_that_differs_is_found() {
        let old = parse(r#"{"a":{"b":1,"c":[1,2,{"d":3}],"gone":null},"same":[1]}"#).unwrap();
        let new = parse(r#"{"same":[1],"a":{"b":"1","c":[1,{"d":3}],"new":{}}}"#).unwrap();
        let text = |tree: Option<&Tree>| tree.map_or("-".to_string(), to_text);
        let found: Vec<String> = differences(&old, &new)
            .iter()
            .map(|one| format!("{} {} {}", one.pointer, text(one.old), text(one.new)))
            .collect();
        let wanted = [r#"/a/b 1 "1""#, "/a/c/1 2 -", "/a/new - {}", "/a/gone null -"];
        assert_eq!(found, wanted);
        assert_eq!(differences(&old, &old), []);
    }
}

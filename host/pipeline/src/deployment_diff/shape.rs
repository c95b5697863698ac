//! In which parts two versions of a pod's shape differ, by name and without values.

use boson_document::Tree;
use std::collections::BTreeSet;

/// Levels of a path that are named: `containers[broker].resources.limits` and not what is below.
const MAX_PATH_DEPTH: usize = 4;

/// The members that differ, sorted, such as `containers[broker].image`.
pub(super) fn members(old: &Tree, new: &Tree) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    compare(Some(old), Some(new), String::new(), MAX_PATH_DEPTH, &mut found);
    found
}

fn compare(old: Option<&Tree>, new: Option<&Tree>, path: String, depth: usize, found: &mut BTreeSet<String>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Some(Tree::Object(old)), Some(Tree::Object(new))) if depth > 0 => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                compare(old.get(key), new.get(key), below, depth - 1, found);
            }
        }
        (Some(Tree::Array(old)), Some(Tree::Array(new))) if are_named(old) && are_named(new) => {
            named(old, new, path, depth, found);
        }
        _ => drop(found.insert(path)),
    }
}

fn are_named(items: &[Tree]) -> bool {
    items.iter().all(|item| name(item).is_some())
}

fn name(item: &Tree) -> Option<&str> {
    item.str("name").or_else(|| item.get("metadata")?.str("name"))
}

fn find<'t>(items: &'t [Tree], wanted: &str) -> Option<&'t Tree> {
    items.iter().find(|item| name(item) == Some(wanted))
}

/// Items that belong together by their names.
fn named(old: &[Tree], new: &[Tree], path: String, depth: usize, found: &mut BTreeSet<String>) {
    let names: BTreeSet<&str> = old.iter().chain(new).filter_map(name).collect();
    let before = found.len();
    for one in names {
        compare(find(old, one), find(new, one), format!("{path}[{one}]"), depth, found);
    }
    if found.len() == before {
        // Only their order differs, or one occurs twice.
        found.insert(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    #[test]
    fn members_that_differ_are_named_without_values() {
        let old = parse(
            r#"{"containers": [{"name": "a", "image": "x", "env": [{"name": "E", "value": "1"}]}, {"name": "b"}], "volumes": [1],
                "securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}}"#,
        );
        let new = parse(
            r#"{"containers": [{"name": "a", "image": "y", "env": [{"name": "E", "value": "2"}]}, {"name": "c"}], "volumes": [2], "x": {},
                "securityContext": {"sysctls": [{"name": "kernel.sem", "value": "1"}, {"name": "net.core.somaxconn", "value": "2"}]}}"#,
        );
        let (old, new) = (old.unwrap(), new.unwrap());
        let found: Vec<String> = members(&old, &new).into_iter().collect();
        let wanted = [
            "containers[a].env[E].value",
            "containers[a].image",
            "containers[b]",
            "containers[c]",
            "securityContext.sysctls[kernel.sem]",
            "securityContext.sysctls[net.core.somaxconn].value",
            "volumes",
            "x",
        ];
        assert_eq!(found, wanted);
        assert!(members(&old, &old).is_empty());
    }
}

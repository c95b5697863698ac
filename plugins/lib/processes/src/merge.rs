//! The job property `quarks.bpm` over the rendered bpm.yml.
//!
//! Processes of one name are merged member by member: maps are merged, anything else that is not empty replaces. New
//! names are appended.

use crate::monit;
use boson_document::{MAX_DEPTH, Tree};
use std::collections::HashMap;

/// A document with the processes of both.
pub fn over(rendered: &Tree, property: Option<&Tree>) -> Tree {
    let both = Tree::object().with("processes", processes(rendered, property));
    both.with_some(monit::MARK, rendered.get(monit::MARK).cloned())
}

fn processes(rendered: &Tree, property: Option<&Tree>) -> Vec<Tree> {
    let mut processes: Vec<Tree> = rendered.items("processes").to_vec();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for (index, name) in processes.iter().map(|process| process.str("name")).enumerate() {
        name.into_iter().for_each(|name| {
            by_name.entry(name.to_string()).or_insert(index);
        });
    }
    for given in property.map_or(&[][..], |property| property.items("processes")) {
        let name = given.str("name").unwrap_or_default();
        match by_name.get(name) {
            Some(index) => merge(&mut processes[*index], given, 0),
            None => {
                by_name.insert(name.to_string(), processes.len());
                processes.push(given.clone());
            }
        }
    }
    processes
}

fn merge(base: &mut Tree, over: &Tree, depth: usize) {
    match (base, over) {
        (Tree::Object(base), Tree::Object(over)) if depth < MAX_DEPTH => {
            for (key, value) in over {
                match base.get_mut(key) {
                    Some(member) => merge(member, value, depth + 1),
                    None => {
                        base.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (base, over) if !is_empty(over) => *base = over.clone(),
        _ => {}
    }
}

fn is_empty(value: &Tree) -> bool {
    match value {
        Tree::Null => true,
        Tree::String(text) => text.is_empty(),
        Tree::Array(items) => items.is_empty(),
        Tree::Object(map) => map.is_empty(),
        Tree::Bool(_) | Tree::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn the_property_wins_by_process_name() {
        let rendered = json::parse(
            r#"{"processes": [{"name": "a", "args": ["x"], "env": {"A": "1", "B": "2"}, "ephemeral_disk": true, "executable": "/a"}, {"name": "b"}]}"#,
        )
        .unwrap();
        let property = json::parse(
            r#"{"processes": [{"name": "a", "args": ["y", "z"], "env": {"B": "3"}, "ephemeral_disk": false, "executable": ""}, {"name": "c"}]}"#,
        )
        .unwrap();
        let merged = Tree::from(processes(&rendered, Some(&property)));
        let expected = r#"[{"name":"a","args":["y","z"],"env":{"A":"1","B":"3"},"ephemeral_disk":false,"executable":"/a"},{"name":"b"},{"name":"c"}]"#;
        assert_eq!(json::to_text(&merged), expected);
        assert_eq!(processes(&Tree::Null, None), Vec::<Tree>::new());
    }
}

//! Fields of an object, as users name them: as a JSON pointer, or as in kubectl's JSONPath.

use boson_document::{Pointer, Tree};

/// The places that a text names: `/spec/ports/0`, `spec.ports[0]`, `spec.ports.name=http`. `*` stands for any part of a
/// name. An empty text is the whole object.
pub fn fields(tree: &Tree, text: &str) -> Vec<Pointer> {
    let mut found = Vec::new();
    let mut place = Pointer::root();
    match Pointer::parse(text) {
        Some(pointer) => by_tokens(tree, pointer.tokens(), &mut place, &mut found),
        None => {
            let text = text
                .trim_start_matches('$')
                .replace('[', ".")
                .replace([']', '"', '\''], "");
            by_text(tree, text.trim_start_matches('.'), &mut place, &mut found);
        }
    }
    found
}

fn by_tokens(tree: &Tree, tokens: &[String], place: &mut Pointer, found: &mut Vec<Pointer>) {
    let Some((token, rest)) = tokens.split_first() else {
        return found.push(place.clone());
    };
    for (name, value) in members(tree) {
        if name.is_matched_by(token) {
            place.push(&name.token);
            by_tokens(value, rest, place, found);
            place.pop();
        }
    }
}

/// Names contain dots: `metadata.labels.example.com/team`. So a member is what the rest of the text begins with.
fn by_text(tree: &Tree, text: &str, place: &mut Pointer, found: &mut Vec<Pointer>) {
    if text.is_empty() {
        return found.push(place.clone());
    }
    for (name, value) in members(tree) {
        if let Some(rest) = name.strip_from(text) {
            place.push(&name.token);
            by_text(value, rest, place, found);
            place.pop();
        }
    }
}

/// How a member or item can be named.
struct Name {
    /// Name of the member, or index of the item.
    token: String,
    /// `name=x` of an item.
    alias: Option<String>,
}

fn members(tree: &Tree) -> Vec<(Name, &Tree)> {
    match tree {
        Tree::Object(map) => {
            let name = |token: &String| Name {
                token: token.clone(),
                alias: None,
            };
            map.iter().map(|(token, value)| (name(token), value)).collect()
        }
        Tree::Array(items) => {
            let name = |nth: usize, item: &Tree| Name {
                token: nth.to_string(),
                alias: item.str("name").map(|name| format!("name={name}")),
            };
            let items = items.iter().enumerate();
            items.map(|(nth, item)| (name(nth, item), item)).collect()
        }
        _ => Vec::new(),
    }
}

// === impl Name ===

impl Name {
    fn is_matched_by(&self, pattern: &str) -> bool {
        matches(pattern, &self.token) || self.alias.as_ref().is_some_and(|alias| matches(pattern, alias))
    }

    /// The text after this name, and the dot that follows it.
    fn strip_from<'a>(&self, text: &'a str) -> Option<&'a str> {
        let literal = [Some(&self.token), self.alias.as_ref()].into_iter().flatten();
        let mut literal = literal.filter_map(|name| end(text.strip_prefix(name.as_str())?));
        literal.next().or_else(|| {
            let (first, rest) = text.split_once('.').unwrap_or((text, ""));
            (first.contains('*') && self.is_matched_by(first)).then_some(rest)
        })
    }
}

fn end(rest: &str) -> Option<&str> {
    if rest.is_empty() {
        Some("")
    } else {
        rest.strip_prefix('.')
    }
}

/// Whether a pattern with `*` matches a whole name.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|name| {
            let mut ends = name.char_indices().map(|(at, _)| &name[at..]).chain([""]);
            ends.any(|end| matches(rest, end))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn a_field_is_named_by_pointer_or_path_and_a_star_names_several() {
        let tree = r#"{"metadata": {"labels": {"example.com/team": "x", "example": {"com/team": "y"}}},
            "spec": {"ports": [{"name": "http", "port": 1}, {"name": "a.b", "port": 2}]}}"#;
        let tree = json::parse(tree).unwrap();
        for (text, wanted) in [
            ("/spec/ports/0/port", &["/spec/ports/0/port"][..]),
            ("spec.ports.0.port", &["/spec/ports/0/port"]),
            ("$.spec.ports[0].port", &["/spec/ports/0/port"]),
            (".spec.ports[name=a.b].port", &["/spec/ports/1/port"]),
            ("/spec/ports/name=http", &["/spec/ports/0"]),
            ("spec.ports.*.port", &["/spec/ports/0/port", "/spec/ports/1/port"]),
            ("/spec/ports/*/po*", &["/spec/ports/0/port", "/spec/ports/1/port"]),
            (
                "metadata.labels.example.com/team",
                &[
                    "/metadata/labels/example.com~1team",
                    "/metadata/labels/example/com~1team",
                ],
            ),
            (
                "metadata.labels['example.com/team']",
                &[
                    "/metadata/labels/example.com~1team",
                    "/metadata/labels/example/com~1team",
                ],
            ),
            ("metadata.labels.example", &["/metadata/labels/example"]),
            ("spec.port", &[]),
            ("", &[""]),
        ] {
            let found: Vec<String> = fields(&tree, text).iter().map(ToString::to_string).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
}

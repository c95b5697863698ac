//! Which parts of an input determine a value. The same call with the same input gives the same reply, so a part
//! determines the value if the value changes with it: each part is changed, and the call repeated.

use crate::bundle::patch;
use boson_document::{Number, Pointer, Tree};

/// Limit on the calls for one value. A group of cf-deployment needs less than half of it.
pub const MAX_CALLS: usize = 4_000;

/// What determines a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Influences {
    /// The value changes with these.
    pub value: Vec<Pointer>,
    /// However these were changed, there was no value, or the input was invalid.
    pub existence: Vec<Pointer>,
    /// Whether everything was tried within [`MAX_CALLS`].
    pub is_complete: bool,
}

/// Finds the leaves of an input that determine a value. `call`: the value for another input, `None` if it has no value.
pub fn influences(input: &Tree, call: &dyn Fn(&Tree) -> Option<Tree>) -> Influences {
    let mut search = Search {
        base: call(input),
        input: input.clone(),
        left: MAX_CALLS,
        call,
        found: Influences::default(),
    };
    if search.base.is_some() {
        search.visit(input, &mut Pointer::root());
    }
    search.found.is_complete = search.left > 0;
    search.found
}

struct Search<'a> {
    /// The value for the unchanged input.
    base: Option<Tree>,
    /// Changed in one place during a call.
    input: Tree,
    left: usize,
    call: &'a dyn Fn(&Tree) -> Option<Tree>,
    found: Influences,
}

/// What a change of the input does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Nothing,
    OtherValue,
    NoValue,
}

// === impl Search ===

impl Search<'_> {
    fn visit(&mut self, tree: &Tree, place: &mut Pointer) {
        let children: Vec<(String, &Tree)> = match tree {
            Tree::Object(map) => map.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Tree::Array(items) => items
                .iter()
                .enumerate()
                .map(|(n, item)| (n.to_string(), item))
                .collect(),
            leaf => return self.leaf(leaf, place),
        };
        // All leaves below at once: without an effect, none of them needs a call of its own.
        if self.effect(place, changed(tree)) == Effect::Nothing {
            return;
        }
        for (token, child) in children {
            place.push(token);
            self.visit(child, place);
            place.pop();
        }
    }

    fn leaf(&mut self, leaf: &Tree, place: &Pointer) {
        for other in others(leaf) {
            match self.effect(place, other) {
                Effect::Nothing => return,
                Effect::OtherValue => return self.found.value.push(place.clone()),
                Effect::NoValue => {}
            }
        }
        if !others(leaf).is_empty() {
            self.found.existence.push(place.clone());
        }
    }

    fn effect(&mut self, place: &Pointer, other: Tree) -> Effect {
        if self.left == 0 {
            return Effect::Nothing;
        }
        self.left -= 1;
        let Ok(slot) = patch::find(&mut self.input, place) else {
            return Effect::Nothing;
        };
        let before = std::mem::replace(slot, other);
        let value = (self.call)(&self.input);
        if let Ok(slot) = patch::find(&mut self.input, place) {
            *slot = before;
        }
        match value {
            None => Effect::NoValue,
            value if value == self.base => Effect::Nothing,
            Some(_) => Effect::OtherValue,
        }
    }
}

/// The same with all of its leaves changed.
fn changed(tree: &Tree) -> Tree {
    match tree {
        Tree::Object(map) => {
            let members = map.iter().map(|(name, value)| (name.clone(), changed(value)));
            Tree::Object(members.collect())
        }
        Tree::Array(items) => Tree::Array(items.iter().map(changed).collect()),
        leaf => others(leaf).into_iter().next().unwrap_or_else(|| leaf.clone()),
    }
}

/// Other values for a leaf, as few as may be invalid for the same reason.
fn others(leaf: &Tree) -> Vec<Tree> {
    match leaf {
        Tree::Bool(value) => vec![Tree::Bool(!value)],
        Tree::Number(number) => {
            // Another item of a list may have the next number already.
            let others = [1, 1009].map(|more| number.as_i64().and_then(|value| value.checked_add(more)));
            let others = others.map(|other| other.map_or_else(|| Number::new("1"), |other| Some(other.into())));
            others.into_iter().flatten().map(Tree::Number).collect()
        }
        Tree::String(text) => {
            let mut others = vec![Tree::from(format!("{text}x"))];
            // `10Gi`, `1000-60000`: a unit or a range with another number.
            if let Some(at) = text.find(|c: char| c.is_ascii_digit()) {
                let digit = match text.as_bytes().get(at) {
                    Some(b'9') => '8',
                    Some(byte) => char::from(byte + 1),
                    None => '1',
                };
                let mut other = text.clone();
                other.replace_range(at..=at, &digit.to_string());
                others.push(other.into());
            }
            others
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn texts(pointers: &[Pointer]) -> Vec<String> {
        pointers.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn leaves_that_change_the_value_are_found_also_if_they_have_its_default() {
        let input =
            r#"{"a": {"image": "x", "other": 1}, "n": 1, "unit": "1Gi", "kind": "fixed", "rest": [{"b": true}]}"#;
        let input = json::parse(input).unwrap();
        let call = |input: &Tree| {
            // Invalid unless it is this word.
            (input.str("kind") == Some("fixed")).then_some(())?;
            let unit = input.str("unit").filter(|unit| unit.ends_with("Gi"))?;
            let image = input.get("a")?.str("image")?;
            let number = input.get("n")?.as_i64()?.max(1);
            Some(Tree::from(format!("{image}:{number}:{unit}")))
        };
        let found = influences(&input, &call);
        assert_eq!(texts(&found.value), ["/a/image", "/n", "/unit"]);
        assert_eq!(texts(&found.existence), ["/kind"]);
        assert!(found.is_complete);
    }

    #[test]
    fn the_number_of_calls_is_limited() {
        let items: Vec<Tree> = (0..i64::try_from(MAX_CALLS).unwrap() * 2).map(Tree::from).collect();
        let call = |input: &Tree| Some(input.clone());
        let found = influences(&Tree::Array(items), &call);
        assert!(!found.is_complete);
        assert!(found.value.len() < MAX_CALLS);
    }
}

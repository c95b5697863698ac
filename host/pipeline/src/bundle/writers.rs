//! Records which hook wrote which label or annotation. Hooks run in order and the last one wins. Two hooks that set one
//! label to different values are most often a mistake in their settings, so the user gets a warning.

use super::Identity;
use crate::Diagnostic;
use crate::bundle::codes;
use boson_document::{Pointer, Tree};
use std::collections::HashMap;

/// What hooks have written so far.
#[derive(Clone, Debug, Default)]
pub struct Writers {
    /// By object, and by the label's place in it.
    written: HashMap<Identity, HashMap<Pointer, Written>>,
}

#[derive(Clone, Debug)]
struct Written {
    /// The hook, as messages call it.
    by: String,
    value: Tree,
}

// === impl Writers ===

impl Writers {
    /// Records that the hook `by` turned `before` into `after`. Warns about labels that another hook had set to another
    /// value.
    pub fn note(&mut self, object: &Identity, before: Option<&Tree>, after: &Tree, by: &str) -> Vec<Diagnostic> {
        let mut places = Vec::new();
        labels(after, &mut Pointer::root(), &mut places);
        let written = self.written.entry(object.clone()).or_default();
        let mut warnings = Vec::new();
        for (place, value) in places {
            if before.and_then(|before| place.find(before)) == Some(value) {
                continue;
            }
            let earlier = written.get(&place).filter(|one| one.by != by && one.value != *value);
            warnings.extend(earlier.map(|earlier| conflict(object, &place, &earlier.by, by)));
            let value = value.clone();
            written.insert(place, Written { by: by.into(), value });
        }
        warnings
    }
}

/// The labels and annotations of an object and of the templates in it, with their places.
fn labels<'t>(tree: &'t Tree, place: &mut Pointer, found: &mut Vec<(Pointer, &'t Tree)>) {
    for (key, value) in tree.as_object().into_iter().flatten() {
        place.push(key);
        match key.as_str() {
            "metadata" => ["labels", "annotations"].iter().for_each(|kind| {
                let all = value.get(kind).and_then(Tree::as_object);
                let all = all.into_iter().flatten();
                found.extend(all.map(|(name, value)| (place.clone().at(kind).at(name), value)));
            }),
            _ => labels(value, place, found),
        }
        place.pop();
    }
}

fn conflict((_, kind, name): &Identity, place: &Pointer, first: &str, second: &str) -> Diagnostic {
    let [.., of, label] = place.tokens() else {
        return Diagnostic::warning(codes::BUNDLE_LABEL_CONFLICT, "");
    };
    let what = of.trim_end_matches('s');
    let message =
        format!("{kind} '{name}': {first} and {second} set {what} '{label}' to different values; {second} wins");
    Diagnostic::warning(codes::BUNDLE_LABEL_CONFLICT, message)
        .help("let one of the two plugins set it, or give both the same value in their settings")
}

//! Redacts the secrets in all texts of diagnostics. Which of them are constant cannot be seen here: a help text may
//! name what the manifest contains.

use super::matches::{self, Match};
use super::{Public, Secrets, redacted};
use crate::diagnostic::{Diagnostic, Place};
use crate::report::Sources;

// === impl Secrets ===

impl Secrets {
    /// Redacts the secrets in diagnostics: in all of their texts. `sources` contains the public texts.
    pub fn scrub(&self, mut diagnostics: Vec<Diagnostic>, sources: &Sources) -> Vec<Diagnostic> {
        let public = Public::of(sources);
        let texts: Vec<&str> = diagnostics.iter().flat_map(|one| parts(one, sources)).collect();
        let mut found = matches::find(&self.texts, &texts).into_iter();
        for one in &mut diagnostics {
            let count = parts(one, sources).count();
            let matches: Vec<Vec<Match>> = found.by_ref().take(count).collect();
            clean(one, &matches, &public, sources);
        }
        diagnostics
    }
}

/// The texts of a diagnostic. Names of documents are the user's own, unless a plugin invented them.
fn parts<'d>(one: &'d Diagnostic, sources: &Sources) -> impl Iterator<Item = &'d str> {
    let of_place = |place: &'d Place| {
        let document = place.document.as_deref().filter(|name| !sources.knows(name));
        [
            document.unwrap_or_default(),
            place.pointer.as_deref().unwrap_or_default(),
        ]
    };
    let related = one.related.iter().flat_map(move |related| {
        let [document, pointer] = of_place(&related.place);
        [document, pointer, related.message.as_str()]
    });
    let code = one.plugin.as_ref().map_or("", |_| one.code.as_str());
    [one.message.as_str(), one.help.as_deref().unwrap_or_default(), code]
        .into_iter()
        .chain(of_place(&one.place))
        .chain(related)
}

/// `found`: for each of the [`parts`].
fn clean(one: &mut Diagnostic, found: &[Vec<Match>], public: &Public<'_>, sources: &Sources) {
    let mut found = found.iter().map(Vec::as_slice);
    let mut next = |text: &mut String| {
        let cleaned = redacted(text, found.next().unwrap_or_default(), public);
        let changed = cleaned != *text;
        *text = cleaned;
        changed
    };
    let mut nothing = String::new();
    next(&mut one.message);
    next(one.help.as_mut().unwrap_or(&mut nothing));
    if next(&mut one.code) {
        one.code = "plugin-malformed-reply".to_string();
    }
    clean_place(&mut one.place, &mut next, sources);
    for related in &mut one.related {
        clean_place(&mut related.place, &mut next, sources);
        next(&mut related.message);
    }
}

fn clean_place(place: &mut Place, next: &mut impl FnMut(&mut String) -> bool, sources: &Sources) {
    let (before, mut nothing) = (place.clone(), String::new());
    next(place.document.as_mut().unwrap_or(&mut nothing));
    // Half of a pointer would point to another place.
    if next(place.pointer.as_mut().unwrap_or(&mut nothing)) {
        place.pointer = None;
        let located = sources.locate(&before);
        (place.line, place.column) = (located.line, located.column);
    }
}

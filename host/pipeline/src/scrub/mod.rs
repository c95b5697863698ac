//! Removes secret values from messages, in two ways (decision 8).
//!
//! [`Secrets`] knows the values of variables, generated or given, and finds them in every form in which a message can
//! contain them ([`views`], [`matches`]). [`Exception`] knows what a template's exception may quote, and removes the
//! rest: it needs no list of secrets, and also covers values that were computed from one.
//!
//! Neither removes what is [`Public`]: to redact a word that can be read in the manifest would only reveal that it is
//! the secret.

mod exception;
mod matches;
mod public;
mod views;
mod words;

pub use exception::Exception;
pub use public::Public;

use crate::diagnostic::{Diagnostic, Place};
use crate::report::Sources;
use boson_document::{Map, Tree};
use matches::Stretch;
use std::collections::BTreeSet;

/// Shorter values are not redacted: `8080` or `true` would make holes in every message.
const SHORTEST: usize = 6;

/// Replaces a removed text.
const INSTEAD: &str = "<redacted>";

/// Members of a resolved document that hold values of the manifest.
const VALUES: [&str; 4] = ["properties", "value", "env", "options"];

/// Members among them that the host computed, or that are names.
const COMPUTED: [&str; 6] = ["instances", "address", "domain", "name", "release", "instance_group"];

/// Members of a manifest that are names; objects and messages contain these names.
const NAMES: [&str; 11] = [
    "name",
    "release",
    "stemcell",
    "alias",
    "os",
    "az",
    "azs",
    "from",
    "as",
    "deployment",
    "instance_group",
];

/// The texts that must not be shown.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Folded, see [`views`].
    texts: BTreeSet<Vec<u8>>,
}

/// What messages are filtered with.
#[derive(Clone, Copy, Debug)]
pub struct Filter<'a> {
    /// What is known to be secret.
    pub secrets: &'a Secrets,
    /// What anybody may read.
    pub sources: &'a Sources,
}

// === impl Secrets ===

impl Secrets {
    /// All texts in the values of variables: an object of name -> value.
    ///
    /// A host or domain name is not a secret if the name of the variable says that it is a host or domain: names of
    /// objects contain it.
    pub fn of(values: &Tree) -> Self {
        let mut secrets = Self::default();
        match values {
            Tree::Object(map) => {
                for (name, value) in map {
                    let names_a_host = name.contains("domain") || name.contains("host");
                    match value.as_str() {
                        Some(text) if names_a_host && is_domain(text) => {}
                        _ => secrets.collect(value),
                    }
                }
            }
            other => secrets.collect(other),
        }
        secrets
    }

    /// All values in the properties of a document: it does not say which of them came from variables, so each may be a
    /// secret.
    pub fn suspected(document: &Tree) -> Self {
        let mut secrets = Self::default();
        secrets.suspect(document);
        secrets.except_names(document);
        secrets
    }

    /// Removes names in this document: a deployment, a group or a zone with the same name as a value is not a secret,
    /// and objects have its name.
    pub fn except_names(&mut self, document: &Tree) {
        match document {
            Tree::Array(items) => items.iter().for_each(|item| self.except_names(item)),
            Tree::Object(map) => {
                for (name, value) in map.iter().filter(|(name, _)| !VALUES.contains(&name.as_str())) {
                    match NAMES.contains(&name.as_str()) {
                        true => self.forget(value),
                        false => self.except_names(value),
                    }
                }
            }
            _ => {}
        }
    }

    /// A text or a list of texts.
    fn forget(&mut self, names: &Tree) {
        match names {
            Tree::String(name) => drop(self.texts.remove(&views::folded(name))),
            Tree::Array(items) => items.iter().for_each(|item| self.forget(item)),
            _ => {}
        }
    }

    /// Adds other secrets.
    pub fn add(&mut self, others: Self) {
        self.texts.extend(others.texts);
    }

    /// Removes these texts, which are not secrets.
    #[must_use]
    pub fn except<'t>(mut self, texts: impl IntoIterator<Item = &'t str>) -> Self {
        for text in texts {
            self.texts.remove(&views::folded(text));
        }
        self
    }

    /// Redacts the secrets in diagnostics. `sources` contains the public texts.
    ///
    /// Of the host's own diagnostics only the message is checked: their help texts never quote a value.
    pub fn scrub(&self, mut diagnostics: Vec<Diagnostic>, sources: &Sources) -> Vec<Diagnostic> {
        let public = Public::of(sources);
        let texts: Vec<&str> = diagnostics.iter().flat_map(parts).collect();
        let mut found = matches::find(&self.texts, &texts).into_iter();
        for one in &mut diagnostics {
            let count = parts(one).count();
            let stretches: Vec<Vec<Stretch>> = found.by_ref().take(count).collect();
            clean(one, &stretches, &public);
        }
        diagnostics
    }

    /// A document with its secrets redacted: in texts, in names of members, and in numbers, which become 0.
    /// `sources` contains the public texts.
    pub fn redact(&self, document: Tree, sources: &Sources) -> Tree {
        let mut texts = Vec::new();
        each_text(&document, &mut texts);
        let found = matches::find(&self.texts, &texts);
        let public = Public::of(sources);
        let cleaned: Vec<Option<String>> = texts
            .iter()
            .zip(&found)
            .map(|(text, stretches)| (!stretches.is_empty()).then(|| cut(text, stretches, &public)))
            .collect();
        replaced(document, &mut cleaned.into_iter())
    }

    /// Redacts the secrets in a text.
    fn scrub_text(&self, text: &str, sources: &Sources) -> String {
        let found = matches::find(&self.texts, &[text]);
        cut(text, found.first().map_or(&[], Vec::as_slice), &Public::of(sources))
    }

    fn collect(&mut self, tree: &Tree) {
        match tree {
            Tree::String(text) => self.text(text),
            Tree::Number(number) => {
                let text = number.text();
                if text.bytes().filter(u8::is_ascii_digit).count() >= SHORTEST {
                    self.texts.insert(views::folded(text));
                }
            }
            Tree::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Tree::Object(map) => map.values().for_each(|value| self.collect(value)),
            _ => {}
        }
    }

    /// Adds the text without lines like `-----BEGIN CERTIFICATE-----`, which are not secrets.
    fn text(&mut self, text: &str) {
        let mut part = String::new();
        for line in text.lines().chain(["-----"]) {
            if !line.starts_with("-----") {
                part.push_str(line);
                continue;
            }
            if part.len() >= SHORTEST {
                let folded = views::folded(&part);
                if folded.len() >= SHORTEST - 2 {
                    self.texts.insert(folded);
                }
            }
            part.clear();
        }
    }

    fn suspect(&mut self, tree: &Tree) {
        match tree {
            Tree::Array(items) => items.iter().for_each(|item| self.suspect(item)),
            Tree::Object(map) => {
                for (name, value) in map {
                    match VALUES.contains(&name.as_str()) {
                        true => self.values(value),
                        false => self.suspect(value),
                    }
                }
            }
            _ => {}
        }
    }

    fn values(&mut self, tree: &Tree) {
        match tree {
            Tree::Array(items) => items.iter().for_each(|item| self.values(item)),
            Tree::Object(map) => {
                let values = map.iter().filter(|(name, _)| !COMPUTED.contains(&name.as_str()));
                values.for_each(|(_, value)| self.values(value));
            }
            leaf => self.collect(leaf),
        }
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.texts.len())
    }
}

/// The texts of a diagnostic that may quote a value; if a foreign plugin wrote it, all texts.
fn parts(one: &Diagnostic) -> impl Iterator<Item = &str> {
    let place = [
        one.place.document.as_deref(),
        one.place.pointer.as_deref(),
        one.help.as_deref(),
    ];
    let related = one.related.iter().flat_map(|related| {
        let Place { document, pointer, .. } = &related.place;
        [document.as_deref(), pointer.as_deref(), Some(related.message.as_str())]
    });
    let foreign = place
        .into_iter()
        .chain(related)
        .map(|part| part.unwrap_or_default())
        .chain([one.code.as_str()]);
    std::iter::once(one.message.as_str()).chain(foreign.filter(|_| one.plugin.is_some()))
}

/// `found`: for each of the [`parts`].
fn clean(one: &mut Diagnostic, found: &[Vec<Stretch>], public: &Public<'_>) {
    let mut found = found.iter().map(Vec::as_slice);
    let mut next = |text: &mut String| {
        let cleaned = cut(text, found.next().unwrap_or_default(), public);
        let changed = cleaned != *text;
        *text = cleaned;
        changed
    };
    next(&mut one.message);
    if one.plugin.is_none() {
        return;
    }
    let mut nothing = String::new();
    next(one.place.document.as_mut().unwrap_or(&mut nothing));
    // Half of a pointer would point to another place.
    if next(one.place.pointer.as_mut().unwrap_or(&mut nothing)) {
        one.place.pointer = None;
    }
    next(one.help.as_mut().unwrap_or(&mut nothing));
    for related in &mut one.related {
        next(related.place.document.as_mut().unwrap_or(&mut nothing));
        if next(related.place.pointer.as_mut().unwrap_or(&mut nothing)) {
            related.place.pointer = None;
        }
        next(&mut related.message);
    }
    if next(&mut one.code) {
        one.code = "plugin-malformed-reply".to_string();
    }
}

/// The names, texts and numbers of a document, in its order.
fn each_text<'t>(tree: &'t Tree, texts: &mut Vec<&'t str>) {
    match tree {
        Tree::String(text) => texts.push(text),
        Tree::Number(number) => texts.push(number.text()),
        Tree::Array(items) => items.iter().for_each(|item| each_text(item, texts)),
        Tree::Object(map) => {
            for (name, value) in map {
                texts.push(name);
                each_text(value, texts);
            }
        }
        Tree::Null | Tree::Bool(_) => {}
    }
}

/// The document with other texts. `cleaned`: for each of [`each_text`], what replaces it.
fn replaced(tree: Tree, cleaned: &mut impl Iterator<Item = Option<String>>) -> Tree {
    match tree {
        Tree::String(text) => cleaned.next().flatten().unwrap_or(text).into(),
        Tree::Number(number) => match cleaned.next().flatten() {
            Some(text) if text != number.text() => 0i64.into(),
            _ => Tree::Number(number),
        },
        Tree::Array(items) => Tree::Array(items.into_iter().map(|item| replaced(item, cleaned)).collect()),
        Tree::Object(map) => {
            let mut members = Map::with_capacity(map.len());
            for (name, value) in map {
                let mut name = cleaned.next().flatten().unwrap_or(name);
                // Two names may differ only in what was removed.
                while members.contains_key(&name) {
                    name.push_str(INSTEAD);
                }
                members.insert(name, replaced(value, cleaned));
            }
            Tree::Object(members)
        }
        other => other,
    }
}

/// The text without these parts, unless they are public.
fn cut(text: &str, stretches: &[Stretch], public: &Public<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for stretch in stretches {
        let place = on_characters(text, stretch);
        if place.start < end || public.shows(text, &place, stretch.whole) {
            continue;
        }
        let between = &text[end..place.start];
        // Neighbors mostly belong to one value.
        let goes_on = out.ends_with(INSTEAD) && between.trim().is_empty();
        if !goes_on {
            out.push_str(between);
            out.push_str(INSTEAD);
        }
        end = place.end;
    }
    out.push_str(&text[end..]);
    out
}

fn on_characters(text: &str, stretch: &Stretch) -> std::ops::Range<usize> {
    let (mut start, mut end) = (stretch.place.start, stretch.place.end.min(text.len()));
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

fn is_domain(text: &str) -> bool {
    let label = |label: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.len() < 64 && label.chars().all(inner)
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() < 254
        && text.contains('.')
        && text.split('.').all(label)
        && last.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests;

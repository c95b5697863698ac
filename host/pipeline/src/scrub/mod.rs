//! Removes secret values from messages, in two ways (decision 8).
//!
//! [`Secrets`] knows the values of variables, generated or given, and finds them in every form in which a message can
//! contain them ([`views`], [`matches`](mod@matches)). [`Exception`] knows what a template's exception may quote, and
//! removes the rest: it needs no list of secrets, and also covers values that were computed from one.
//!
//! Neither removes what is [`Public`]: to redact a word that can be read in the manifest would only reveal that it is
//! the secret.

mod decoding;
mod diagnostics;
mod documents;
mod exception;
mod matches;
mod public;
mod views;
mod words;

pub use exception::Exception;
pub use public::Public;

use crate::report::Sources;
use crate::variables::suggests_secret;
use boson_document::Tree;
use matches::Match;
use std::collections::BTreeSet;

/// Shorter values are redacted only if a name suggests that they are secrets, and only as whole words: otherwise `8080`
/// or `true` would make holes in every message.
const MIN_UNNAMED_BYTES: usize = 6;

/// The shortest value that is redacted at all, in bytes.
const MIN_REDACTED_BYTES: usize = 3;

/// Members of generated values. All other names in a value may be secrets themselves.
const GENERATED_MEMBERS: [&str; 8] = [
    "ca",
    "certificate",
    "password",
    "password_hash",
    "private_key",
    "public_key",
    "public_key_fingerprint",
    "username",
];

/// Replaces a removed text.
const REPLACEMENT: &str = "<redacted>";

/// Members of a resolved document that hold values of the manifest.
const VALUE_MEMBERS: [&str; 4] = ["properties", "value", "env", "options"];

/// Members among them that the host computed, or that are names.
const COMPUTED_MEMBERS: [&str; 6] = ["instances", "address", "domain", "name", "release", "instance_group"];

/// Members of a manifest that are names; objects and messages contain these names.
const NAME_MEMBERS: [&str; 11] = [
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
                        _ => secrets.value(value, suggests_secret(name)),
                    }
                }
            }
            other => secrets.value(other, false),
        }
        secrets
    }

    /// All texts in generated values. A generated text is a secret whatever its variable is called, so even a short one
    /// is redacted.
    pub fn generated(values: &Tree) -> Self {
        let mut secrets = Self::of(values);
        let texts = values.as_object().into_iter().flatten().map(|(_, value)| value);
        texts
            .filter(|value| value.as_str().is_some())
            .for_each(|text| secrets.value(text, true));
        secrets
    }

    /// All values in the properties of a document: it does not say which of them came from variables, so each may be a
    /// secret.
    pub fn of_properties(document: &Tree) -> Self {
        let mut secrets = Self::default();
        secrets.add_properties(document);
        secrets.except_names(document);
        secrets
    }

    /// Removes names in this document: a deployment, a group or a zone with the same name as a value is not a secret,
    /// and objects have its name.
    pub fn except_names(&mut self, document: &Tree) {
        match document {
            Tree::Array(items) => items.iter().for_each(|item| self.except_names(item)),
            Tree::Object(map) => {
                for (name, value) in map.iter().filter(|(name, _)| !VALUE_MEMBERS.contains(&name.as_str())) {
                    if NAME_MEMBERS.contains(&name.as_str()) {
                        self.remove(value);
                    } else {
                        self.except_names(value);
                    }
                }
            }
            _ => {}
        }
    }

    /// A text or a list of texts.
    fn remove(&mut self, names: &Tree) {
        match names {
            Tree::String(name) => drop(self.texts.remove(&views::folded(name))),
            Tree::Array(items) => items.iter().for_each(|item| self.remove(item)),
            _ => {}
        }
    }

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

    fn scrub_text(&self, text: &str, sources: &Sources) -> String {
        let found = matches::find(&self.texts, &[text]);
        redacted(text, found.first().map_or(&[], Vec::as_slice), &Public::of(sources))
    }

    /// `promised`: its name suggests that it is a secret.
    fn value(&mut self, tree: &Tree, promised: bool) {
        match tree {
            Tree::String(text) => self.text(text, promised),
            Tree::Number(number) => {
                let text = number.text();
                if text.bytes().filter(u8::is_ascii_digit).count() >= min_secret_bytes(promised) {
                    self.texts.insert(views::folded(text));
                }
            }
            Tree::Array(items) => items.iter().for_each(|item| self.value(item, promised)),
            Tree::Object(map) => {
                for (name, value) in map {
                    if !GENERATED_MEMBERS.contains(&name.as_str()) {
                        self.text(name, false);
                    }
                    self.value(value, promised || suggests_secret(name));
                }
            }
            _ => {}
        }
    }

    /// Adds the text without lines like `-----BEGIN CERTIFICATE-----`, which are not secrets.
    fn text(&mut self, text: &str, promised: bool) {
        let shortest = min_secret_bytes(promised);
        let mut part = String::new();
        for line in text.lines().chain(["-----"]) {
            if !line.starts_with("-----") {
                part.push_str(line);
                continue;
            }
            if part.len() >= shortest {
                let folded = views::folded(&part);
                if folded.len() >= shortest.min(MIN_UNNAMED_BYTES - 2) {
                    self.texts.insert(folded);
                }
            }
            part.clear();
        }
    }

    fn add_properties(&mut self, tree: &Tree) {
        match tree {
            Tree::Array(items) => items.iter().for_each(|item| self.add_properties(item)),
            Tree::Object(map) => {
                for (name, value) in map {
                    if VALUE_MEMBERS.contains(&name.as_str()) {
                        self.property(value, false);
                    } else {
                        self.add_properties(value);
                    }
                }
            }
            _ => {}
        }
    }

    /// Names here are those of properties, but also those in their values, which the job spec does not declare.
    fn property(&mut self, tree: &Tree, promised: bool) {
        match tree {
            Tree::Array(items) => items.iter().for_each(|item| self.property(item, promised)),
            Tree::Object(map) => {
                for (name, value) in map
                    .iter()
                    .filter(|(name, _)| !COMPUTED_MEMBERS.contains(&name.as_str()))
                {
                    if !is_name(name) {
                        self.text(name, false);
                    }
                    self.property(value, promised || suggests_secret(name));
                }
            }
            leaf => self.value(leaf, promised),
        }
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.texts.len())
    }
}

/// The text without these parts, unless they are public.
fn redacted(text: &str, matches: &[Match], public: &Public<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for one in matches {
        let place = text.floor_char_boundary(one.place.start)..text.ceil_char_boundary(one.place.end);
        if place.start < end || public.shows(text, &place, one.certain) {
            continue;
        }
        let between = &text[end..place.start];
        // Neighbors mostly belong to one value.
        let goes_on = out.ends_with(REPLACEMENT) && between.trim().is_empty();
        if !goes_on {
            out.push_str(between);
            out.push_str(REPLACEMENT);
        }
        end = place.end;
    }
    out.push_str(&text[end..]);
    out
}

fn min_secret_bytes(promised: bool) -> usize {
    if promised {
        MIN_REDACTED_BYTES
    } else {
        MIN_UNNAMED_BYTES
    }
}

/// Letters, digits and what joins them in the name of a property or a label.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
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

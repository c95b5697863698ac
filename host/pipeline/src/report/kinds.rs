//! Groups diagnostics that differ only in a place or a name, so that a person reads them once.
//!
//! A large manifest has `vm_type` in every group: seventeen warnings of five lines each would hide the one that
//! matters. Errors are grouped only if their messages are the same, since each has to be fixed.

use crate::diagnostic::{Diagnostic, Severity};
use boson_document::SUGGESTION;
use indexmap::IndexMap;
use std::collections::HashSet;

/// Diagnostics of one kind, in order, at least one. The first is shown in full.
type Kind<'d> = Vec<&'d Diagnostic>;

/// What the diagnostics of a kind have in common.
#[derive(PartialEq, Eq, Hash)]
struct Key<'d> {
    severity: Severity,
    code: &'d str,
    message: String,
    help: Option<String>,
}

/// Warnings and notes by kind, ignoring their help texts: for a summary. Each misspelt name is a kind of its own,
/// because its help text names the one that is meant.
pub(super) fn coarse<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> Vec<Kind<'d>> {
    grouped(diagnostics, |diagnostic| Key {
        severity: diagnostic.severity,
        code: &diagnostic.code,
        message: without_numbers(&without_names(&diagnostic.message)),
        help: diagnostic.help.clone().filter(|help| help.starts_with(SUGGESTION)),
    })
}

/// Diagnostics by this key, errors first.
fn grouped<'d>(
    diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
    key: impl Fn(&'d Diagnostic) -> Key<'d>,
) -> Vec<Kind<'d>> {
    let mut kinds: IndexMap<Key<'d>, Kind<'d>> = IndexMap::new();
    for diagnostic in diagnostics {
        kinds.entry(key(diagnostic)).or_default().push(diagnostic);
    }
    let mut kinds: Vec<_> = kinds.into_values().collect();
    // So that no user has to scroll past two hundred warnings to find out what failed.
    kinds.sort_by_key(|kind| kind[0].severity);
    kinds
}

/// The names by which the messages of a kind differ, each once, in order; empty if all are the same.
pub(super) fn names(kind: &[&Diagnostic]) -> Vec<String> {
    let quoted: Vec<Vec<&str>> = kind.iter().map(|one| quoted(&one.message)).collect();
    let differs = |at: &usize| quoted.iter().any(|names| names.get(*at) != quoted[0].get(*at));
    let varying: Vec<usize> = (0..quoted[0].len()).filter(differs).collect();
    let name = |names: &Vec<&str>| {
        let parts: Vec<&str> = varying.iter().filter_map(|at| names.get(*at).copied()).collect();
        parts.join("/")
    };
    let mut seen = HashSet::new();
    let names = quoted.iter().map(name).filter(|name| !name.is_empty());
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// The text without words that begin with a digit: versions, sizes, counts.
fn without_numbers(text: &str) -> String {
    let word = |word: &str| {
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            "0".to_string()
        } else {
            word.to_string()
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The texts in single quotes, in order.
fn quoted(text: &str) -> Vec<&str> {
    text.split('\'').skip(1).step_by(2).collect()
}

/// All diagnostics, errors first, each in exactly one kind.
pub(super) fn kinds(diagnostics: &[Diagnostic]) -> Vec<Kind<'_>> {
    grouped(diagnostics, key)
}

fn key(diagnostic: &Diagnostic) -> Key<'_> {
    let alike: fn(&str) -> String = match diagnostic.severity {
        Severity::Error => str::to_owned,
        Severity::Warning | Severity::Info => without_names,
    };
    Key {
        severity: diagnostic.severity,
        code: &diagnostic.code,
        message: alike(&diagnostic.message),
        help: diagnostic.help.as_deref().map(|help| {
            if help.starts_with(SUGGESTION) {
                help.to_owned()
            } else {
                alike(help)
            }
        }),
    }
}

/// The text without its parts in single quotes: the names that it is about.
fn without_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, quoted)) = rest.split_once('\'') {
        out.push_str(before);
        // No closing quote: an apostrophe, which belongs to the text.
        let Some((_, after)) = quoted.split_once('\'') else {
            out.push_str(quoted);
            return out;
        };
        out.push_str("''");
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic_of(severity: Severity, message: &str) -> Diagnostic {
        Diagnostic {
            severity,
            ..Diagnostic::reported_error("code", message)
        }
    }

    fn sizes(diagnostics: &[Diagnostic]) -> Vec<(&str, usize)> {
        let kinds = kinds(diagnostics);
        kinds
            .iter()
            .map(|kind| (kind[0].message.as_str(), kind.len() - 1))
            .collect()
    }

    #[test]
    fn warnings_of_one_kind_are_grouped_and_none_is_lost() {
        let warn = |message: &str| diagnostic_of(Severity::Warning, message);
        let all = [
            warn("Key 'a' has no effect"),
            warn("other"),
            warn("Key 'b' has no effect"),
            warn("it's one"),
            warn("it's two"),
        ];
        assert_eq!(
            sizes(&all),
            [
                ("Key 'a' has no effect", 1),
                ("other", 0),
                ("it's one", 0),
                ("it's two", 0)
            ]
        );
    }

    #[test]
    fn different_suggestions_are_never_grouped() {
        let warn = |name: &str, near: &str| {
            let message = format!("Key '{name}' is not known");
            diagnostic_of(Severity::Warning, &message).suggest(name, [near])
        };
        let all = [warn("nmae", "name"), warn("jbos", "jobs"), warn("jbos", "jobs")];
        assert_eq!(coarse(&all).len(), 2);
        assert_eq!(
            sizes(&all),
            [("Key 'nmae' is not known", 0), ("Key 'jbos' is not known", 1)]
        );
    }

    #[test]
    fn a_summary_lists_the_names_that_differ() {
        let warn = |message: &str| diagnostic_of(Severity::Warning, message).help(message);
        let all = [
            warn("Volume 'a' of 'x' is new"),
            warn("Volume 'b' of 'x' is new"),
            warn("Volume 'b' of 'x' is new"),
        ];
        let versions = [warn("'a' is version 1.2, not 3"), warn("'b' is version 40, not 5.6")];
        assert_eq!(coarse(&versions).len(), 1);
        let kinds = coarse(&all);
        assert_eq!(kinds.len(), 1);
        assert_eq!(names(&kinds[0]), ["a", "b"]);
        assert_eq!(names(&coarse(&all[1..])[0]), [""; 0]);
    }

    #[test]
    fn errors_come_first_and_are_grouped_only_if_their_words_are_the_same() {
        let all = [
            diagnostic_of(Severity::Warning, "w"),
            diagnostic_of(Severity::Error, "no 'a'"),
            diagnostic_of(Severity::Error, "no 'b'"),
            diagnostic_of(Severity::Error, "no 'a'"),
        ];
        assert_eq!(sizes(&all), [("no 'a'", 1), ("no 'b'", 0), ("w", 0)]);
    }
}

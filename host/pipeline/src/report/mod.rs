//! Diagnostics as text for people: what is wrong, file, line and column, the line itself, and the next step.
//!
//! Guarantees: of a document that was registered as secret, only places are shown, no text; no control character of a
//! document, a plugin or a user reaches the terminal; every diagnostic has a limited number of columns per line.

pub mod clean;
mod excerpt;
mod kinds;
mod paint;
mod path;
mod sources;

pub use sources::{Located, Sources};

use crate::diagnostic::{Diagnostic, Place, Related, Severity};
use crate::listing::first_of;
use excerpt::Excerpt;
use paint::Paint;
use serde::Serialize;
use std::collections::HashSet;

/// A diagnostic for programs, its place resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    /// Stable code.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// Document; of a file, its path as the user gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column, from 1, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The place in the document, as an ops file would name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// The diagnostics for programs.
pub fn entries(diagnostics: &[Diagnostic], sources: &Sources) -> Vec<Entry> {
    let entry = |diagnostic: &Diagnostic| {
        let located = sources.locate(&diagnostic.place);
        Entry {
            severity: severity(diagnostic.severity),
            code: clean::line(&diagnostic.code),
            message: clean::text(&diagnostic.sentence()),
            file: located.file,
            line: located.line,
            column: located.column,
            path: located.path,
            help: diagnostic.help.as_deref().map(clean::text),
        }
    };
    diagnostics.iter().map(entry).collect()
}

/// The diagnostics for people, errors first, an empty line after each. Those that differ only in their place are shown
/// once, with all places.
pub fn text(diagnostics: &[Diagnostic], sources: &Sources, color: bool) -> String {
    let mut out = String::new();
    for kind in kinds::kinds(diagnostics) {
        let first = kind[0];
        let paint = Paint::new(color, first.severity);
        one(first, &sources.locate(&first.place), paint, &mut out);
        related(first, sources, paint, &mut out);
        others(first, &kind[1..], sources, paint, &mut out);
        out.push('\n');
    }
    out
}

/// Like [`text`], but with one entry for each kind of warnings and notes: its message, their number, and the first
/// places.
pub fn summary(diagnostics: &[Diagnostic], sources: &Sources, color: bool) -> String {
    let (errors, others): (Vec<&Diagnostic>, Vec<&Diagnostic>) = diagnostics.iter().partition(|one| one.is_error());
    let errors: Vec<Diagnostic> = errors.into_iter().cloned().collect();
    let mut out = text(&errors, sources, color);
    for kind in kinds::coarse(others) {
        short(&kind, sources, Paint::new(color, kind[0].severity), &mut out);
        out.push('\n');
    }
    out
}

/// Number of kinds of warnings and notes in a summary.
pub fn kinds_of_warnings(diagnostics: &[Diagnostic]) -> usize {
    let warnings = diagnostics.iter().filter(|one| one.severity == Severity::Warning);
    kinds::coarse(warnings).len()
}

/// Number of places, or names, of a kind that a summary shows.
const MAX_SHOWN_PLACES: usize = 3;

fn short(kind: &[&Diagnostic], sources: &Sources, paint: Paint, out: &mut String) {
    let first = kind[0];
    let times = match kind.len() {
        1 => String::new(),
        count => format!(" ({count} times)"),
    };
    let message = clean::text(&first.sentence()).replace('\n', "\n  ");
    out.push_str(&format!("{}{times}\n", head(first, &message, paint)));
    let names = kinds::names(kind);
    if names.len() > 1 {
        let quoted = names.iter().map(|name| format!("'{}'", clean::line(name)));
        let listed = first_of(&quoted.collect::<Vec<_>>(), MAX_SHOWN_PLACES, " and ");
        out.push_str(&format!("  {} {}{listed}\n", paint.frame("="), paint.strong("for: ")));
    }
    let places = places(kind, sources);
    if !places.is_empty() {
        let listed = first_of(&places, MAX_SHOWN_PLACES, " and ");
        out.push_str(&format!(" {} {listed}\n", paint.frame("-->")));
    }
    if let Some(help) = &first.help {
        out.push_str(&note(" ", "help", help, paint));
    }
}

/// The places of a kind, each once; the file is named where it changes.
fn places(kind: &[&Diagnostic], sources: &Sources) -> Vec<String> {
    let (mut shown, mut out, mut before) = (HashSet::new(), Vec::new(), None);
    for one in kind {
        let located = sources.locate(&one.place);
        let Some(file) = located.file.clone() else { continue };
        let whole = place(&file, &located);
        if !shown.insert(whole.clone()) {
            continue;
        }
        let short = whole.strip_prefix(&format!("{}:", clean::line(&file)));
        match short.filter(|_| before.as_ref() == Some(&file)) {
            Some(short) => out.push(short.to_string()),
            None => out.push(whole),
        }
        before = Some(file);
    }
    out
}

/// A line for each further diagnostic of a kind: its place, and its message if it differs.
fn others(first: &Diagnostic, others: &[&Diagnostic], sources: &Sources, paint: Paint, out: &mut String) {
    if others.is_empty() {
        return;
    }
    let count = paint.strong(&format!("{} more like this:", others.len()));
    out.push_str(&format!("  {} {count}\n", paint.frame("=")));
    for other in others {
        let located = sources.locate(&other.place);
        let file = located.file.as_deref().unwrap_or_default();
        let mut line = place(file, &located);
        let path = located.path.as_deref().map(clean::line);
        if let Some(path) = path.filter(|_| other.message == first.message) {
            line.push_str(&format!("  {path}"));
        } else if other.message != first.message {
            line.push_str(&format!("  {}", clean::line(&other.sentence())));
        }
        out.push_str(&format!("    {} {line}\n", paint.frame("-->")));
    }
}

/// Severity, code and message of a diagnostic.
fn head(diagnostic: &Diagnostic, message: &str, paint: Paint) -> String {
    let kind = format!("{}[{}]", severity(diagnostic.severity), clean::line(&diagnostic.code));
    paint.severity(&kind) + &paint.strong(&format!(": {message}"))
}

/// A text below a diagnostic, whose lines begin in the same column.
fn note(gutter: &str, word: &str, text: &str, paint: Paint) -> String {
    let text = clean::text(text).replace('\n', &format!("\n{gutter}         "));
    let word = paint.strong(&format!("{word}: "));
    format!("{gutter} {} {word}{text}\n", paint.frame("="))
}

fn one(diagnostic: &Diagnostic, located: &Located, paint: Paint, out: &mut String) {
    let message = clean::text(&diagnostic.sentence());
    let (first, more) = message.split_once('\n').unwrap_or((message.as_str(), ""));
    out.push_str(&head(diagnostic, first, paint));
    out.push('\n');
    for line in more.lines() {
        out.push_str(&format!("  {line}\n"));
    }
    let gutter = shown(located, paint, out);
    for (word, text) in [("path", &located.path), ("help", &diagnostic.help)] {
        let Some(text) = text else { continue };
        out.push_str(&note(&gutter, word, text, paint));
    }
}

/// A place, and the line that is there, as in a diagnostic without colors.
pub fn located(place: &Place, sources: &Sources) -> String {
    let mut out = String::new();
    shown(&sources.locate(place), Paint::new(false, Severity::Info), &mut out);
    out
}

/// Writes a place, and the line that is there. Returns the indentation of what follows.
fn shown(located: &Located, paint: Paint, out: &mut String) -> String {
    let number = located
        .excerpt
        .as_ref()
        .and(located.line)
        .map_or(" ".to_string(), |line| line.to_string());
    let gutter = " ".repeat(number.len());
    if let Some(file) = &located.file {
        out.push_str(&format!("{gutter}{} {}\n", paint.frame("-->"), place(file, located)));
    }
    if let Some(line) = &located.excerpt {
        let Excerpt { shown, before, under } = Excerpt::of(line, located.column.unwrap_or(1), located.length);
        let (bar, carets) = (paint.frame("|"), paint.severity(&"^".repeat(under)));
        out.push_str(&format!("{gutter} {bar}\n"));
        out.push_str(&format!("{} {bar} {shown}\n", paint.frame(&number)));
        out.push_str(&format!("{gutter} {bar} {}{carets}\n", " ".repeat(before)));
    }
    gutter
}

/// The other places that a diagnostic refers to, each with what is there.
fn related(diagnostic: &Diagnostic, sources: &Sources, paint: Paint, out: &mut String) {
    for Related { place: at, message } in &diagnostic.related {
        out.push_str(&note(" ", "note", message, paint));
        let located = sources.locate(at);
        let Some(file) = &located.file else { continue };
        let path = located.path.as_deref().map(clean::line);
        let path = path.map(|path| format!("  {path}")).unwrap_or_default();
        out.push_str(&format!("    {} {}{path}\n", paint.frame("-->"), place(file, &located)));
    }
}

fn place(file: &str, located: &Located) -> String {
    let mut place = clean::line(file);
    for number in [located.line, located.line.and(located.column)].into_iter().flatten() {
        place.push_str(&format!(":{number}"));
    }
    place
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

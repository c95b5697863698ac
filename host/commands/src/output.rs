//! The only module that writes to standard output and standard error.

use boson_pipeline::report::{self, Sources};
use boson_pipeline::{Diagnostic, Severity};
use clap::ValueEnum;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::HashSet;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

/// When to color.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

// === impl Color ===

impl Color {
    /// Whether to color messages on standard error.
    pub fn enabled(self) -> bool {
        self.enabled_on(&std::io::stderr())
    }

    /// Whether to color the result on standard output.
    pub fn enabled_on_output(self) -> bool {
        self.enabled_on(&std::io::stdout())
    }

    fn enabled_on(self, stream: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
                stream.is_terminal() && !refused && !dumb
            }
        }
    }
}

/// The reader of standard output has closed it. Other streams, such as a connection to the API server, break, too.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub struct OutputClosedError;

/// Writes to standard output.
///
/// # Errors
/// The stream is closed ([`OutputClosedError`]) or full.
pub fn print(text: &str) -> std::io::Result<()> {
    write(text.as_bytes())
}

/// Writes bytes of another program to standard output.
///
/// # Errors
/// The stream is closed ([`OutputClosedError`]) or full.
pub fn write(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => std::io::Error::new(ErrorKind::BrokenPipe, OutputClosedError),
        _ => error,
    })
}

/// Writes to standard error; errors are ignored.
pub fn eprint(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes what another program has written to standard error; errors are ignored.
pub fn eprint_bytes(text: &[u8]) {
    let _ = std::io::stderr().lock().write_all(text);
}

/// How warnings are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Warnings {
    /// Every warning with its place and line
    All,
    /// One entry for each kind: its message, how many there are, the first places
    #[default]
    Summary,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// Shows diagnostics on standard error, and counts them in a last line where there are several.
pub fn show(diagnostics: &[Diagnostic], sources: &Sources, color: Color) {
    show_as(diagnostics, sources, color, Warnings::All);
}

/// Shows diagnostics, with warnings in this style.
pub fn show_as(diagnostics: &[Diagnostic], sources: &Sources, color: Color, style: Warnings) {
    if diagnostics.is_empty() {
        return;
    }
    let diagnostics = &deduplicate(diagnostics);
    let mut text = match style {
        Warnings::All => report::text(diagnostics, sources, color.enabled()),
        Warnings::Summary => report::summary(diagnostics, sources, color.enabled()),
    };
    let errors = diagnostics.iter().filter(|one| one.is_error()).count();
    let warnings = diagnostics
        .iter()
        .filter(|one| one.severity == Severity::Warning)
        .count();
    if errors + warnings > 1 {
        text.push_str(&count_text(errors, warnings));
        let kinds = report::kinds_of_warnings(diagnostics);
        if style == Warnings::Summary && warnings > kinds {
            let of = if kinds == 1 { "kind" } else { "kinds" };
            text.push_str(&format!(" of {kinds} {of}; --warnings all shows each"));
        }
        text.push('\n');
    }
    eprint(&text);
}

/// Removes duplicates: two stages may report the same.
fn deduplicate(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut seen = HashSet::new();
    let key = |one: &Diagnostic| (one.code.clone(), one.message.clone(), format!("{:?}", one.place));
    diagnostics
        .iter()
        .filter(|one| seen.insert(key(one)))
        .cloned()
        .collect()
}

fn count_text(errors: usize, warnings: usize) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, warnings) => plural(warnings, "warning"),
        (errors, 0) => plural(errors, "error"),
        (errors, warnings) => format!("{}, {}", plural(errors, "error"), plural(warnings, "warning")),
    }
}

/// A progress line; hidden without a terminal.
pub struct Progress(Line);

// === impl Progress ===

impl Progress {
    /// Shown after a delay, so that quick commands show none.
    pub fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(Line(ProgressBar::hidden()));
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(Line(bar))
    }

    /// Whether there is a terminal.
    pub fn is_shown(&self) -> bool {
        !self.0.0.is_hidden()
    }

    pub fn say(&self, what: &str) {
        self.0.0.set_message(what.to_string());
    }

    /// Writes something else above it.
    pub fn pause<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.0.suspend(write)
    }
}

/// Progress lines, one for each item in progress; only on a terminal.
pub struct Bars(Option<MultiProgress>);

/// A progress line; erased when its last handle is dropped. Hidden without a terminal.
#[derive(Clone)]
pub struct Bar(Arc<Line>);

/// Erases its line when dropped.
struct Line(ProgressBar);

// === impl Bars ===

impl Bars {
    /// Starts without progress lines.
    pub fn start() -> Self {
        Self(std::io::stderr().is_terminal().then(MultiProgress::new))
    }

    pub fn bar(&self, title: &str) -> Bar {
        let Some(all) = &self.0 else {
            return Bar(Arc::new(Line(ProgressBar::hidden())));
        };
        let bar = all.add(ProgressBar::new_spinner());
        bar.set_prefix(title.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Bar(Arc::new(Line(bar)))
    }

    /// Writes something else between them.
    pub fn pause<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(all) => all.suspend(write),
            None => write(),
        }
    }

    /// Erases what is left.
    pub fn end(&self) {
        if let Some(all) = &self.0 {
            // A closed terminal needs no cleaning.
            let _ = all.clear();
        }
    }
}

// === impl Bar ===

impl Bar {
    /// Sets the text, and the total number of bytes.
    pub fn phase(&self, what: &str, whole: Option<u64>) {
        let Line(bar) = &*self.0;
        bar.set_message(what.to_owned());
        bar.set_position(0);
        self.0.measure(whole);
    }

    /// Adds this many bytes to the progress.
    pub fn advance(&self, bytes: u64) {
        self.0.0.inc(bytes);
    }

    /// Sets the number of bytes, and the total.
    pub fn set(&self, bytes: u64, whole: Option<u64>) {
        let Line(bar) = &*self.0;
        if bar.length() != whole {
            self.0.measure(whole);
        }
        bar.set_position(bytes);
    }
}

// === impl Line ===

impl Line {
    fn measure(&self, whole: Option<u64>) {
        let template = match whole {
            Some(_) => "{spinner} {prefix:24!} {msg:20} {bar:24} {bytes}/{total_bytes}",
            None => "{spinner} {prefix:24!} {msg:20} {bytes}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
        match whole {
            Some(whole) => self.0.set_length(whole),
            None => self.0.unset_length(),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Before anything else is written to the terminal: a half-erased line would garble it.
        self.0.finish_and_clear();
    }
}

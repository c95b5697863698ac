//! Checks the reply of a plugin against the contract: it is untrusted text that may refer only to the plugin's input.

use crate::bindings::boson::types::types as wit;
use crate::codes;
use crate::error::FailureKind;
use crate::plugin::Plugin;
use boson_document::contract::REQUIRED;
use boson_document::{Pointer, Tree, json};
use boson_pipeline::stage::{Reply, StageError, fail_on_errors};
use boson_pipeline::{Diagnostic, Place, Severity};

/// Most diagnostics of one reply; the others are dropped.
const MAX_DIAGNOSTICS: usize = 500;
/// Characters of a document that may separate values: a tree takes a hundred times the bytes of its text, and a plugin
/// must not exhaust the host's memory with a reply.
const MAX_SEPARATORS: usize = 2_000_000;
/// Bytes of one text of a diagnostic.
const MAX_TEXT: usize = 16 << 10;
/// Bytes of a code.
const MAX_CODE: usize = 80;

/// A reply that is being read.
pub(crate) struct Reading<'a> {
    plugin: &'a Plugin,
    /// Names of the documents that the call passed.
    documents: Vec<&'a str>,
}

// === impl Reading ===

impl<'a> Reading<'a> {
    /// Checks replies of a call of `plugin` that passed these documents.
    pub(crate) fn of(plugin: &'a Plugin, documents: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            plugin,
            documents: documents.into_iter().collect(),
        }
    }

    /// The plugin broke the contract in this way.
    pub(crate) fn malformed(&self, what: impl std::fmt::Display) -> StageError {
        self.plugin.malformed(what).stage_error()
    }

    /// A document of the reply.
    pub(crate) fn document(&self, what: &str, text: &str) -> Result<Tree, StageError> {
        let separates = |byte: &u8| matches!(byte, b',' | b':' | b'[' | b'{');
        if text.bytes().filter(separates).count() > MAX_SEPARATORS {
            let message = format!("returned a reply that is too large: `{what}` has too many values");
            return Err(self.plugin.failure(FailureKind::OverOutput, message).stage_error());
        }
        json::parse(text).map_err(|error| self.malformed(format!("`{what}` is not JSON: {error}")))
    }

    /// Several documents of the reply.
    pub(crate) fn documents(&self, what: &str, texts: &[String]) -> Result<Vec<Tree>, StageError> {
        texts.iter().map(|text| self.document(what, text)).collect()
    }

    /// A pointer of the reply.
    pub(crate) fn pointer(&self, what: &str, text: &str) -> Result<(), StageError> {
        match text.len() <= MAX_TEXT && Pointer::parse(text).is_some() {
            true => Ok(()),
            false => Err(self.malformed(format!("`{what}` is not a JSON pointer"))),
        }
    }

    /// The name of a document that the call passed.
    pub(crate) fn passed(&self, what: &str, name: &str) -> Result<(), StageError> {
        match self.documents.contains(&name) {
            true => Ok(()),
            false => Err(self.malformed(format!("`{what}` names a document that the call did not pass"))),
        }
    }

    /// Checks that names in the reply are these, in this order.
    pub(crate) fn names<'n>(
        &self,
        what: &str,
        found: impl Iterator<Item = &'n str>,
        wanted: impl Iterator<Item = &'n str>,
    ) -> Result<(), StageError> {
        let (found, wanted): (Vec<_>, Vec<_>) = (found.collect(), wanted.collect());
        if found.len() != wanted.len() {
            let (found, wanted) = (found.len(), wanted.len());
            return Err(self.malformed(format!("it has {found} {what} where there should be {wanted}")));
        }
        let differs = found.iter().zip(&wanted).find(|(found, wanted)| found != wanted);
        differs.map_or(Ok(()), |(_, wanted)| {
            Err(self.malformed(format!("in the place of '{wanted}', its {what} have another name")))
        })
    }

    /// The value with its warnings, or the user's errors.
    pub(crate) fn reply<T>(&self, value: T, diagnostics: Vec<wit::Diagnostic>, more: &[wit::Member]) -> Reply<T> {
        self.members(more)?;
        fail_on_errors(value, self.diagnostics(diagnostics)?)
    }

    /// `err(list<diagnostic>)`. A failure without an error diagnostic breaks the contract.
    pub(crate) fn refusal(&self, diagnostics: Vec<wit::Diagnostic>) -> StageError {
        match self.diagnostics(diagnostics) {
            Ok(diagnostics) if diagnostics.iter().any(Diagnostic::is_error) => StageError::Input(diagnostics),
            Ok(_) => self.malformed("it failed without an error diagnostic that says why"),
            Err(error) => error,
        }
    }

    /// Additional members of one of the reply's records.
    pub(crate) fn members(&self, more: &[wit::Member]) -> Result<(), StageError> {
        unknown(more).map_or(Ok(()), |what| Err(self.malformed(format!("it {what}"))))
    }

    fn diagnostics(&self, mut all: Vec<wit::Diagnostic>) -> Result<Vec<Diagnostic>, StageError> {
        let more = all.len().saturating_sub(MAX_DIAGNOSTICS);
        all.truncate(MAX_DIAGNOSTICS);
        let kept: Result<Vec<Diagnostic>, StageError> =
            all.into_iter().map(|diagnostic| self.diagnostic(diagnostic)).collect();
        let mut kept = kept?;
        if more > 0 {
            kept.push(Diagnostic::warning(
                codes::PLUGIN_MANY_DIAGNOSTICS,
                format!("{more} more diagnostics are not shown"),
            ));
        }
        Ok(kept)
    }

    /// Texts stay unchanged, with control characters, because the filter for secrets compares them with values. They
    /// are cleaned when they are shown.
    fn diagnostic(&self, diagnostic: wit::Diagnostic) -> Result<Diagnostic, StageError> {
        self.members(&diagnostic.more)?;
        let stage = self.plugin.stage;
        if !is_code(&diagnostic.code, stage.name()) {
            return Err(self.malformed(format!(
                "the code of a diagnostic is not `{stage}-` and lower-case words joined by `-`"
            )));
        }
        if let Some(name) = &diagnostic.document {
            self.passed("document", name)?;
        }
        if let Some(pointer) = &diagnostic.pointer {
            self.pointer("pointer", pointer)?;
        }
        let severity = match diagnostic.severity {
            wit::Severity::Error => Severity::Error,
            wit::Severity::Warning => Severity::Warning,
            wit::Severity::Info => Severity::Info,
        };
        Ok(Diagnostic {
            severity,
            code: diagnostic.code,
            message: bounded(diagnostic.message),
            place: Place {
                document: diagnostic.document,
                pointer: diagnostic.pointer,
                line: diagnostic.line,
                column: None,
            },
            help: diagnostic.help.map(bounded),
            follows: diagnostic.follows.map(bounded),
            plugin: self.plugin.is_foreign().then(|| self.plugin.called()),
        })
    }
}

/// What is wrong if one of these members must be known, because this host knows none.
pub(crate) fn unknown(more: &[wit::Member]) -> Option<String> {
    let required = more.iter().find(|member| member.name.starts_with(REQUIRED))?;
    let name = required.name.chars().filter(char::is_ascii_graphic).take(MAX_CODE);
    let name: String = name.collect();
    Some(format!("requires '{name}', which this host does not know"))
}

fn is_code(code: &str, stage: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let rest = code.strip_prefix(stage).and_then(|rest| rest.strip_prefix('-'));
    code.len() <= MAX_CODE && rest.is_some_and(|rest| rest.split('-').all(word))
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let cut = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(cut);
        text.push('…');
    }
    text
}

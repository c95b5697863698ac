//! Checks the reply of a plugin against the contract: it is untrusted text that may refer only to the plugin's input.

use crate::bindings::boson::types::types as wit;
use crate::call::exception;
use crate::engine::Sandbox;
use crate::error::codes;
use crate::error::{Error, ErrorKind, cut};
use crate::plugin::Plugin;
use crate::plugin::description::words;
use boson_contract::bindings::{FromWit, Reader};
use boson_document::contract::REQUIRED;
use boson_document::{Pointer, Tree, json};
use boson_pipeline::diagnostic::Related;
use boson_pipeline::stage::{Call, MANIFEST, Reply, StageError, fail_on_errors};
use boson_pipeline::{Diagnostic, Place, Severity, Stage};
use std::cell::Cell;

/// Most diagnostics of one reply; the others are dropped.
const MAX_DIAGNOSTICS: usize = 500;
/// Characters of all documents of a reply that may separate values: a tree takes a hundred times the bytes of its text,
/// and a plugin must not exhaust the host's memory with a reply.
const MAX_SEPARATORS: usize = 2_000_000;
/// Bytes of one text of a diagnostic.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// Bytes of a code.
const MAX_CODE_BYTES: usize = 160;
/// Most related places of one diagnostic; the others are dropped.
const MAX_RELATED: usize = 16;

/// A reply that is being read.
pub(crate) struct Reading<'a> {
    sandbox: &'a Sandbox,
    plugin: &'a Plugin,
    /// Names of the documents that the call passed.
    documents: Vec<&'a str>,
    /// Objects that the call passed.
    objects: &'a [Tree],
    /// The name of the document that the call passed as [`MANIFEST`].
    manifest: Option<&'a str>,
    /// Characters that separate values in the documents read so far.
    separators: Cell<usize>,
}

// === impl Reading ===

impl Reader for Reading<'_> {
    type Error = StageError;

    fn document(&self, member: &'static str, text: &str) -> Result<Tree, StageError> {
        let separates = |byte: &u8| matches!(byte, b',' | b':' | b'[' | b'{');
        let found = self.separators.get() + text.bytes().filter(separates).count();
        self.separators.set(found);
        if found > MAX_SEPARATORS {
            let message = format!("returned a reply that is too large: with `{member}` it has too many values");
            return Err(self.failed(self.plugin.failure(ErrorKind::OverOutput, message)));
        }
        json::parse(text).map_err(|error| self.malformed(format!("`{member}` is not JSON: {error}")))
    }

    fn more<'m>(&self, names: impl Iterator<Item = &'m str>) -> Result<(), StageError> {
        unknown_members(names).map_or(Ok(()), |what| Err(self.malformed(format!("it {what}"))))
    }
}

impl<'a> Reading<'a> {
    /// Checks replies of this call of `plugin`.
    pub(crate) fn of(sandbox: &'a Sandbox, plugin: &'a Plugin, call: Call<'a>) -> Self {
        let view = call.view();
        Self {
            sandbox,
            plugin,
            documents: call.documents(),
            objects: view.map_or(&[], |view| view.objects),
            manifest: view.map(|view| view.manifest.name),
            separators: Cell::new(0),
        }
    }

    /// The plugin broke the contract in this way.
    pub(crate) fn malformed(&self, what: impl std::fmt::Display) -> StageError {
        self.failed(self.plugin.malformed(what))
    }

    /// The call broke off. If its input may be the cause, the error names the first document; templates, of which one
    /// call renders several, are named by who rendered them.
    pub(crate) fn call_error(&self, error: &Error) -> StageError {
        let mut diagnostic = error.diagnostic();
        let names = error.kind.may_be_by_input() && self.plugin.stage != Stage::Render;
        diagnostic.place.document = self.documents.first().filter(|_| names).map(ToString::to_string);
        StageError::Plugin(diagnostic)
    }

    fn failed(&self, error: Error) -> StageError {
        self.sandbox.failed(self.plugin, error).stage_error()
    }

    /// A value of the reply.
    pub(crate) fn read<W, T: FromWit<W>>(&self, member: &'static str, wit: W) -> Result<T, StageError> {
        T::from_wit(wit, member, self)
    }

    pub(crate) fn pointer(&self, what: &str, text: &str) -> Result<(), StageError> {
        if text.len() <= MAX_TEXT_BYTES && Pointer::parse(text).is_some() {
            Ok(())
        } else {
            Err(self.malformed(format!("`{what}` is not a JSON pointer")))
        }
    }

    /// The name of a document that the call passed.
    pub(crate) fn check_document_name(&self, what: &str, name: &str) -> Result<(), StageError> {
        if self.documents.contains(&name) {
            Ok(())
        } else {
            Err(self.malformed(format!("`{what}` names a document that the call did not pass")))
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
        self.more(member_names(more))?;
        fail_on_errors(value, self.diagnostics(diagnostics)?)
    }

    /// `err(list<diagnostic>)`. A failure without an error diagnostic breaks the contract.
    pub(crate) fn input_error(&self, diagnostics: Vec<wit::Diagnostic>) -> StageError {
        match self.diagnostics(diagnostics) {
            Ok(diagnostics) if diagnostics.iter().any(Diagnostic::is_error) => StageError::Input(diagnostics),
            Ok(_) => self.malformed("it failed without an error diagnostic that says why"),
            Err(error) => error,
        }
    }

    fn diagnostics(&self, mut all: Vec<wit::Diagnostic>) -> Result<Vec<Diagnostic>, StageError> {
        if let Some(message) = exception::in_reply(&all) {
            return Err(self.failed(self.plugin.failure(ErrorKind::Exception, message)));
        }
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
        self.more(member_names(&diagnostic.more))?;
        self.code(&diagnostic.code)?;
        let place = diagnostic.place.map(|place| self.place(place)).transpose()?;
        let related = diagnostic.related.into_iter().take(MAX_RELATED).map(|related| {
            Ok(Related {
                place: self.place(related.place)?,
                message: bounded(related.message),
            })
        });
        let severity = match diagnostic.severity {
            wit::Severity::Error => Severity::Error,
            wit::Severity::Warning => Severity::Warning,
            wit::Severity::Info => Severity::Info,
        };
        Ok(Diagnostic {
            severity,
            code: diagnostic.code,
            message: bounded(diagnostic.message),
            place: place.unwrap_or_default(),
            related: related.collect::<Result<_, StageError>>()?,
            help: diagnostic.help.map(bounded),
            follows: diagnostic.follows.map(bounded),
            plugin: self.plugin.is_foreign().then(|| self.plugin.called()),
        })
    }
}

impl Reading<'_> {
    /// A code begins with the name of the plugin, or of one that it wraps.
    fn code(&self, code: &str) -> Result<(), StageError> {
        let mut names = Vec::new();
        for plugin in self.plugin.chain() {
            let name = plugin.own_name(self.sandbox).map_err(|error| error.stage_error())?;
            if is_code(code, name) {
                return Ok(());
            }
            names.push(format!("`{name}-`"));
        }
        Err(self.malformed(format!(
            "the code of a diagnostic is not {} and lower-case words joined by `-`",
            names.join(" or ")
        )))
    }

    /// A place of the reply, if the call passed what it is in.
    fn place(&self, place: wit::Place) -> Result<Place, StageError> {
        let pointer = |pointer: &Option<String>| match pointer {
            Some(pointer) => self.pointer("pointer", pointer),
            None => Ok(()),
        };
        Ok(match place {
            wit::Place::Document(place) => {
                self.check_document_name("document", &place.document)?;
                pointer(&place.pointer)?;
                let manifest = self.manifest.filter(|_| place.document == MANIFEST);
                Place {
                    document: Some(manifest.map_or(place.document, str::to_string)),
                    pointer: place.pointer,
                    ..Place::default()
                }
            }
            wit::Place::Text(place) => {
                self.check_document_name("document", &place.document)?;
                Place {
                    document: Some(place.document),
                    line: place.line,
                    column: place.line.and(place.column),
                    ..Place::default()
                }
            }
            wit::Place::Object(place) => {
                pointer(&place.pointer)?;
                Place {
                    document: Some(self.object(&place.object)?),
                    pointer: place.pointer,
                    ..Place::default()
                }
            }
            wit::Place::Setting(setting) => {
                self.pointer("setting", &setting)?;
                let unnamed = || format!("settings of {}", self.plugin.called());
                let document = self.plugin.settings_document.clone();
                Place::new(document.unwrap_or_else(unnamed), setting)
            }
        })
    }

    /// The name of an object in messages: `StatefulSet/nats`.
    fn object(&self, reference: &wit::ObjectReference) -> Result<String, StageError> {
        let is_it = |object: &&Tree| {
            object.str("apiVersion") == Some(&reference.api_version)
                && object.str("kind") == Some(&reference.kind)
                && object.get("metadata").and_then(|metadata| metadata.str("name")) == Some(&reference.name)
        };
        match self.objects.iter().find(is_it) {
            Some(_) => Ok(format!("{}/{}", reference.kind, reference.name)),
            None => Err(self.malformed("the place of a diagnostic names an object that the call did not pass")),
        }
    }
}

/// The names of additional members of a record.
pub(crate) fn member_names(members: &[wit::Member]) -> impl Iterator<Item = &str> {
    members.iter().map(|member| member.name.as_str())
}

/// What is wrong if one of these members must be known, because this host knows none.
pub(crate) fn unknown_members<'m>(mut names: impl Iterator<Item = &'m str>) -> Option<String> {
    let required = names.find(|name| name.starts_with(REQUIRED))?;
    let name = required.chars().filter(char::is_ascii_graphic).take(MAX_CODE_BYTES);
    let name: String = name.collect();
    Some(format!("requires '{name}', which this host does not know"))
}

fn is_code(code: &str, plugin: &str) -> bool {
    let rest = code.strip_prefix(plugin).and_then(|rest| rest.strip_prefix('-'));
    code.len() <= MAX_CODE_BYTES && rest.is_some_and(words)
}

fn bounded(text: String) -> String {
    cut(text, MAX_TEXT_BYTES, "…")
}

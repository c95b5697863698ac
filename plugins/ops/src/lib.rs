//! The ops stage: operations of ops files change the manifest, by go-patch's rules and with its words, as
//! `bosh interpolate -o` does.
//!
//! Pure: documents in, document and diagnostics out. The document is changed in place; a failure returns no document.

pub mod codes;
pub mod error;
pub mod path;

mod definition;
mod definition_json;
mod find;
mod go;
mod locate;
mod operation;
mod origins;
mod parse;
mod remove;
mod replace;
mod scan;
mod test;

#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "generated bindings")]
mod guest;

pub use boson_contract::ops::{Applied, OperationsFile, Origin};

use boson_contract::Reply;
use boson_document::{Diagnostic, Pointer, Tree, did_you_mean};
use error::{Attempt, Error};
use operation::{Action, Operation};
use origins::{Step, Trace, Traced};
use path::Path;
use scan::Scan;
use std::borrow::Cow;

/// Applies the operations of all files in order.
///
/// # Errors
/// The first file with wrong definitions, before anything is applied; else the first operation that fails.
pub fn apply(document: Tree, document_name: &str, files: Vec<OperationsFile>) -> Reply<Applied> {
    let mut diagnostics = Vec::new();
    let mut names = Vec::with_capacity(files.len());
    let mut operations = Vec::with_capacity(files.len());
    for OperationsFile { name, operations: tree } in files {
        operations.push(operation::read(&name, tree, &mut diagnostics)?);
        names.push(name);
    }
    let mut document = document;
    let (mut trace, scan) = (Trace::unchanged(), Scan::default());
    for (file, operations) in operations.into_iter().enumerate() {
        for (position, operation) in operations.into_iter().enumerate() {
            let advice = operation
                .error
                .as_ref()
                .map(|error| format!("message of the ops file: {error}"));
            perform(&mut document, &mut trace, operation, Step { file, position }, &scan)
                .map_err(|error| vec![failed(error, &names[file], position, advice)])?;
        }
    }
    let (origins, complete) = trace.origins(document_name, &names);
    if !complete {
        let message = "The origins of some parts of the document are not recorded: there are too many";
        diagnostics.push(Diagnostic::info(codes::ORIGINS_LEFT_OUT, message).in_document(document_name));
    }
    Ok((Applied { document, origins }, diagnostics))
}

/// The value at a path of the operations' grammar.
///
/// # Errors
/// The path cannot be read, or leads nowhere. The diagnostic points at the deepest value that was reached.
pub fn find(document: &Tree, document_name: &str, path: &str) -> Result<Tree, Diagnostic> {
    let mut place = Pointer::root();
    let found = Path::parse(path).and_then(|path| find::find(document, &path, &mut place, &Scan::default()));
    found.map(Cow::into_owned).map_err(|Error { code, message, .. }| {
        let diagnostic = Diagnostic::error(code, message).in_document(document_name);
        // A path that cannot be parsed is not an error in the document.
        if code == codes::PATH_SYNTAX {
            diagnostic
        } else {
            diagnostic.at(place)
        }
    })
}

fn perform(document: &mut Tree, trace: &mut Trace, operation: Operation, step: Step, scan: &Scan) -> Attempt<()> {
    let path = &operation.path;
    match operation.action {
        Action::Replace(value) => replace::replace(Traced { tree: document, trace }, path, value, step, scan),
        Action::Remove => remove::remove(Traced { tree: document, trace }, path, scan),
        Action::Test(value) => test::value(document, path, &value, scan),
        Action::TestAbsent => test::absent(document, path, scan),
    }
}

/// The diagnostic of a failed operation. `advice` of the ops file's author replaces the code's help: cf-deployment's
/// ops files name their requirements there.
fn failed(error: Error, file: &str, position: usize, advice: Option<String>) -> Diagnostic {
    let part = if error.code == codes::VALUE_DIFFERS {
        "value"
    } else {
        "path"
    };
    let message = format!("Error '{}': {}", operation::label(file, position), error.message);
    let mut diagnostic = Diagnostic::error(error.code, message)
        .in_document(file)
        .at(Pointer::root().at(position).at(part));
    if let Some(advice) = advice {
        diagnostic.help(advice);
    }
    if let Some(near) = error.near {
        let help = did_you_mean(&near, diagnostic.help.as_deref().unwrap_or_default());
        diagnostic.help(help);
    }
    diagnostic
}

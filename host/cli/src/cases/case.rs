//! A case: a folder with the input of one call and the reply that is expected. `host convert --record` writes them,
//! `host run-plugin --replay` and `host plugin test` read them.
//!
//! ```text
//! DIR/<case>/call.json    {"stage": .., "function": .., "request": .., "context": ..}
//! DIR/<case>/reply.json   {"ok": ..}, {"err": [..]}, or {"failure": CODE} if the plugin failed; absent: not recorded
//! ```

use crate::codes;
use crate::files;
use crate::storage::durable;
use anyhow::{Context, Result};
use boson_document::{Tree, json};
use boson_pipeline::{Diagnostic, Stage};
use boson_sandbox::json_call::{JsonCallError, JsonReply};
use boson_sandbox::{Measures, Plugin, Sandbox};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const CALL: &str = "call.json";
const REPLY: &str = "reply.json";
/// Members of a call that are no parameters.
const STAGE: &str = "stage";
const FUNCTION: &str = "function";

/// A call, and the reply that is expected.
#[derive(Clone, Debug)]
pub struct Case {
    pub folder: PathBuf,
    pub stage: Stage,
    pub function: String,
    /// An object with a member for each parameter.
    pub arguments: Tree,
    /// `None`: there is no file yet.
    pub reply: Option<Tree>,
}

/// What a call gave.
pub struct Called {
    /// In the form of `reply.json`.
    pub reply: Tree,
    /// What it used.
    pub measures: Measures,
    /// Why there is no reply of the plugin.
    pub failure: Option<Diagnostic>,
}

// === impl Case ===

impl Case {
    /// The name of its folder.
    pub fn name(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn call_file(&self) -> PathBuf {
        self.folder.join(CALL)
    }

    /// Reads the case in a folder.
    ///
    /// # Errors
    /// `call.json` is missing; it or `reply.json` cannot be read, or is not of the form above.
    pub fn read(folder: &Path) -> Result<Self, Box<Diagnostic>> {
        let file = folder.join(CALL);
        let call = read(&file)?.ok_or_else(|| no_call(folder))?;
        let case = Self::of(folder, call).map_err(|message| {
            let help = "write {\"stage\": .., \"function\": .., \"request\": .., \"context\": ..}, as `host convert --record` does";
            let error = Diagnostic::error(codes::PLUGIN_CASE, message);
            Box::new(error.in_document(files::name(&file)).help(help))
        })?;
        Ok(Self {
            reply: read(&folder.join(REPLY))?,
            ..case
        })
    }

    /// A case without a reply, in a folder that need not exist yet. `call`: the content of `call.json`.
    ///
    /// # Errors
    /// What is missing in the call.
    pub fn of(folder: &Path, mut call: Tree) -> Result<Self, String> {
        let map = call.as_object_mut().ok_or("the call is not an object")?;
        let mut text = |name: &str| match map.shift_remove(name) {
            Some(Tree::String(text)) => Ok(text),
            _ => Err(format!("`{name}` is missing or not a string")),
        };
        let (stage, function) = (text(STAGE)?, text(FUNCTION)?);
        Ok(Self {
            folder: folder.to_path_buf(),
            stage: Stage::named(&stage).ok_or_else(|| format!("there is no stage '{stage}'"))?,
            function,
            arguments: call,
            reply: None,
        })
    }

    /// Writes the call.
    ///
    /// # Errors
    /// The folder cannot be made, or the file not be written.
    pub fn write_call(&self) -> Result<()> {
        let mut call = Tree::object()
            .with(STAGE, self.stage.name())
            .with(FUNCTION, self.function.as_str());
        for (name, value) in self.arguments.as_object().into_iter().flatten() {
            call.set(name.as_str(), value.clone());
        }
        durable::make_directory(&self.folder)?;
        write(&self.call_file(), &call)
    }

    /// Writes the reply that is expected from now on.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_reply(&self, reply: &Tree) -> Result<()> {
        write(&self.folder.join(REPLY), reply)
    }

    /// Calls a plugin.
    ///
    /// # Errors
    /// The arguments do not fit the function.
    pub fn call(&self, sandbox: &Sandbox, plugin: &Plugin) -> Result<Called, Box<Diagnostic>> {
        match sandbox.call_json(plugin, &self.function, &self.arguments) {
            Ok(reply) => Ok(Called {
                reply: self::reply(&reply),
                measures: reply.measures,
                failure: None,
            }),
            Err(JsonCallError::Plugin(failure, measures)) => {
                let failure = failure.diagnostic();
                Ok(Called {
                    reply: self::failure(&failure),
                    measures,
                    failure: Some(failure),
                })
            }
            Err(JsonCallError::Arguments(message)) => {
                let error = Diagnostic::error(codes::PLUGIN_ARGUMENTS, message);
                let error = error.in_document(files::name(&self.call_file()));
                Err(Box::new(error.help("see `wit/` for the function's parameters")))
            }
        }
    }
}

/// A reply in the form of `reply.json`.
pub fn reply(reply: &JsonReply) -> Tree {
    let case = if reply.failed { "err" } else { "ok" };
    Tree::object().with(case, reply.value.clone())
}

/// The failure of a plugin in the form of `reply.json`.
pub fn failure(failure: &Diagnostic) -> Tree {
    Tree::object().with("failure", failure.code.as_str())
}

/// The folders below this one that have a call, or this one, sorted by name.
///
/// # Errors
/// The folder cannot be read, or has no case.
pub fn folders(directory: &Path) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
    if directory.join(CALL).is_file() {
        return Ok(vec![directory.to_path_buf()]);
    }
    let name = files::name(directory);
    let unreadable = |error: io::Error| files::unreadable(&name, &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let folder = entry.map_err(unreadable)?.path();
        if folder.join(CALL).is_file() {
            found.push(folder);
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err(no_call(directory)),
        false => Ok(found),
    }
}

fn no_call(folder: &Path) -> Box<Diagnostic> {
    let name = files::name(folder);
    let error = Diagnostic::error(
        codes::PLUGIN_CASE,
        format!("'{name}' has no cases: directories with a `{CALL}`"),
    );
    Box::new(error.help("record some: host convert manifest.yml ... --record DIR"))
}

/// The document in a file; `None` if there is no such file.
fn read(file: &Path) -> Result<Option<Tree>, Box<Diagnostic>> {
    let name = files::name(file);
    let refuse = |message: String| Box::new(Diagnostic::error(codes::PLUGIN_CASE, message).in_document(&name));
    // Cases may come from others: a link could lead anywhere, and a named pipe would block.
    let Some(bytes) = files::regular(file, files::MAX_BYTES).map_err(|error| files::unreadable(&name, &error))? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).map_err(|_| refuse("the file is not UTF-8".to_string()))?;
    let document = json::parse(&text).map_err(|error| refuse(format!("the file is not JSON: {error}")))?;
    Ok(Some(document))
}

fn write(file: &Path, content: &Tree) -> Result<()> {
    durable::write(file, json::to_lines(content).as_bytes(), 0o600)
        .with_context(|| format!("cannot write '{}'", file.display()))
}

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
    /// `call.json` or `reply.json` is missing, cannot be read, or is not of the form above.
    pub fn read(folder: &Path) -> Result<Self, Box<Diagnostic>> {
        let file = folder.join(CALL);
        let name = files::name(&file);
        let refuse = |message: &str| {
            let help = "write {\"stage\": .., \"function\": .., \"request\": .., \"context\": ..}, as `host convert --record` does";
            Box::new(
                Diagnostic::error(codes::PLUGIN_CASE, message)
                    .in_document(&name)
                    .help(help),
            )
        };
        let mut arguments = read(&file)?;
        let Some(map) = arguments.as_object_mut() else {
            return Err(refuse("the call is not an object"));
        };
        let mut text = |name: &str| match map.shift_remove(name) {
            Some(Tree::String(text)) => Ok(text),
            _ => Err(refuse(&format!("the call has no `{name}`, which is a text"))),
        };
        let (stage, function) = (text(STAGE)?, text(FUNCTION)?);
        let stage = Stage::named(&stage).ok_or_else(|| refuse(&format!("there is no stage '{stage}'")))?;
        let reply = folder.join(REPLY);
        Ok(Self {
            folder: folder.to_path_buf(),
            stage,
            function,
            arguments,
            reply: if reply.exists() { Some(read(&reply)?) } else { None },
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
                    reply: Tree::object().with("failure", failure.code.as_str()),
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
        true => Err(Box::new(
            Diagnostic::error(
                codes::PLUGIN_CASE,
                format!("'{name}' has no cases: folders with a `{CALL}`"),
            )
            .help("record some: host convert manifest.yml ... --record DIR"),
        )),
        false => Ok(found),
    }
}

fn read(file: &Path) -> Result<Tree, Box<Diagnostic>> {
    let (name, bytes) = (files::name(file), files::read(file)?);
    let refuse = |message: String| Box::new(Diagnostic::error(codes::PLUGIN_CASE, message).in_document(&name));
    let text = String::from_utf8(bytes).map_err(|_| refuse("the file is not UTF-8".to_string()))?;
    json::parse(&text).map_err(|error| refuse(format!("the file is not JSON: {error}")))
}

fn write(file: &Path, content: &Tree) -> Result<()> {
    durable::write(file, json::to_lines(content).as_bytes(), 0o600)
        .with_context(|| format!("cannot write '{}'", file.display()))
}

//! `host convert --record`: each call of the conversion becomes a case ([`Case`]) without values of variables.
//!
//! The reply of a case is not the one of the conversion: the plugin is called again, with the call as it is recorded.
//! So a reply cannot contain a value that the call does not, and repeating the call gives the same reply.

use super::{Case, folders};
use crate::codes;
use boson_commands::files;
use boson_document::Tree;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::variables::is_stand_in;
use boson_pipeline::{Diagnostic, Stage};
use boson_sandbox::{RecordedCall, Recorder, Sandbox};
use parking_lot::Mutex;
use std::fs;
use std::path::{Path, PathBuf};

/// Characters of the part of a folder's name that says what a call is about.
const MAX_SUBJECT_CHARS: usize = 60;

/// A folder that calls are recorded in.
pub struct Recording {
    directory: PathBuf,
    /// Only calls of these stages; all if it is empty.
    stages: Vec<Stage>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: usize,
    /// Values that calls have passed so far.
    secrets: Secrets,
    /// The manifest with its placeholders. Never one with values: what is in it is not redacted.
    public: Sources,
    failed: Option<Diagnostic>,
}

// === impl Recording ===

impl Recording {
    /// Begins a recording in a new or empty folder.
    ///
    /// # Errors
    /// The folder has files, or cannot be read.
    pub fn begin(directory: &Path, stages: &[Stage]) -> Result<Self, Diagnostic> {
        let name = files::name(directory);
        let is_empty = match fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(files::unreadable(&name, &error)),
        };
        if !is_empty {
            let message = format!("the directory '{name}' is not empty");
            let error = Diagnostic::error(codes::RECORD_NOT_EMPTY, message);
            return Err(error.help("remove it, or record to another one"));
        }
        Ok(Self {
            directory: directory.to_path_buf(),
            stages: stages.to_vec(),
            state: Mutex::default(),
        })
    }

    /// A message with the number of calls that were recorded.
    ///
    /// # Errors
    /// A case could not be written.
    pub fn end(&self) -> Result<String, Diagnostic> {
        let state = self.state.lock();
        match &state.failed {
            Some(failed) => Err(failed.clone()),
            None => Ok(format!(
                "recorded {} call{} in {}\n",
                state.calls,
                if state.calls == 1 { "" } else { "s" },
                self.directory.display()
            )),
        }
    }

    /// Sets the manifest with its placeholders, which anybody may read.
    pub fn publish(&self, name: &str, manifest: &Tree) {
        let mut state = self.state.lock();
        state.public.add_tree(name, manifest);
    }

    /// Adds values that no case may contain.
    pub fn hide(&self, secrets: Secrets) {
        let mut state = self.state.lock();
        state.secrets.add(secrets);
    }

    fn write(&self, state: &mut State, call: RecordedCall, sandbox: &Sandbox) -> Result<(), Diagnostic> {
        state.calls += 1;
        let RecordedCall {
            stage,
            plugin,
            function,
            arguments,
        } = call.with_values(&|value| state.secrets.redact(value, &state.public));
        let subject = subject(&arguments).map(|subject| format!("-{subject}"));
        let name = format!("{:03}-{function}{}", state.calls, subject.unwrap_or_default());
        let folder = self.directory.join(&name);
        let case = Case {
            name,
            stage,
            function: function.to_string(),
            arguments,
            reply: None,
        };
        let unwritable = |error: anyhow::Error| files::unwritable(&error).help("check --record");
        folders::write_call(&folder, &case).map_err(unwritable)?;
        if let Some(plugin) = &plugin {
            let called = case.call(sandbox, plugin)?;
            folders::write_reply(&folder, &called.reply).map_err(unwritable)?;
        }
        Ok(())
    }
}

impl Recorder for Recording {
    fn record(&self, call: RecordedCall, sandbox: &Sandbox) {
        let mut state = self.state.lock();
        if let Some(request) = call.arguments.get("request").filter(|_| call.stage == Stage::Variables) {
            state.learn(request);
        }
        let is_wanted = self.stages.is_empty() || self.stages.contains(&call.stage);
        if is_wanted
            && state.failed.is_none()
            && let Err(error) = self.write(&mut state, call, sandbox)
        {
            state.failed = Some(error);
        }
    }
}

// === impl State ===

impl State {
    /// Takes the values of a request of the stage `variables`. Names in its document, such as that of the deployment,
    /// are not secrets, also if they come from variables.
    fn learn(&mut self, request: &Tree) {
        if let Some(values) = request.get("values") {
            let is_value = |(name, value): &(&String, &Tree)| !is_stand_in(name, value);
            let values = values.as_object().into_iter().flatten().filter(is_value);
            let values: Tree = values.map(|(name, value)| (name.clone(), value.clone())).collect();
            self.secrets.add(Secrets::of(&values));
        }
        if let Some(document) = request.get("document") {
            self.secrets.except_names(document);
        }
    }
}

/// What a call is about: an instance group, or the job of templates.
fn subject(arguments: &Tree) -> Option<String> {
    let request = arguments.get("request")?;
    // A resolved document has one instance group.
    let group = || request.get("group")?.items("instance_groups").first()?.str("name");
    let job = || request.items("templates").first()?.str("name")?.split('/').next();
    let allowed = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    Some(
        group()
            .or_else(job)?
            .chars()
            .take(MAX_SUBJECT_CHARS)
            .map(allowed)
            .collect(),
    )
}

//! A case: the input of one call and the reply that is expected. Pure: [`super::folders`] reads and writes cases as
//! folders, [`super::packed`] as one file for the operator.
//!
//! ```text
//! call     {"stage": .., "function": .., "request": .., "context": ..}
//! reply    {"ok": ..}, {"err": [..]}, or {"failure": CODE} if the plugin failed; absent: not recorded
//! ```

use crate::codes;
use boson_document::Tree;
use boson_pipeline::{Diagnostic, Stage};
use boson_sandbox::json_call::{JsonCallError, JsonReply};
use boson_sandbox::{Account, Measures, Plugin, Sandbox};

/// Members of a call that are no parameters.
const STAGE: &str = "stage";
const FUNCTION: &str = "function";

/// A call, and the reply that is expected.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name: that of its folder.
    pub name: String,
    pub stage: Stage,
    pub function: String,
    /// An object with a member for each parameter.
    pub arguments: Tree,
    /// `None` before the first recording.
    pub reply: Option<Tree>,
}

/// What a call gave.
pub struct Called {
    /// In the form of a case's reply.
    pub reply: Tree,
    pub measures: Measures,
    /// Why there is no reply of the plugin.
    pub failure: Option<Diagnostic>,
}

// === impl Case ===

impl Case {
    /// A case without a reply.
    ///
    /// # Errors
    /// What is missing in the call.
    pub fn of(name: &str, mut call: Tree) -> Result<Self, String> {
        let map = call.as_object_mut().ok_or("the call is not an object")?;
        let mut text = |name: &str| match map.shift_remove(name) {
            Some(Tree::String(text)) => Ok(text),
            _ => Err(format!("`{name}` is missing or not a string")),
        };
        let (stage, function) = (text(STAGE)?, text(FUNCTION)?);
        Ok(Self {
            name: name.to_string(),
            stage: Stage::named(&stage).ok_or_else(|| format!("there is no stage '{stage}'"))?,
            function,
            arguments: call,
            reply: None,
        })
    }

    /// The call as a document.
    pub fn document(&self) -> Tree {
        let mut call = Tree::object()
            .with(STAGE, self.stage.name())
            .with(FUNCTION, self.function.as_str());
        for (name, value) in self.arguments.as_object().into_iter().flatten() {
            call.set(name.as_str(), value.clone());
        }
        call
    }

    /// The parameter with the documents.
    pub fn request_mut(&mut self) -> Option<&mut Tree> {
        let mut names = ["request", "view"].into_iter();
        let name = names.find(|name| self.arguments.get(name).is_some())?;
        self.arguments.get_mut(name)
    }

    /// Calls a plugin.
    ///
    /// # Errors
    /// The arguments do not fit the function.
    pub fn call(&self, sandbox: &Sandbox, plugin: &Plugin) -> Result<Called, Diagnostic> {
        self.call_for(sandbox, plugin, &Account::unbounded())
    }

    /// Calls a plugin, for this account.
    ///
    /// # Errors
    /// The arguments do not fit the function.
    pub fn call_for(&self, sandbox: &Sandbox, plugin: &Plugin, account: &Account) -> Result<Called, Diagnostic> {
        match sandbox.call_json_for(plugin, account, &self.function, &self.arguments) {
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
                let error = Diagnostic::error(codes::PLUGIN_ARGUMENTS, message).in_document(&self.name);
                Err(error.help("see `wit/` for the function's parameters"))
            }
        }
    }
}

/// A reply in the form of a case's reply.
pub fn reply(reply: &JsonReply) -> Tree {
    let case = if reply.failed { "err" } else { "ok" };
    Tree::object().with(case, reply.value.clone())
}

/// The failure of a plugin in the form of a case's reply.
pub fn failure(error: &Diagnostic) -> Tree {
    Tree::object().with("failure", error.code.as_str())
}

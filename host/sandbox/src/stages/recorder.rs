//! What gets the calls of a conversion.

use crate::call::json_call::JSON_MEMBERS;
use crate::engine::Sandbox;
use crate::plugin::Plugin;
use boson_document::Tree;
use boson_pipeline::Stage;

/// Members that hold an enum.
pub(crate) const ENUM_MEMBERS: [&str; 2] = ["spread", "rules"];

/// A call of a conversion.
#[derive(Clone)]
pub struct RecordedCall {
    pub stage: Stage,
    /// What is called. `None`: the call that a plugin would get, in a stage without plugins.
    pub plugin: Option<Plugin>,
    /// Name of the function in the contract.
    pub function: &'static str,
    /// An object with a member for each parameter. Contains values of variables.
    pub arguments: Tree,
}

// === impl RecordedCall ===

impl RecordedCall {
    /// The call with other documents and texts. Names and cases of the contract stay.
    #[must_use]
    pub fn with_values(self, change: &dyn Fn(Tree) -> Tree) -> Self {
        Self {
            arguments: changed("", self.arguments, change),
            ..self
        }
    }
}

/// `name`: the member that the value is in.
fn changed(name: &str, value: Tree, change: &dyn Fn(Tree) -> Tree) -> Tree {
    // `options` is also the name of a record.
    let is_record = name == "options" && value.get("cluster-domain").is_some();
    if JSON_MEMBERS.contains(&name) && !is_record {
        return change(value);
    }
    match value {
        Tree::Object(map) => {
            let member = |(name, value): (String, Tree)| {
                let value = changed(&name, value, change);
                (name, value)
            };
            Tree::Object(map.into_iter().map(member).collect())
        }
        Tree::Array(items) => Tree::Array(items.into_iter().map(|item| changed(name, item, change)).collect()),
        Tree::String(case) if ENUM_MEMBERS.contains(&name) => case.into(),
        Tree::String(text) => change(text.into()),
        other => other,
    }
}

/// Gets each call before it is made, on the thread that makes it.
pub trait Recorder: Send + Sync {
    /// Records a call. `sandbox`: the one that makes it.
    fn record(&self, call: RecordedCall, sandbox: &Sandbox);
}

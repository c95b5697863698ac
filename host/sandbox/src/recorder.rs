//! What gets the calls of a conversion.

use crate::engine::Sandbox;
use crate::plugin::Plugin;
use boson_document::Tree;
use boson_pipeline::Stage;

/// A call of a conversion.
#[derive(Clone)]
pub struct RecordedCall {
    /// The stage.
    pub stage: Stage,
    /// What is called. `None`: the call that a plugin would get, in a stage without plugins.
    pub plugin: Option<Plugin>,
    /// Name of the function in the contract.
    pub function: &'static str,
    /// An object with a member for each parameter. Contains values of variables.
    pub arguments: Tree,
}

/// Gets each call before it is made, on the thread that makes it.
pub trait Recorder: Send + Sync {
    /// Records a call. `sandbox`: the one that makes it.
    fn record(&self, call: RecordedCall, sandbox: &Sandbox);
}

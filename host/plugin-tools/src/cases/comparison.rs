//! Compares what a plugin replies to a case with the expected reply.

use super::{Called, Case, replies};
use boson_pipeline::Diagnostic;
use boson_sandbox::{Account, Plugin, Sandbox};

/// The reply to a case, and what is wrong with it.
pub struct Compared {
    /// The first of two calls.
    pub called: Called,
    /// `None`: it is the expected reply.
    pub mismatch: Option<Mismatch>,
}

/// Why a reply does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Two calls with the same input gave two replies.
    Varying,
    NothingExpected,
    /// The negative control failed: a changed reply was accepted.
    Control,
    Different,
}

/// Calls a plugin with a case, twice, and compares the replies.
///
/// # Errors
/// The arguments do not fit the function.
pub fn compare(case: &Case, sandbox: &Sandbox, plugin: &Plugin, account: &Account) -> Result<Compared, Diagnostic> {
    let called = case.call_for(sandbox, plugin, account)?;
    // It prints the same again.
    let silent = sandbox.clone().without_console();
    let again = case.call_for(&silent, plugin, account)?.reply;
    let reply = &called.reply;
    let mismatch = match &case.reply {
        _ if !replies::are_same(reply, &again) => Some(Mismatch::Varying),
        None => Some(Mismatch::NothingExpected),
        Some(_) if replies::are_same(reply, &replies::changed(reply)) => Some(Mismatch::Control),
        Some(expected) if !replies::are_same(expected, reply) => Some(Mismatch::Different),
        Some(_) => None,
    };
    Ok(Compared { called, mismatch })
}

// === impl Mismatch ===

impl Mismatch {
    /// What is wrong, in words; the differences of replies are shown separately.
    pub fn text(self) -> &'static str {
        match self {
            Self::Varying => "two calls with the same input gave two replies",
            Self::NothingExpected => "there is no reply.json; write it with `host plugin test --update`",
            Self::Control => "the negative control failed: a changed reply was accepted",
            Self::Different => "the reply is not the expected one",
        }
    }
}

//! The calls before the operator activates a version of a plugin: those of the cases that are packed with it, and for
//! an update some with generated inputs.
//!
//! # Guarantees
//! A reason names the case and the first place that differs, never a value. All calls together have the fuel of
//! [`MAX_FUEL`] and the time of [`CALLS_TIMEOUT`], so that a plugin does not delay those of other namespaces for long.

use super::{Case, Mismatch, compare, edge, replies};
use crate::codes;
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::clean;
use boson_sandbox::{Account, ErrorKind, Plugin, Sandbox};
use std::time::{Duration, Instant};

/// Units of fuel of all calls together: as much as a single call of a conversion may use.
const MAX_FUEL: u64 = 10_000_000_000;
/// Time of all calls together. After it, no further call begins.
const CALLS_TIMEOUT: Duration = Duration::from_secs(120);

/// The account of all calls before a version is active. `holder`: the namespace whose memory they use.
pub fn account(holder: &str) -> Account {
    Account::new(holder, MAX_FUEL)
}

/// Calls a plugin with generated inputs until one call has a reply: a result or diagnostics about the input. Without
/// objects there is nothing to do for a plugin that gets objects, so a reply then tells nothing.
///
/// # Errors
/// The plugin fails in every call: with the failure of the first one.
pub fn replies_at_all(sandbox: &Sandbox, plugin: &Plugin, account: &Account) -> Result<(), Diagnostic> {
    let (started, mut first) = (Instant::now(), None);
    let inputs = edge::inputs(plugin.stage).unwrap_or_default();
    for case in inputs.iter().filter(|case| !is_empty(case)) {
        let Ok(called) = case.call_for(sandbox, plugin, account) else {
            continue;
        };
        let Some(error) = called.failure else {
            return Ok(());
        };
        first.get_or_insert(error);
        if started.elapsed() > CALLS_TIMEOUT {
            break;
        }
    }
    first.map_or(Ok(()), Err)
}

/// Whether it has a view without objects.
fn is_empty(case: &Case) -> bool {
    let objects = case.arguments.get("view").and_then(|view| view.get("objects"));
    objects.is_some_and(|objects| objects.as_array().is_none_or(|all| all.is_empty()))
}

/// Calls a plugin with its cases, in the sandbox and with the limits of a conversion.
///
/// # Errors
/// The first case that fails.
pub fn pass(sandbox: &Sandbox, plugin: &Plugin, cases: &[Case], account: &Account) -> Result<(), Diagnostic> {
    let started = Instant::now();
    for case in cases {
        if started.elapsed() > CALLS_TIMEOUT {
            return Err(failed(
                case,
                &format!("all cases together took more than {} s", CALLS_TIMEOUT.as_secs()),
            ));
        }
        let compared = compare(case, sandbox, plugin, account).map_err(|error| failed(case, &error.message))?;
        let Some(mismatch) = compared.mismatch else { continue };
        let what = match (compared.called.failure, mismatch) {
            (Some(failure), _) if failure.code == ErrorKind::OverBudget.code().name => {
                format!("all cases together use more than {MAX_FUEL} units of fuel")
            }
            (Some(failure), _) => failure.message,
            (None, Mismatch::Different) => difference(case.reply.as_ref(), &compared.called.reply),
            (None, other) => other.text().to_string(),
        };
        return Err(failed(case, &what));
    }
    Ok(())
}

/// The first place at which a reply differs.
fn difference(expected: Option<&Tree>, reply: &Tree) -> String {
    let first = expected.and_then(|expected| replies::first(expected, reply));
    match first {
        Some(place) => format!("the reply differs from the expected one at '{place}'"),
        None => "the reply differs from the expected one in the order of members".to_string(),
    }
}

fn failed(case: &Case, what: &str) -> Diagnostic {
    let message = format!("case '{}' failed: {what}", clean::line(&case.name));
    let help = "run `host plugin test COMPONENT DIR` with the cases that were packed, which shows the differences";
    Diagnostic::error(codes::PLUGIN_CASE_FAILED, message).help(help)
}

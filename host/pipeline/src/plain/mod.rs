//! The plain target: the operator's objects are converted to objects that any cluster accepts.
//!
//! Each kind has its own pure plan function (what a controller would create from one object). [`lower`] applies them to
//! a whole conversion and reports what has no effect without the operator.

pub mod codes;
mod dns;
pub mod job;
pub mod places;
pub mod resolved;
pub mod secret;
pub mod stateful_set;
mod tags;
mod zone;

pub use tags::tags;

use self::stateful_set::update_block;
use crate::object::{name, object_error, remove};
use crate::{Diagnostic, Severity};
use boson_document::Tree;
use boson_manifest::labels;

/// Version of everything that a conversion creates: the command line knows no earlier one.
pub const FIRST_VERSION: u32 = 1;

/// Replaces every object of the operator, in place; the others stay unchanged. `values`: object of variable -> value.
///
/// # Errors
/// A QuarksSecret whose variable has no value, and objects that their controllers would refuse; all of them at once.
pub fn lower(objects: Vec<Tree>, values: &Tree) -> Result<(Vec<Tree>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (mut plain, mut diagnostics) = (Vec::with_capacity(objects.len()), Vec::new());
    // One warning for all groups: nearly every manifest has an update block.
    diagnostics.extend(objects.iter().any(has_update).then(no_rollout_warning));
    for mut object in objects {
        select_all_pods(&mut object);
        if object.str("apiVersion") != Some(labels::API_VERSION) {
            plain.push(object);
            continue;
        }
        match lower_one(&object, values) {
            Ok(made) => plain.extend(made),
            Err(error) => diagnostics.push(error),
        }
        diagnostics.extend(operator_only_warnings(&object));
    }
    // Only checked objects: any other use of the account was refused before.
    let accounts = dns::accounts(&plain);
    plain.splice(0..0, accounts);
    if diagnostics.iter().any(Diagnostic::is_error) {
        Err(diagnostics)
    } else {
        Ok((plain, diagnostics))
    }
}

/// Removes the label by which a Service selects the active pod of a group with active/passive probes. Without the
/// operator, no pod has the label: the Service then selects all pods of the group.
fn select_all_pods(object: &mut Tree) {
    if object.str("kind") == Some("Service")
        && let Some(selector) = object.get_mut("spec").and_then(|spec| spec.get_mut("selector"))
    {
        remove(selector, labels::POD_ACTIVE);
    }
}

fn lower_one(object: &Tree, values: &Tree) -> Result<Vec<Tree>, Diagnostic> {
    match object.str("kind").unwrap_or_default() {
        "QuarksStatefulSet" => stateful_set::stateful_sets(object, FIRST_VERSION),
        "QuarksJob" => Ok(vec![job::job(object, name(object), job::Run::of(object)?)]),
        "QuarksSecret" => {
            let variable = secret::variable(object);
            let value = variable.and_then(|variable| values.get(variable));
            let why = "its variable has no value for a Secret";
            let value = value.ok_or_else(|| object_error(object, codes::PLAIN_MISSING_VALUE, why))?;
            Ok(vec![secret::secret(object, value)?])
        }
        _ => Err(object_error(
            object,
            codes::PLAIN_UNKNOWN_KIND,
            "this kind has no plain form",
        )),
    }
}

/// Whether an object has what its plain object is made of. All others are complete.
pub fn is_complete(object: &Tree) -> bool {
    match object.str("kind").unwrap_or_default() {
        "QuarksStatefulSet" => stateful_set::stateful_sets(object, FIRST_VERSION).is_ok(),
        "QuarksJob" => job::Run::of(object).is_ok(),
        _ => true,
    }
}

/// Whether an instance group has rules for its rollout.
fn has_update(object: &Tree) -> bool {
    let rules = [
        labels::CANARIES,
        labels::MAX_IN_FLIGHT,
        labels::CANARY_WATCH_TIME,
        labels::UPDATE_WATCH_TIME,
        labels::VM_STRATEGY,
    ];
    update_block(object).is_some_and(|given| rules.iter().any(|rule| given.get(rule).is_some()))
}

fn no_rollout_warning() -> Diagnostic {
    let why = "Canaries, limits, watch times and the strategy of 'update' have no effect without the operator";
    Diagnostic::warning(codes::PLAIN_NEEDS_OPERATOR, why)
}

/// Warnings about work that only the operator does.
fn operator_only_warnings(object: &Tree) -> Vec<Diagnostic> {
    let is_set = |path: &[&str]| {
        let value = object.find(path).unwrap_or(&Tree::Null);
        !value.is_null()
            && value.as_array().is_none_or(|a| !a.is_empty())
            && value.as_object().is_none_or(|o| !o.is_empty())
    };
    let table: [(&[&str], &str); 3] = [
        (
            &["spec", "activePassiveProbes"],
            "without the operator, no pod is marked as active: its Services select all pods",
        ),
        (
            &["spec", "output", "outputMap"],
            "the output of its containers is not stored without the operator",
        ),
        (
            &["spec", "copies"],
            "the Secret is not copied to other namespaces without the operator",
        ),
    ];
    let without_effect = table.iter().filter(|(path, _)| is_set(path));
    without_effect
        .map(|(_, why)| Diagnostic {
            severity: Severity::Warning,
            ..object_error(object, codes::PLAIN_NEEDS_OPERATOR, why)
        })
        .collect()
}

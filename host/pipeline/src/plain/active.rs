//! Active pods: Services of a group with active/passive probes select the pods with a certain label. Neither the
//! operator nor Kubernetes runs the probes yet, so no pod gets the label, and such Services would have no endpoints.

use crate::object::fault;
use crate::plain::codes;
use crate::{Diagnostic, Severity};
use boson_document::Tree;
use boson_manifest::labels;

/// Changes these Services to select all pods of their group. Returns a warning for each group that asks for something
/// else.
pub fn lead_to_all(objects: &mut [Tree]) -> Vec<Diagnostic> {
    objects.iter_mut().for_each(without_active);
    objects
        .iter()
        .filter(|object| has_probes(object))
        .map(unheeded)
        .collect()
}

fn without_active(object: &mut Tree) {
    if object.str("kind") == Some("Service")
        && let Some(Tree::Object(selector)) = object.get_mut("spec").and_then(|spec| spec.get_mut("selector"))
    {
        selector.shift_remove(labels::POD_ACTIVE);
    }
}

fn has_probes(object: &Tree) -> bool {
    let probes = object.get("spec").and_then(|spec| spec.get("activePassiveProbes"));
    probes
        .and_then(Tree::as_object)
        .is_some_and(|probes| !probes.is_empty())
}

fn unheeded(object: &Tree) -> Diagnostic {
    let why = "its active/passive probes are not run yet: Services select all of its pods";
    Diagnostic {
        severity: Severity::Warning,
        ..*fault(object, codes::PLAIN_ACTIVE_PASSIVE, why)
    }
}

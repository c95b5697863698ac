//! Maps of the manifest that are copied into objects: their fields are those of Kubernetes.

use crate::codes;
use boson_document::{Place, Report, Tree};
use boson_fields::Required;

/// Reports fields that a type of Kubernetes does not have, does not have with this type, or requires. Returns whether
/// there are none.
pub fn check(kind: &str, value: &Tree, place: &Place, report: &mut Report) -> bool {
    let errors = boson_fields::check(kind, value, Required::Checked);
    let is_valid = errors.is_empty();
    for found in errors {
        let error = report.error(codes::FIELD, place.join(found.pointer.tokens()), found.why);
        if let Some(unknown) = found.unknown {
            error.suggest(&unknown.name, unknown.known.iter().copied());
        }
    }
    is_valid
}

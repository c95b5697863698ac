//! Maps of the manifest that are copied into objects: their fields are those of Kubernetes.

use crate::codes;
use boson_document::{Place, Report, Tree};
use boson_fields::Required;

/// Reports fields that a type of Kubernetes does not have, does not have with this type, or requires. Returns whether
/// there are none.
pub fn check(kind: &str, value: &Tree, place: &Place, report: &mut Report) -> bool {
    let flaws = boson_fields::check(kind, value, Required::Checked);
    let is_valid = flaws.is_empty();
    for flaw in flaws {
        let error = report.error(codes::FIELD, place.join(flaw.pointer.tokens()), flaw.why);
        if let Some(unknown) = flaw.unknown {
            error.suggest(&unknown.name, unknown.known.iter().copied());
        }
    }
    is_valid
}

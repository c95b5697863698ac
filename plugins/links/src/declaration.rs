//! What the manifest declares about a link of a job.

use crate::codes;
use boson_document::{Place, Report, Tree};
use boson_manifest::members::Members;
use boson_manifest::redacted::plain;

/// The members of an entry that is not `nil`. `subject`: the link and where it is, in BOSH's words.
pub fn members<'m>(given: &'m Tree, place: Place, subject: &str, report: &mut Report) -> Option<Members<'m>> {
    if given.as_map().is_none() {
        let message = format!("{subject} specified in the manifest should only be a hash or string 'nil'");
        report.error(codes::DECLARATION, place, message);
        return None;
    }
    Members::of(given, place, codes::MEMBERS, report)
}

/// BOSH's words for keys that belong to the release.
pub fn name_or_type(link: &str, place: &str) -> String {
    format!(
        "Cannot specify 'name' or 'type' properties in the manifest for link '{link}' {place}. Please provide these keys in the release only."
    )
}

/// Warns of keys that have no effect.
pub fn unused(members: &Members<'_>, known: &[&str], what: &str, report: &mut Report) {
    for key in members.all().keys().filter(|key| !known.contains(&key.as_str())) {
        let message = format!("The key '{}' of {what} has no effect", plain(key));
        report
            .warning(codes::UNUSED_KEY, members.place.at(key), message)
            .help("take it out, or check its spelling")
            .suggest(key, known.iter().copied());
    }
}

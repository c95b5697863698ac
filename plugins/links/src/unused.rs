//! Keys of links that have no effect.

use crate::codes;
use crate::value::plain;
use boson_document::Report;
use boson_manifest::members::Members;

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

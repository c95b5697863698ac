//! Places of the resolved document in the manifest that the user wrote.

use crate::diagnostic::Diagnostic;
use boson_document::{Pointer, Tree};

/// The job property for us, and its older name, which the resolved document does not keep.
const QUARKS: &str = "quarks";
const OLDER: &str = "bosh_containerization";

/// Where the group of this name is in the manifest.
pub fn of_group(manifest: &Tree, group: &str) -> String {
    let index = manifest
        .items("instance_groups")
        .iter()
        .position(|one| one.str("name") == Some(group));
    let root = Pointer::root().at("instance_groups");
    index.map_or(root.clone(), |index| root.at(index)).to_string()
}

/// Leads diagnostics about the property for us to the name that it has in the manifest.
pub fn as_written(diagnostics: &mut [Diagnostic], manifest_name: &str, manifest: &Tree) {
    for one in diagnostics {
        if one.place.document.as_deref() != Some(manifest_name) {
            continue;
        }
        if let Some(found) = one
            .place
            .pointer
            .as_deref()
            .and_then(|pointer| written(pointer, manifest))
        {
            one.place.pointer = Some(found.to_string());
        }
    }
}

fn written(pointer: &str, manifest: &Tree) -> Option<Pointer> {
    let tokens = Pointer::parse(pointer)?.tokens().to_vec();
    let at = tokens.windows(2).position(|pair| pair == ["properties", QUARKS])?;
    let (above, below) = (&tokens[..=at], &tokens[at + 2..]);
    let properties = Pointer::from(above.to_vec());
    let has = |name: &str| properties.at(name).find(manifest).is_some();
    (!has(QUARKS) && has(OLDER)).then(|| properties.at(OLDER).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn the_older_name_of_our_property_is_found() {
        let manifest =
            r#"{"jobs": [{"properties": {"bosh_containerization": {"run": 1}}}, {"properties": {"quarks": {}}}]}"#;
        let manifest = json::parse(manifest).unwrap();
        for (pointer, wanted) in [
            (
                "/jobs/0/properties/quarks/run/x",
                Some("/jobs/0/properties/bosh_containerization/run/x"),
            ),
            (
                "/jobs/0/properties/quarks",
                Some("/jobs/0/properties/bosh_containerization"),
            ),
            ("/jobs/1/properties/quarks/run", None),
            ("/jobs/0/properties/other", None),
        ] {
            let found = written(pointer, &manifest).map(|pointer| pointer.to_string());
            assert_eq!(found.as_deref(), wanted);
        }
    }
}

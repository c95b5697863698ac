//! Tags of a deployment and its instance groups: annotations of all objects, Secrets between the steps of a conversion
//! included.

use boson_document::{Tree, go};
use boson_manifest::labels::GROUP;
use boson_manifest::syntax::is_qualified;
use std::collections::BTreeMap;

/// Tags of the manifest, and over them those of an instance group.
///
/// Tags that Kubernetes does not take are left out, as the bpm stage rejects them later; so are the operator's own
/// annotations, and values that are placeholders.
pub fn tags(manifest: &Tree, group: Option<&str>) -> BTreeMap<String, String> {
    let mut groups = manifest.items("instance_groups").iter();
    let group = group.and_then(|name| groups.find(|group| group.str("name") == Some(name)));
    let tags = [manifest.get("tags"), group.and_then(|group| group.get("tags"))];
    let members = tags.into_iter().flatten().filter_map(Tree::as_map).flatten();
    let is_own = |name: &str| name.split_once('/').is_some_and(|(domain, _)| domain == GROUP);
    members
        .filter(|(name, _)| is_qualified(name) && !is_own(name))
        .filter_map(|(name, value)| Some((name.clone(), go::text(value)?)))
        .filter(|(_, text)| !text.contains("(("))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn tags_of_a_group_are_over_those_of_the_deployment() {
        let manifest = r#"{"tags": {"a": 1, "b": "x", "no key": "y", "c": ["z"], "d": "((v))", "quarks.cloudfoundry.org/encoding": "q"},
            "instance_groups": [{"name": "g"}, {"name": "h", "tags": {"b": "own"}}]}"#;
        let manifest = json::parse(manifest).unwrap();
        let of = |group| {
            let tags = tags(&manifest, group).into_iter();
            tags.map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(of(None), "a=1 b=x");
        assert_eq!(of(Some("g")), "a=1 b=x");
        assert_eq!(of(Some("h")), "a=1 b=own");
    }
}

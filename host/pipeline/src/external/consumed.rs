//! Which other deployments a manifest names in its links.

use boson_document::Tree;
use std::collections::BTreeSet;

/// The values of `deployment` of all consumed links, but for the names of the deployment itself.
pub fn consumed(manifest: &Tree, deployment: &str) -> BTreeSet<String> {
    let groups = manifest.items("instance_groups").iter();
    let jobs = groups
        .chain(manifest.items("addons"))
        .flat_map(|group| group.items("jobs"));
    let links = jobs.filter_map(|job| job.get("consumes")?.as_map());
    let named = links
        .flat_map(|links| links.values())
        .filter_map(|link| link.str("deployment"));
    let is_other = |name: &&str| *name != deployment && Some(*name) != manifest.str("name");
    named.filter(is_other).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn only_other_deployments_are_named() {
        let manifest = json::parse(
            r#"{"name": "m", "addons": [{"jobs": [{"consumes": {"x": {"deployment": "of-addon"}}}]}], "instance_groups": [{"jobs": [
                {"consumes": {"a": {"from": "x", "deployment": "one"}, "b": "nil", "c": {"deployment": "m"}}},
                {"consumes": {"a": {"deployment": "own"}, "b": {"deployment": false}}}, {"consumes": null}, {}]}]}"#,
        )
        .unwrap();
        let names: Vec<String> = consumed(&manifest, "own").into_iter().collect();
        assert_eq!(names, ["of-addon", "one"]);
    }
}

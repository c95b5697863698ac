//! Wrappers that are for instance groups that the deployment does not have: a misspelt name would disable one in
//! silence. Pure.

use crate::codes;
use boson_api::PluginUse;
use boson_document::Tree;
use boson_pipeline::Diagnostic;

/// Warnings about wrappers that serve no instance group of the manifest.
pub fn warnings(uses: &[PluginUse], manifest: &Tree) -> Vec<Diagnostic> {
    let there: Vec<&str> = manifest
        .items("instance_groups")
        .iter()
        .filter_map(|group| group.str("name"))
        .collect();
    let warning = |one: &PluginUse| {
        let [first, ..] = one.instance_groups.as_deref()? else {
            return None;
        };
        let serves = |group: &String| there.contains(&group.as_str());
        if one.instance_groups.iter().flatten().any(serves) {
            return None;
        }
        let (name, stage) = (&one.name, one.stage);
        let message = format!(
            "plugin '{name}' of the stage '{stage}' has no effect: the deployment has none of its instance groups, such as '{first}'"
        );
        let warning = Diagnostic::warning(codes::PLUGIN_WITHOUT_GROUP, message);
        let help = "change `instanceGroups` in the selector of its plugin.yaml";
        Some(warning.help(help).suggest(first, there.iter().copied()))
    };
    uses.iter().filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;
    use boson_pipeline::Stage;

    #[test]
    fn a_wrapper_without_a_group_is_reported_with_the_group_that_is_meant() {
        let manifest = json::parse(r#"{"instance_groups": [{"name": "web"}, {"name": "db"}]}"#).unwrap();
        let wrapper = |groups: Option<&[&str]>| PluginUse {
            stage: Stage::Bpm,
            name: "mine".into(),
            version: "1.0.0".into(),
            digest: "0".repeat(64),
            runs: None,
            instance_groups: groups.map(|groups| groups.iter().map(ToString::to_string).collect()),
        };
        for groups in [None, Some(&["web"][..]), Some(&["other", "db"])] {
            assert_eq!(warnings(&[wrapper(groups)], &manifest), []);
        }
        let warnings = warnings(&[wrapper(Some(&["wbe"])), wrapper(None)], &manifest);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].message.contains("such as 'wbe'"), "{warnings:?}");
        assert!(warnings[0].help.as_ref().unwrap().contains("'web'"), "{warnings:?}");
    }
}

//! How two manifests differ, in the lines that `bosh deploy` prints before it asks whether to continue.

use super::changeset::{self, Shown};
use super::lines::{self, Line};
use super::redacted::redacted;
use crate::yaml;
use boson_document::Tree;
use boson_manifest::addons::RUNTIME_CONFIG;
use boson_manifest::cloud;

/// The lists that the director has in a cloud config.
const CLOUD_LISTS: [&str; 5] = ["azs", "vm_types", "disk_types", "networks", "vm_extensions"];

/// What is shown of properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Properties {
    /// As `<redacted>`.
    Redacted,
    /// As they are.
    Shown,
}

/// The lines in which two manifests differ, with their cloud configs. `None`: there is no deployment yet. The manifests
/// have their ops files, and their placeholders.
pub fn manifest(old: Option<&Tree>, new: &Tree, properties: Properties) -> Vec<Line> {
    let old = old.map_or_else(Tree::object, as_compared);
    lines_of(&old, &as_compared(new), properties)
}

fn lines_of(old: &Tree, new: &Tree, properties: Properties) -> Vec<Line> {
    let shown = |manifest: &Tree| match properties {
        Properties::Redacted => redacted(manifest),
        Properties::Shown => manifest.clone(),
    };
    let (shown_old, shown_new) = (shown(old), shown(new));
    let pair = |value, shown| Shown { value, shown };
    let lines = changeset::lines(pair(old, &shown_old), pair(new, &shown_new), 0);
    lines::ordered(lines)
}

/// The manifest as the director reads it, merged with its cloud configs.
fn as_compared(manifest: &Tree) -> Tree {
    let mut manifest = manifest.clone();
    let Some(members) = manifest.as_object_mut() else {
        return manifest;
    };
    members.shift_remove(RUNTIME_CONFIG);
    let cloud = members.shift_remove(cloud::KEY);
    let mut sent = yaml::as_sent(manifest);
    let cloud = cloud.map(yaml::as_sent);
    let cloud = cloud
        .as_ref()
        .and_then(Tree::as_object)
        .filter(|cloud| !cloud.is_empty());
    if let (Some(members), Some(cloud)) = (sent.as_object_mut(), cloud) {
        let list = |key: &str| cloud.get(key).cloned().unwrap_or_else(|| Tree::Array(Vec::new()));
        members.extend(CLOUD_LISTS.map(|key| (key.to_string(), list(key))));
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    /// `tests/manifest-diffs.json`: pairs of manifests, and the lines that the director's own classes (bosh 283.1.6)
    /// gave for them.
    #[test]
    fn manifests_differ_as_the_director_says() {
        let recorded = json::parse(include_str!("../../tests/manifest-diffs.json")).unwrap();
        for case in recorded.as_array().unwrap() {
            let (old, new) = (case.get("old").unwrap(), case.get("new").unwrap());
            let wanted: Vec<(&str, Option<&str>)> = case
                .items("diff")
                .iter()
                .map(|line| line.as_array().unwrap())
                .map(|line| (line[0].as_str().unwrap(), line[1].as_str()))
                .collect();
            let lines = lines_of(old, new, Properties::Redacted);
            let found: Vec<(&str, Option<&str>)> = lines
                .iter()
                .map(|line| (line.text.as_str(), line.status.name()))
                .collect();
            assert_eq!(found, wanted, "{} {}", json::to_text(old), json::to_text(new));
            assert_eq!(lines_of(new, new, Properties::Redacted), []);
        }
    }

    #[test]
    fn values_of_properties_are_shown_if_they_are_asked_for() {
        let group = |word: &str| {
            let job = Tree::object()
                .with("name", "app")
                .with("properties", Tree::object().with("word", word));
            let group = Tree::object().with("name", "web").with("jobs", Tree::Array(vec![job]));
            Tree::object().with("instance_groups", Tree::Array(vec![group]))
        };
        let text = |properties| {
            let lines = lines_of(&group("old"), &group("new"), properties);
            let changed = lines.into_iter().filter(|line| line.status.name().is_some());
            changed.map(|line| line.text.trim().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            text(Properties::Redacted),
            ["word: \"<redacted>\"", "word: \"<redacted>\""]
        );
        assert_eq!(text(Properties::Shown), ["word: old", "word: new"]);
    }
}

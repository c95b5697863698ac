//! What caused a change of a deployment: inputs, plugins, images, or others. Pure.

use boson_api::deployment::{Input, InputKind};
use boson_api::{BoshDeploymentStatus, PluginUse};

pub struct Causes<'a> {
    /// The status of the deployment before.
    pub status: Option<&'a BoshDeploymentStatus>,
    /// The present generation of its specification.
    pub generation: Option<i64>,
    /// Its present inputs.
    pub inputs: Vec<Input>,
    /// Its present plugins.
    pub plugins: &'a [PluginUse],
}

// === impl Causes ===

impl Causes<'_> {
    /// Their names. `is_new`: whether objects were only created; `images`: images that change.
    pub fn names(&self, is_new: bool, images: &[String]) -> Vec<String> {
        let before = self.status.map_or(&[][..], |status| &status.inputs);
        if before.is_empty() {
            let cause = if is_new {
                "the new deployment"
            } else {
                "another version of the operator"
            };
            return vec![cause.to_string()];
        }
        let mut causes = changes(before, &self.inputs);
        let used = self.status.map_or(&[][..], |status| &status.plugins);
        causes.extend(plugins(used, self.plugins));
        causes.extend(images.iter().cloned());
        if causes.is_empty() {
            let same = self.status.and_then(|status| status.observed_generation) == self.generation;
            let cause = if same {
                "changes or deletions by others"
            } else {
                "the specification of the BOSHDeployment"
            };
            causes.push(cause.to_string());
        }
        causes
    }
}

/// What has changed between two states, as `ops 'configmap/scale'`.
pub fn changes(before: &[Input], now: &[Input]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut note = |input: &Input, how: &str| {
        let kind = match input.kind {
            InputKind::Manifest => "manifest",
            InputKind::Ops => "ops",
            InputKind::CloudConfig => "cloud config",
            InputKind::RuntimeConfig => "runtime config",
            InputKind::Variable => "variable",
            InputKind::Link => "link",
        };
        let text = format!("{kind} '{}'{how}", input.name);
        if !found.contains(&text) {
            found.push(text);
        }
    };
    let is_same = |one: &Input, other: &Input| (one.kind, &one.name) == (other.kind, &other.name);
    for input in now {
        match before.iter().find(|old| is_same(old, input)) {
            None => note(input, " added"),
            Some(_) if before.contains(input) => {}
            Some(_) => note(input, ""),
        }
    }
    for input in before.iter().filter(|old| !now.iter().any(|new| is_same(old, new))) {
        note(input, " removed");
    }
    found
}

/// Plugins that were replaced, added or removed.
fn plugins(before: &[PluginUse], now: &[PluginUse]) -> Vec<String> {
    let is_same = |one: &PluginUse, other: &PluginUse| (one.stage, &one.name) == (other.stage, &other.name);
    let mut found = Vec::new();
    for plugin in now.iter().filter(|plugin| !before.contains(plugin)) {
        let name = &plugin.name;
        found.push(match before.iter().find(|old| is_same(old, plugin)) {
            Some(old) if old.version != plugin.version => {
                format!("plugin '{name}' {} -> {}", old.version, plugin.version)
            }
            Some(_) => format!("plugin '{name}'"),
            None => format!("plugin '{name}' added"),
        });
    }
    let removed = before.iter().filter(|old| !now.iter().any(|new| is_same(old, new)));
    found.extend(removed.map(|plugin| format!("plugin '{}' removed", plugin.name)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(kind: InputKind, name: &str, digest: &str) -> Input {
        Input {
            kind,
            name: name.into(),
            digest: digest.into(),
        }
    }

    #[test]
    fn changes_are_reported_by_name() {
        use InputKind::{Manifest, Ops, Variable};
        let before = [
            input(Manifest, "configmap/m", "1"),
            input(Ops, "configmap/o", "1"),
            input(Variable, "old", "1"),
            input(Variable, "same", "1"),
        ];
        let now = [
            input(Manifest, "configmap/m", "2"),
            input(Ops, "configmap/o", "1"),
            input(Ops, "secret/p", "1"),
            input(Variable, "same", "1"),
        ];
        assert_eq!(
            changes(&before, &now),
            [
                "manifest 'configmap/m'",
                "ops 'secret/p' added",
                "variable 'old' removed"
            ]
        );
        assert_eq!(changes(&now, &now), [""; 0]);
    }

    #[test]
    fn a_change_without_another_cause_is_one_by_others_or_of_the_specification() {
        let status = BoshDeploymentStatus {
            observed_generation: Some(1),
            inputs: vec![input(InputKind::Manifest, "configmap/m", "1")],
            ..BoshDeploymentStatus::default()
        };
        let names = |status: Option<&BoshDeploymentStatus>, generation, digest: &str, is_new| {
            let inputs = status.map_or(Vec::new(), |status| status.inputs.clone()).into_iter();
            let causes = Causes {
                status,
                generation: Some(generation),
                inputs: inputs
                    .map(|one| Input {
                        digest: digest.into(),
                        ..one
                    })
                    .collect(),
                plugins: &[],
            };
            causes.names(is_new, &[]).join(", ")
        };
        assert_eq!(names(None, 1, "", true), "the new deployment");
        assert_eq!(names(None, 1, "", false), "another version of the operator");
        assert_eq!(names(Some(&status), 1, "1", true), "changes or deletions by others");
        assert_eq!(
            names(Some(&status), 2, "1", true),
            "the specification of the BOSHDeployment"
        );
        assert_eq!(names(Some(&status), 2, "2", true), "manifest 'configmap/m'");
    }

    #[test]
    fn plugins_are_named_with_their_versions() {
        let plugin = |name: &str, version: &str, digest: &str| PluginUse {
            stage: boson_pipeline::Stage::Bpm,
            name: name.into(),
            version: version.into(),
            digest: digest.into(),
            runs: None,
            instance_groups: None,
        };
        let before = [plugin("a", "1", "x"), plugin("b", "1", "x"), plugin("c", "1", "x")];
        let now = [plugin("a", "2", "y"), plugin("b", "1", "y"), plugin("d", "1", "x")];
        assert_eq!(
            plugins(&before, &now),
            [
                "plugin 'a' 1 -> 2",
                "plugin 'b'",
                "plugin 'd' added",
                "plugin 'c' removed"
            ]
        );
    }
}

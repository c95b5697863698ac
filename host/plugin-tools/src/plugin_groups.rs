//! Which instance groups `--plugin-instance-groups` restricts wrappers to. An option without effect is an error.

use crate::codes;
use crate::plugin_arguments::SelectedGroups;
use boson_document::Tree;
use boson_pipeline::{Diagnostic, Stage};
use boson_sandbox::Plugin;

/// Errors for instance groups that the manifest does not have.
pub fn unknown(options: &[SelectedGroups], manifest: &Tree) -> Vec<Diagnostic> {
    let names: Vec<&str> = manifest
        .items("instance_groups")
        .iter()
        .filter_map(|group| group.str("name"))
        .collect();
    let selected = options.iter().flat_map(|option| &option.value);
    let unknown = selected.filter(|group| !names.contains(&group.as_str()));
    let error = |group: &String| {
        let what = format!("--plugin-instance-groups: the manifest has no instance group '{group}'");
        let help = format!("its instance groups are {}", names.join(", "));
        Diagnostic::error(codes::PLUGIN_GROUPS_UNUSED, what)
            .help(help)
            .suggest(group, names.iter().copied())
    };
    unknown.map(error).collect()
}

/// The options, and whether a wrapper matched each.
pub struct Restrictions<'a>(Vec<(&'a SelectedGroups, bool)>);

// === impl Restrictions ===

impl<'a> Restrictions<'a> {
    /// The options for plugins of these stages; other plugins are not loaded.
    pub fn new(options: &'a [SelectedGroups], stages: &[Stage]) -> Self {
        let ours = options.iter().filter(|one| stages.contains(&one.stage));
        Self(ours.map(|one| (one, false)).collect())
    }

    /// Restricts a wrapper with this name, if options match it.
    pub fn apply(&mut self, plugin: Plugin, name: &str) -> Plugin {
        let mut groups = Vec::new();
        for (option, is_used) in &mut self.0 {
            let is_named = option.name.as_deref().is_none_or(|option| option == name);
            if plugin.wraps && option.stage == plugin.stage && is_named {
                *is_used = true;
                groups.extend(option.value.iter().cloned());
            }
        }
        if groups.is_empty() {
            plugin
        } else {
            plugin.for_groups(&groups)
        }
    }

    /// Errors for options that match no wrapper.
    pub fn unused(&self) -> Vec<Diagnostic> {
        let unused = self.0.iter().filter(|(_, is_used)| !is_used);
        let error = |(option, _): &(&SelectedGroups, bool)| {
            let stage = option.stage;
            let what = match &option.name {
                Some(name) => format!("--plugin-instance-groups: there is no wrapper '{name}' of the stage '{stage}'"),
                None => format!("--plugin-instance-groups: there is no wrapper of the stage '{stage}'"),
            };
            let help = "only wrappers can be restricted to instance groups; add one with --plugin";
            Diagnostic::error(codes::PLUGIN_GROUPS_UNUSED, what).help(help)
        };
        unused.map(error).collect()
    }
}

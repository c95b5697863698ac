//! Which plugins are read at all: those from allowed namespaces, up to a number. Pure.

use super::approval::PluginUpdates;
use super::marks::{MAX_PLUGINS, MAX_PLUGINS_PER_NAMESPACE};
use super::registry::{Key, Plugin};
use crate::codes;
use boson_pipeline::Diagnostic;
use clap::ValueEnum;
use std::collections::BTreeMap;

/// What an administrator requires of plugins from ConfigMaps.
#[derive(Clone, Copy, Debug, Default)]
pub struct PluginPolicy {
    /// Which are used.
    pub sources: PluginSources,
    /// Images must have a digest in `plugin.yaml`; tags are not resolved.
    pub pinned: bool,
    /// Whether new versions have to be approved.
    pub updates: PluginUpdates,
}

/// Which plugins from ConfigMaps the operator uses. The comments are the help of its option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PluginSources {
    /// None; only the installed plugins
    Off,
    /// Those in the operator's namespace
    Operator,
    /// Those in all namespaces that it serves
    #[default]
    All,
}

/// The plugins that are refused without being read, and why. Of too many plugins, the older ones are used.
pub(super) fn refused(
    sources: PluginSources,
    operator_namespace: &str,
    plugins: &BTreeMap<Key, Plugin>,
) -> BTreeMap<Key, Diagnostic> {
    let mut refused = BTreeMap::new();
    let mut allowed: Vec<(&Key, &Plugin)> = Vec::new();
    for (key, plugin) in plugins {
        match sources {
            PluginSources::All => allowed.push((key, plugin)),
            PluginSources::Operator if key.namespace == operator_namespace => allowed.push((key, plugin)),
            PluginSources::Operator => drop(refused.insert(key.clone(), not_allowed_error("from this namespace"))),
            PluginSources::Off => drop(refused.insert(key.clone(), not_allowed_error("from ConfigMaps"))),
        }
    }
    allowed.sort_by_key(|(key, plugin)| (plugin.created, *key));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = 0;
    for (key, _) in allowed {
        let here = counts.entry(&key.namespace).or_default();
        if *here >= MAX_PLUGINS_PER_NAMESPACE || all >= MAX_PLUGINS {
            refused.insert(key.clone(), too_many_error());
        } else {
            *here += 1;
            all += 1;
        }
    }
    refused
}

fn not_allowed_error(from: &str) -> Diagnostic {
    let what = format!("the operator does not use plugins {from}");
    Diagnostic::error(codes::PLUGIN_NOT_ALLOWED, what)
        .help("delete the ConfigMap, or ask an administrator to change --plugins of the operator")
}

fn too_many_error() -> Diagnostic {
    let what = format!("more than {MAX_PLUGINS_PER_NAMESPACE} plugins in a namespace, or {MAX_PLUGINS} in total");
    Diagnostic::error(codes::PLUGIN_TOO_MANY, what).help("delete ConfigMaps with unused plugins")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugins(of: &[(&str, usize)]) -> BTreeMap<Key, Plugin> {
        let one = |namespace: &str, nth: usize| {
            let key = Key {
                namespace: namespace.into(),
                name: format!("p{nth:03}"),
            };
            let plugin = Plugin {
                created: i64::try_from(1000 - nth).unwrap(),
                ..Plugin::default()
            };
            (key, plugin)
        };
        of.iter()
            .flat_map(|(namespace, count)| (0..*count).map(move |nth| one(namespace, nth)))
            .collect()
    }

    fn names(sources: PluginSources, plugins: &BTreeMap<Key, Plugin>) -> Vec<(String, String)> {
        let refused = refused(sources, "boson", plugins);
        refused
            .into_iter()
            .map(|(key, error)| (key.to_string(), error.code))
            .collect()
    }

    #[test]
    fn an_administrator_decides_whose_plugins_are_used() {
        let plugins = plugins(&[("boson", 1), ("cf", 1)]);
        let refused = |key: &str| (key.to_string(), "plugin-not-allowed".to_string());
        assert_eq!(names(PluginSources::All, &plugins), []);
        assert_eq!(names(PluginSources::Operator, &plugins), [refused("cf/p000")]);
        assert_eq!(
            names(PluginSources::Off, &plugins),
            [refused("boson/p000"), refused("cf/p000")]
        );
    }

    #[test]
    fn of_too_many_plugins_the_oldest_are_used() {
        let plugins = plugins(&[("boson", 1), ("cf", 18)]);
        let too_many = |key: &str| (key.to_string(), "plugin-too-many".to_string());
        assert_eq!(
            names(PluginSources::All, &plugins),
            [too_many("cf/p000"), too_many("cf/p001")]
        );
        let refused = names(PluginSources::Operator, &plugins);
        assert_eq!(refused.len(), 18, "those that are not allowed do not count");
        assert!(refused.iter().all(|(_, code)| code == "plugin-not-allowed"));
    }
}

//! Cloud configs: merged as the director merges them, and added to the manifest, where the stages look up the names
//! that it uses.
//!
//! Every part of the result keeps its place, so that an error about a VM type names the line of the cloud config.
//! Placeholders are replaced together with the manifest's: a cloud config is interpolated for each deployment that uses
//! it.

pub mod codes;

use crate::diagnostic::Diagnostic;
use crate::report::Sources;
use crate::stage::Origin;
use crate::yaml::Document;
use boson_document::{Code, Map, Pointer, Tree, placeholder};
use boson_manifest::cloud::{KEY, LISTS};
use boson_manifest::types::{self, Type};
use std::borrow::Borrow;

/// Key for compilation VMs, which a conversion does not need.
const COMPILATION_KEY: &str = "compilation";

/// Adds the merged cloud configs to a manifest whose ops files are applied, under their own key, and registers the
/// places of their parts with `sources`. Warns about parts that were left out.
///
/// # Errors
/// A cloud config that is not a map, has a value of another type where a list is expected, or conflicts with another.
pub fn combine(
    name: &str,
    mut manifest: Tree,
    configs: &[impl Borrow<Document>],
    sources: &mut Sources,
) -> Result<(Tree, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut warnings: Vec<Diagnostic> = configs
        .iter()
        .flat_map(|config| config.borrow().warnings.clone())
        .collect();
    if let Some(members) = manifest.as_object_mut()
        && members.shift_remove(KEY).is_some()
    {
        let message = format!("Key '{KEY}' of the manifest has no effect: BOSH does not know it");
        let warning = Diagnostic::warning(codes::CLOUD_CONFIG_IN_MANIFEST, message);
        warnings.push(warning.in_document(name).at(Pointer::root().at(KEY)));
    }
    if configs.is_empty() || manifest.as_object().is_none() {
        return Ok((manifest, warnings));
    }
    let mut merging = Merging::default();
    configs.iter().for_each(|config| merging.add(config.borrow()));
    if !merging.errors.is_empty() {
        return Err(merging.errors);
    }
    manifest.set(KEY, Tree::Object(merging.merged));
    sources.add_parts(name, &manifest, &merging.origins);
    Ok((manifest, warnings))
}

#[derive(Default)]
struct Merging {
    merged: Map,
    origins: Vec<Origin>,
    errors: Vec<Diagnostic>,
    /// Name of the config that has `compilation`.
    compiles: Option<String>,
}

// === impl Merging ===

impl Merging {
    fn add(&mut self, config: &Document) {
        let members = match &config.tree {
            Tree::Null => return,
            Tree::Object(members) if config.tree.as_map().is_some() => members,
            other => {
                let message = types::not_a_hash(other);
                return self.error(codes::CLOUD_CONFIG_MALFORMED, config, Pointer::root(), message);
            }
        };
        self.origin(Pointer::root().at(KEY), config, Pointer::root());
        for (key, value) in members {
            match key.as_str() {
                list if LISTS.contains(&list) => self.list(list, value, config),
                COMPILATION_KEY => self.compilation(config),
                // Only its name is reported: its content has no effect, and must not require variables.
                other => {
                    self.origin(Pointer::root().at(KEY).at(other), config, Pointer::root().at(other));
                    self.merged.insert(other.to_string(), Tree::Null);
                }
            }
        }
    }

    fn list(&mut self, key: &str, value: &Tree, config: &Document) {
        let at = Pointer::root().at(key);
        let items = match value {
            Tree::Array(items) => items.as_slice(),
            // A whole list may be a variable: the director flattens it once it has a value.
            Tree::String(text) if placeholder::whole(text).is_some() => std::slice::from_ref(value),
            other => {
                let message = Type::Array.mismatch(key, other);
                return self.error(codes::CLOUD_CONFIG_MALFORMED, config, at, message);
            }
        };
        let reduced = |item: &Tree| match key {
            "networks" => network(item),
            _ => item.clone(),
        };
        let list = self
            .merged
            .entry(key.to_string())
            .or_insert_with(|| Tree::Array(Vec::new()));
        let Some(list) = list.as_array_mut() else { return };
        let first = list.len();
        list.extend(items.iter().map(reduced));
        let merged = Pointer::root().at(KEY).at(key);
        if first == 0 {
            self.origin(merged.clone(), config, at.clone());
        }
        for index in 0..items.len() {
            let source = match value {
                Tree::Array(_) => at.at(index),
                _ => at.clone(),
            };
            self.origin(merged.at(first + index), config, source);
        }
    }

    fn compilation(&mut self, config: &Document) {
        if let Some(other) = self.compiles.replace(config.name.clone()) {
            let message = "Cloud config 'compilation' key cannot be defined in multiple cloud configs.";
            let at = Pointer::root().at(COMPILATION_KEY);
            self.error(
                codes::CLOUD_CONFIG_CONFLICT,
                config,
                at,
                format!("{message} '{other}' has it, too"),
            );
        }
    }

    fn origin(&mut self, pointer: Pointer, config: &Document, source: Pointer) {
        self.origins.push(Origin {
            pointer: pointer.to_string(),
            document: config.name.clone(),
            source: source.to_string(),
        });
    }

    fn error(&mut self, code: &Code, config: &Document, at: Pointer, message: String) {
        self.errors
            .push(Diagnostic::error(code, message).in_document(&config.name).at(at));
    }
}

/// The part of a network that is checked: which AZs it reaches. Ranges and gateways do not apply to this cluster, and
/// may need variables that have no value.
fn network(entry: &Tree) -> Tree {
    let Some(members) = entry.as_map() else {
        return entry.clone();
    };
    let zones = |tree: &Tree| -> Tree {
        let members = tree.as_object().into_iter().flatten();
        let kept = members.filter(|(key, _)| ["az", "azs"].contains(&key.as_str()));
        kept.map(|(key, value)| (key.as_str(), value.clone())).collect()
    };
    let reduced = members.iter().filter_map(|(key, value)| match key.as_str() {
        "name" | "type" | "az" | "azs" => Some((key.as_str(), value.clone())),
        "subnets" => Some((
            "subnets",
            Tree::Array(entry.items("subnets").iter().map(zones).collect()),
        )),
        _ => None,
    });
    reduced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn documents(texts: &[&str]) -> Vec<Document> {
        let read = |(index, text): (usize, &&str)| yaml::read(&format!("cc{index}.yml"), text).unwrap();
        texts.iter().enumerate().map(read).collect()
    }

    fn combined(texts: &[&str]) -> Result<(Tree, Sources), Vec<Diagnostic>> {
        let manifest = yaml::read("m.yml", "name: demo\n").unwrap();
        let mut sources = Sources::default();
        sources.add_document(manifest.clone(), false);
        let configs = documents(texts);
        configs
            .iter()
            .for_each(|config| sources.add_document(config.clone(), false));
        let (manifest, _) = combine("m.yml", manifest.tree, &configs, &mut sources)?;
        Ok((manifest, sources))
    }

    #[test]
    fn lists_are_put_together_in_order_and_keep_their_places() {
        let first = "azs: [{name: z1}]\nvm_types:\n- name: small\n";
        let second = "compilation: {workers: 2}\nvm_types:\n- name: large\n  cloud_properties: {cpu: ((cpus))}\n";
        let (manifest, sources) = combined(&[first, second]).unwrap();
        let names: Vec<_> = manifest
            .get(KEY)
            .unwrap()
            .items("vm_types")
            .iter()
            .map(|one| one.str("name"))
            .collect();
        assert_eq!(names, [Some("small"), Some("large")]);
        assert!(manifest.get(KEY).unwrap().get(COMPILATION_KEY).is_none());
        let about = Diagnostic::reported_error("x", "y")
            .in_document("m.yml")
            .at("/cloud_config/vm_types/1/cloud_properties/cpu");
        let located = sources.locate(&about.place);
        assert_eq!(
            (located.file.as_deref(), located.line, located.column),
            (Some("cc1.yml"), Some(4), Some(27))
        );
        assert_eq!(
            located.path.as_deref(),
            Some("/vm_types/name=large/cloud_properties/cpu")
        );
    }

    #[test]
    fn compilation_is_defined_once() {
        let errors = combined(&["compilation: {}", "azs: []", "compilation: {}"]).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].place.document.as_deref(), Some("cc2.yml"));
        let words = "Cloud config 'compilation' key cannot be defined in multiple cloud configs.";
        assert!(errors[0].message.starts_with(words), "{}", errors[0].message);
    }

    #[test]
    fn a_list_is_a_list_or_a_variable() {
        let (manifest, _) = combined(&["azs: ((azs))"]).unwrap();
        assert_eq!(manifest.get(KEY).unwrap().items("azs"), [Tree::from("((azs))")]);
        for text in ["azs: z1", "azs: ~", "- azs"] {
            assert_eq!(
                combined(&[text]).unwrap_err()[0].code,
                "cloud-config-malformed",
                "{text}"
            );
        }
    }

    #[test]
    fn networks_ask_for_no_variables() {
        let text = "networks: [{name: n, subnets: [{azs: [z1], range: ((range))}]}]";
        let (manifest, _) = combined(&[text]).unwrap();
        assert_eq!(placeholder::roots(&manifest).len(), 0);
        assert_eq!(
            manifest.get(KEY).unwrap().items("networks")[0].items("subnets").len(),
            1
        );
    }

    #[test]
    fn a_manifest_brings_no_cloud_config_of_its_own() {
        let manifest = yaml::read("m.yml", "cloud_config: {azs: [{name: z1}]}\n").unwrap().tree;
        let (combined, warnings) = combine("m.yml", manifest, &[] as &[Document], &mut Sources::default()).unwrap();
        assert_eq!(combined, Tree::object());
        assert_eq!(warnings[0].code, "cloud-config-in-manifest");
    }
}

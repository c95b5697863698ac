//! Runtime configs: merged with the manifest as the director merges them, so that the stages find their addons,
//! releases, variables and tags beside those of the manifest.
//!
//! An addon that applies to no instance group is left out, with its releases: a runtime config is for all deployments
//! of a platform. Placeholders have no values yet, so an addon that may apply stays, and the links stage decides. Every
//! part keeps its place: an error about an addon names the line of the runtime config.

pub mod codes;
mod config;
mod vm_releases;

use crate::diagnostic::Diagnostic;
use crate::report::Sources;
use crate::stage::{Named, Origin};
use crate::yaml::Document;
use boson_document::{Code, Map, Pointer, Report, Tree, ruby};
use boson_manifest::addons::{Addon, Candidate, Level, RUNTIME_CONFIG};
use boson_manifest::group::InstanceGroup;
use boson_manifest::job::Job;
use boson_manifest::members;
use boson_manifest::redacted::plain;
use boson_manifest::release::Release;
use config::{Config, RuntimeAddon};
use std::borrow::Borrow;

/// Lists that the director puts together.
const MERGED_LISTS: [&str; 3] = ["releases", "addons", "variables"];

/// Merges runtime configs with a manifest whose ops files are applied, and registers the places of their parts with
/// `sources`. `deployment`: its name. Warns about parts that have no effect.
///
/// # Errors
/// Runtime configs that the director refuses.
pub fn combine(
    document: Named<'_>,
    deployment: &str,
    configs: &[impl Borrow<Document>],
    sources: &mut Sources,
) -> Result<(Tree, Vec<Diagnostic>), Vec<Diagnostic>> {
    let manifest = document.tree.clone();
    if configs.is_empty() || manifest.as_map().is_none() {
        return Ok((manifest, Vec::new()));
    }
    let mut merging = Merging::new(manifest, deployment);
    for config in configs {
        merging.add(config.borrow());
    }
    merging.finish(document.name, sources)
}

struct Merging {
    manifest: Tree,
    groups: Vec<Candidate>,
    /// What comes from runtime configs: by list, how many of its last entries; and names of tags. A manifest that the
    /// operator has stored brings some.
    added: Tree,
    /// The runtime config that has `tags`.
    tagged: Option<String>,
    origins: Vec<Origin>,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

// === impl Merging ===

impl Merging {
    fn new(manifest: Tree, deployment: &str) -> Self {
        let mut merging = Self {
            groups: candidates(&manifest, deployment),
            added: manifest.get(RUNTIME_CONFIG).cloned().unwrap_or_else(Tree::object),
            manifest,
            tagged: None,
            origins: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
        };
        let mut unreported = members::unreported();
        for tree in merging.manifest.items("addons") {
            let (place, level) = (Pointer::root(), Level::Deployment);
            if let Some(addon) = Addon::read(tree, place, level, codes::ADDONS, &mut unreported) {
                let jobs: Vec<_> = addon.jobs(&mut unreported).collect();
                let jobs = jobs.into_iter();
                let jobs = jobs.filter_map(|(place, tree)| Job::read(tree, place, codes::MEMBERS, &mut unreported));
                place_jobs(&addon, &jobs.collect::<Vec<_>>(), &mut merging.groups);
            }
        }
        merging
    }

    fn add(&mut self, document: &Document) {
        self.warnings.extend(document.warnings.iter().cloned());
        if document.tree.is_null() {
            return;
        }
        let mut report = Report::default();
        if let Some(config) = Config::read(&document.tree, &mut report) {
            self.merge(&config, &document.name);
        }
        self.report(report, &document.name);
    }

    fn merge(&mut self, config: &Config<'_>, name: &str) {
        // The director looks for the releases that apply before it places the addons.
        let applies = |one: &&RuntimeAddon<'_>| self.groups.iter().any(|group| one.addon.may_apply(group));
        let used: Vec<&str> = config
            .addons
            .iter()
            .filter(applies)
            .flat_map(RuntimeAddon::kept)
            .map(|job| job.release.as_str())
            .collect();
        let used = config
            .releases
            .iter()
            .filter(|release| used.contains(&release.name.as_str()));
        used.for_each(|release| self.release(release, name));
        for addon in &config.addons {
            self.addon(addon, name);
        }
        for (index, variable) in config.variables.iter().enumerate() {
            let source = Pointer::root().at("variables").at(index);
            self.append("variables", variable.clone(), name, source);
        }
        if let Some(tags) = config.tags {
            self.tags(tags, name);
        }
    }

    fn release(&mut self, release: &Release<'_>, name: &str) {
        let listed = self.manifest.items("releases").iter();
        let same = |one: &&Tree| ruby::member(one, "name").as_deref() == Some(release.name.as_str());
        let Some(listed) = listed.filter(same).find_map(|one| ruby::member(one, "version")) else {
            return self.append("releases", release.tree.clone(), name, release.place.pointer.clone());
        };
        // The versions of variables and of `latest` are not known yet.
        let is_variable = listed.contains("((") || release.version.contains("((");
        let is_open = is_variable || listed == "latest" || listed.ends_with(".latest");
        if listed != release.version && !is_open {
            let message = format!(
                "Runtime manifest specifies release '{}' with version as '{}'. This conflicts with version '{}' specified in the deployment manifest.",
                plain(&release.name),
                plain(&release.version),
                plain(&listed)
            );
            let at = release.place.pointer.at("version");
            self.error(codes::RUNTIME_CONFIG_CONFLICT, name, at, message);
        }
    }

    fn addon(&mut self, one: &RuntimeAddon<'_>, name: &str) {
        if !place_jobs(&one.addon, &one.jobs, &mut self.groups) {
            return self.report(one.warnings.clone(), name);
        }
        let left_out = one.jobs.iter().filter_map(vm_releases::left_out).map(Diagnostic::from);
        self.warnings.extend(left_out.map(|warning| warning.in_document(name)));
        let kept: Vec<&Job<'_>> = one.kept().collect();
        if kept.is_empty() && !one.jobs.is_empty() {
            return;
        }
        let at = Pointer::root()
            .at("addons")
            .at(self.manifest.items("addons").len())
            .at("jobs");
        for (index, job) in kept.iter().enumerate() {
            self.origin(at.at(index), name, job.place().pointer.clone());
        }
        let mut addon = one.tree.clone();
        if kept.len() < one.jobs.len() {
            let jobs = kept.iter().map(|job| Tree::Object(job.members.all().clone()));
            addon.set("jobs", Tree::Array(jobs.collect()));
        }
        self.append("addons", addon, name, Pointer::root().at("addons").at(one.index));
    }

    /// Adds tags: those of the manifest override them.
    fn tags(&mut self, tags: &Map, name: &str) {
        let at = Pointer::root().at("tags");
        if let Some(other) = self.tagged.replace(name.to_string()) {
            let message = "Runtime config 'tags' key cannot be defined in multiple runtime configs.";
            let message = format!("{message} '{other}' has it, too");
            return self.error(codes::RUNTIME_CONFIG_CONFLICT, name, at, message);
        }
        let mut merged = self.manifest.get("tags").cloned().unwrap_or_else(Tree::object);
        // The links stage reports tags of another type.
        let Some(members) = merged.as_object_mut() else { return };
        let mut added = self.added.items("tags").to_vec();
        for (key, value) in tags {
            if !members.contains_key(key) {
                members.insert(key.clone(), value.clone());
                added.push(Tree::from(key.as_str()));
                self.origin(at.at(key), name, at.at(key));
            }
        }
        if !added.is_empty() {
            self.added.set("tags", Tree::Array(added));
            self.manifest.set("tags", merged);
        }
    }

    /// Adds an entry to a list of the manifest.
    fn append(&mut self, key: &str, entry: Tree, name: &str, source: Pointer) {
        if self.manifest.get(key).is_none_or(Tree::is_null) {
            self.manifest.set(key, Tree::Array(Vec::new()));
        }
        let list = self.manifest.get_mut(key).and_then(Tree::as_array_mut);
        let Some(list) = list else {
            let message = format!("The key '{key}' of the manifest is not a list, so runtime configs cannot add to it");
            return self.error(codes::RUNTIME_CONFIG_CONFLICT, name, source, message);
        };
        let at = Pointer::root().at(key).at(list.len());
        list.push(entry);
        self.added.set(key, count(&self.added, key) + 1);
        self.origin(at, name, source);
    }

    fn origin(&mut self, pointer: Pointer, document: &str, source: Pointer) {
        self.origins.push(Origin {
            pointer: pointer.to_string(),
            document: document.into(),
            source: source.to_string(),
        });
    }

    fn error(&mut self, code: &Code, name: &str, at: Pointer, message: String) {
        self.errors
            .push(Diagnostic::error(code, message).in_document(name).at(at));
    }

    fn report(&mut self, report: Report, name: &str) {
        let found = report.into_diagnostics().into_iter().map(Diagnostic::from);
        for one in found.map(|one| one.in_document(name)) {
            let list = if one.is_error() {
                &mut self.errors
            } else {
                &mut self.warnings
            };
            list.push(one);
        }
    }

    fn finish(mut self, name: &str, sources: &mut Sources) -> Result<(Tree, Vec<Diagnostic>), Vec<Diagnostic>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        if self.added != Tree::object() {
            self.manifest.set(RUNTIME_CONFIG, self.added);
        }
        sources.add_parts(name, &self.manifest, &self.origins);
        Ok((self.manifest, self.warnings))
    }
}

/// A merged manifest without what comes from runtime configs.
pub fn without(mut manifest: Tree) -> Tree {
    let Some(added) = manifest
        .as_object_mut()
        .and_then(|members| members.shift_remove(RUNTIME_CONFIG))
    else {
        return manifest;
    };
    for key in MERGED_LISTS {
        let Some(list) = manifest.get_mut(key).and_then(Tree::as_array_mut) else {
            continue;
        };
        let removed = usize::try_from(count(&added, key)).unwrap_or(0);
        list.truncate(list.len().saturating_sub(removed));
        if list.is_empty() && removed > 0 {
            manifest.as_object_mut().and_then(|members| members.shift_remove(key));
        }
    }
    let names = added.items("tags");
    if let Some(tags) = manifest.get_mut("tags").and_then(Tree::as_object_mut) {
        for name in names.iter().filter_map(Tree::as_str) {
            tags.shift_remove(name);
        }
        if tags.is_empty() && !names.is_empty() {
            manifest
                .as_object_mut()
                .and_then(|members| members.shift_remove("tags"));
        }
    }
    manifest
}

fn count(added: &Tree, key: &str) -> i64 {
    added.get(key).and_then(Tree::as_i64).unwrap_or(0)
}

/// The instance groups of a manifest, with their own jobs.
fn candidates(manifest: &Tree, deployment: &str) -> Vec<Candidate> {
    let group = |group: InstanceGroup<'_>| {
        let jobs = group.tree.items("jobs").iter();
        let jobs = jobs.filter_map(|job| Some((ruby::member(job, "name")?, ruby::member(job, "release")?)));
        Candidate::of(deployment, manifest, &group, jobs.collect())
    };
    InstanceGroup::all(manifest).map(group).collect()
}

/// Adds the jobs of an addon to the groups that it may apply to. Whether there are any.
fn place_jobs(addon: &Addon<'_>, jobs: &[Job<'_>], groups: &mut [Candidate]) -> bool {
    let mut placed = false;
    for group in groups.iter_mut().filter(|group| addon.may_apply(group)) {
        let jobs = jobs.iter().map(|job| (job.name.clone(), job.release.clone()));
        group.jobs.extend(jobs);
        placed = true;
    }
    placed
}

#[cfg(test)]
mod tests;

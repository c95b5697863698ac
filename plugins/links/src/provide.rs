//! Links that jobs provide, with the properties that they expose.

use crate::codes;
use crate::declaration::{self, name_or_type, unused};
use crate::group::Group;
use crate::job::Job;
use crate::properties::{pieces, place};
use boson_document::{Map, Place, Report, Tree};
use boson_manifest::members::Members;
use boson_manifest::redacted::plain;
use boson_manifest::spec::{Provides, Spec, Specs, property_names};
use boson_manifest::types::Type;
use std::collections::{HashMap, HashSet};

/// Who provides a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The job of this number in its group.
    Job(usize),
    Disk,
}

/// A link that is provided.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Name in the release, or of the custom definition.
    pub original: String,
    /// Name, `as` considered.
    pub name: String,
    pub kind: String,
    /// Number of the instance group.
    pub group: usize,
    /// Who provides it.
    pub source: Source,
    /// The exposed properties.
    pub properties: Tree,
    /// False for `nil`: it matches no consumer.
    pub consumable: bool,
    /// Whether other deployments may consume it.
    pub shared: bool,
}

/// Keys that the manifest may give for a provided link.
const KEYS: [&str; 3] = ["as", "shared", "aliases"];

/// The links that all jobs and disks of a group provide, in BOSH's order; errors are added to the report.
pub fn provided<'a>(number: usize, group: &Group<'a>, specs: &Specs<'a>, report: &mut Report) -> Vec<Provider> {
    let mut providers = Vec::new();
    for (index, job) in group.jobs.iter().enumerate() {
        let mut reader = Reader {
            group,
            job,
            spec: specs.get(job.spec),
            number,
            index,
            report,
        };
        reader.providers(&mut providers);
    }
    let disk = |name: &str| Provider {
        original: name.into(),
        name: name.into(),
        kind: "disk".into(),
        group: number,
        source: Source::Disk,
        properties: Tree::object().with("name", name),
        consumable: true,
        shared: false,
    };
    providers.extend(group.entry.persistent_disks().map(disk));
    providers
}

/// Defaults of the declared properties, by dotted name.
type Defaults<'s> = HashMap<&'s str, Option<&'s Tree>>;

struct Reader<'r, 'a> {
    group: &'r Group<'a>,
    job: &'r Job<'a>,
    spec: &'r Spec<'a>,
    number: usize,
    index: usize,
    report: &'r mut Report,
}

// === impl Reader ===

impl<'a> Reader<'_, 'a> {
    fn providers(&mut self, providers: &mut Vec<Provider>) {
        let of_release: HashSet<&str> = self.spec.provides.iter().map(|link| link.name.as_str()).collect();
        let custom = self.custom(&of_release);
        if !(custom.is_empty() && of_release.is_empty()) {
            let defaults = self
                .spec
                .properties
                .iter()
                .map(|property| (property.name, property.default))
                .collect();
            for (link, at) in &custom {
                providers.extend(self.provider(link, &defaults, at));
            }
            for link in &self.spec.provides {
                providers.extend(self.provider(link, &defaults, &self.job.place));
            }
        }
        let of_manifest: HashSet<&str> = custom.iter().map(|(link, _)| link.name.as_str()).collect();
        for name in self.job.provides.into_iter().flat_map(Map::keys) {
            if !of_release.contains(name.as_str()) && !of_manifest.contains(name.as_str()) {
                let message = format!(
                    "Job '{}' does not define link provider '{}' in the release spec",
                    self.job.name,
                    plain(name)
                );
                let at = self.job.place.at("provides").at(name);
                self.report
                    .warning(codes::UNKNOWN_LINK, at, message)
                    .help("check the link's name against the job's spec");
            }
        }
    }

    fn site(&self) -> String {
        format!("in job '{}' in instance group '{}'", self.job.name, self.group.name())
    }

    fn provider(&mut self, link: &Provides<'_>, defaults: &Defaults<'_>, at: &Place) -> Option<Provider> {
        let mut provider = Provider {
            original: link.name.clone(),
            name: link.name.clone(),
            kind: link.kind.clone(),
            group: self.number,
            source: Source::Job(self.index),
            properties: Tree::Null,
            consumable: true,
            shared: false,
        };
        if let Some(given) = self.job.provides.and_then(|provides| provides.get(&link.name)) {
            let at = self.job.place.at("provides").at(&link.name);
            self.given(given, at, &mut provider)?;
        }
        provider.properties = self.exposed(link, defaults, at)?;
        Some(provider)
    }

    /// Reads the manifest's entry for the link.
    fn given(&mut self, given: &Tree, at: Place, provider: &mut Provider) -> Option<()> {
        let link = plain(&provider.original);
        if given.as_str() == Some("nil") {
            provider.consumable = false;
            return Some(());
        }
        let subject = format!("Provider '{link}' {}", self.site());
        let members = declaration::members(given, at, &subject, self.report)?;
        if let Some(key) = ["name", "type"].into_iter().find(|key| members.get(key).is_some()) {
            let message = name_or_type(&link, &self.site());
            self.report.error(codes::DECLARATION, members.place.at(key), message);
            return None;
        }
        if let Some(name) = members.string("as", self.report) {
            provider.name = name;
        }
        unused(&members, &KEYS, "a provided link", self.report);
        provider.shared = members.get("shared").is_some_and(|shared| *shared == Tree::Bool(true));
        Some(())
    }

    fn exposed(&mut self, link: &Provides<'_>, defaults: &Defaults<'_>, at: &Place) -> Option<Tree> {
        let (mut exposed, mut sound) = (Map::new(), true);
        for name in &link.properties {
            let path = pieces(name);
            let value = match (find(&self.job.properties, &path), defaults.get(name)) {
                (Some(value), _) => value.clone(),
                (None, Some(default)) => default.cloned().unwrap_or_default(),
                (None, None) => {
                    let message = format!(
                        "Link property {} in template {} is not defined in release spec",
                        plain(name),
                        self.job.name
                    );
                    self.report.error(codes::PROVIDED_PROPERTY, at.clone(), message);
                    sound = false;
                    continue;
                }
            };
            if let Err(class) = place(&mut exposed, &path, value) {
                let message = format!("Property '{}' expects a hash, but received '{class}'", plain(name));
                self.report.error(codes::PROPERTY_TYPE, at.clone(), message);
                sound = false;
            }
        }
        sound.then_some(Tree::Object(exposed))
    }

    /// The manifest's own providers, and where each lists its properties.
    fn custom(&mut self, of_release: &HashSet<&str>) -> Vec<(Provides<'a>, Place)> {
        let (mut custom, mut names) = (Vec::new(), HashSet::new());
        for (index, item) in self.job.custom.iter().enumerate() {
            let at = self.job.place.at("custom_provider_definitions").at(index);
            let Some(members) = Members::of(item, at, codes::MEMBERS, self.report) else {
                continue;
            };
            let Some([name, kind]) = self.custom_name(&members) else {
                continue;
            };
            let subject = format!("Custom provider '{}' {}", plain(&name), self.site());
            if of_release.contains(name.as_str()) {
                let message = format!("{subject} is already defined in release '{}'", self.job.release);
                self.report
                    .error(codes::CUSTOM_PROVIDER, members.place.at("name"), message);
            } else if !names.insert(name.clone()) {
                let message = format!("{subject} is defined multiple times in manifest.");
                self.report
                    .error(codes::CUSTOM_PROVIDER, members.place.at("name"), message);
            }
            let (properties, wrong) = property_names(members.get("properties"));
            if let (Some(_), Some(value)) = (wrong, members.get("properties")) {
                members.report_mismatch("properties", value, Type::Array, self.report);
            }
            unused(
                &members,
                &["name", "type", "properties"],
                "a custom provider",
                self.report,
            );
            custom.push((Provides { name, kind, properties }, members.place.at("properties")));
        }
        custom
    }

    fn custom_name(&mut self, members: &Members<'_>) -> Option<[String; 2]> {
        let found = ["name", "type"].map(|key| {
            let text = members.get(key).and_then(Tree::as_str).filter(|text| !text.is_empty());
            if text.is_none() {
                let title = if key == "name" { "Name" } else { "Type" };
                let message = format!(
                    "{title} for custom link provider definition in manifest {} must be a valid non-empty string.",
                    self.site()
                );
                self.report
                    .error(codes::CUSTOM_PROVIDER, members.place.clone(), message);
            }
            text.map(String::from)
        });
        match found {
            [Some(name), Some(kind)] => Some([name, kind]),
            _ => None,
        }
    }
}

/// The value at a path; a null on the way ends it, a null at its end is a value.
fn find<'m>(properties: &'m Map, path: &[&str]) -> Option<&'m Tree> {
    let (last, way) = path.split_last()?;
    let map = way
        .iter()
        .try_fold(properties, |map, piece| map.get(*piece)?.as_map())?;
    map.get(*last)
}

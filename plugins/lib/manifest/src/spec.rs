//! A job's `spec` file: the properties it declares and the links it provides and consumes, with the director's checks.

use crate::redacted::plain;
use crate::types::Type;
use boson_contract::links::JobSpec;
use boson_document::ruby::{class, given, string as text};
use boson_document::{Code, Map, Place, Pointer, Report, Tree};
use std::collections::{HashMap, HashSet};

/// The parts of a spec that properties and links need.
#[derive(Debug)]
pub struct Spec<'s> {
    /// Name of the document.
    pub document: &'s str,
    /// In the order of the spec.
    pub properties: Vec<Property<'s>>,
    /// Links that it provides.
    pub provides: Vec<Provides<'s>>,
    /// Links that it consumes.
    pub consumes: Vec<Consumes>,
}

/// A declared property.
#[derive(Debug)]
pub struct Property<'s> {
    /// Dotted name.
    pub name: &'s str,
    pub default: Option<&'s Tree>,
}

/// A link that a job provides, or a custom provider.
#[derive(Debug)]
pub struct Provides<'s> {
    pub name: String,
    pub kind: String,
    /// Dotted names of the properties that it exposes.
    pub properties: Vec<&'s str>,
}

/// A link that a job consumes.
#[derive(Debug)]
pub struct Consumes {
    pub name: String,
    pub kind: String,
    /// It may be absent.
    pub optional: bool,
}

// === impl Spec ===

impl<'s> Spec<'s> {
    /// Reads a spec; errors are added to the report with this code.
    pub fn read(from: &'s JobSpec<'_>, code: &'static Code, report: &mut Report) -> Self {
        let mut reader = Reader {
            job: &from.job,
            document: &from.document_name,
            code,
            report,
        };
        reader.name(&from.spec);
        reader.formats(&from.spec);
        Self {
            document: &from.document_name,
            properties: reader.properties(&from.spec),
            provides: reader.provides(&from.spec),
            consumes: reader.consumes(&from.spec),
        }
    }
}

#[derive(Debug, Default)]
pub struct Specs<'a> {
    all: Vec<Spec<'a>>,
    by_name: HashMap<(&'a str, &'a str), usize>,
}

// === impl Specs ===

impl<'a> Specs<'a> {
    /// Reads all specs; errors are added to the report with this code.
    pub fn read(jobs: &'a [JobSpec<'_>], code: &'static Code, report: &mut Report) -> Self {
        let all = jobs.iter().map(|job| Spec::read(job, code, report)).collect();
        let by_name = jobs
            .iter()
            .enumerate()
            .map(|(index, job)| ((&*job.release, &*job.job), index))
            .collect();
        Self { all, by_name }
    }

    /// Number of the spec of a release's job.
    pub fn find(&self, release: &str, job: &str) -> Option<usize> {
        self.by_name.get(&(release, job)).copied()
    }

    /// The spec with this number.
    pub fn get(&self, number: usize) -> &Spec<'a> {
        &self.all[number]
    }
}

struct Reader<'r> {
    job: &'r str,
    document: &'r str,
    code: &'static Code,
    report: &'r mut Report,
}

// === impl Reader ===

impl Reader<'_> {
    fn error(&mut self, at: Pointer, message: String) {
        let at = Place::from(at).in_document(self.document);
        self.report.error(self.code, at, message);
    }

    fn name(&mut self, spec: &Tree) {
        let job = self.job;
        match spec.get("name") {
            Some(Tree::String(name)) if name == job => {}
            name => {
                let got = name.and_then(text).unwrap_or_default();
                let at = Pointer::root();
                let at = if name.is_some() { at.at("name") } else { at };
                // Sic: the director's own spelling.
                let message = format!("Inconsistent name for job '{job}'(exptected: '{job}', got: '{got}')");
                self.error(at, message);
            }
        }
    }

    fn formats(&mut self, spec: &Tree) {
        if given(spec, "logs").is_some_and(|logs| logs.as_map().is_none()) {
            let message = format!("Job '{}' has invalid logs spec format", self.job);
            self.error(Pointer::root().at("logs"), message);
        }
        if given(spec, "packages").is_some_and(|packages| packages.as_array().is_none()) {
            let message = format!("Job '{}' has invalid package spec format", self.job);
            self.error(Pointer::root().at("packages"), message);
        }
    }

    fn properties<'s>(&mut self, spec: &'s Tree) -> Vec<Property<'s>> {
        let invalid = format!("Job '{}' has invalid properties spec format", self.job);
        let place = Pointer::root().at("properties");
        let Some(declared) = given(spec, "properties") else {
            return Vec::new();
        };
        let Some(declared) = declared.as_map() else {
            self.error(place, invalid);
            return Vec::new();
        };
        let mut properties = Vec::new();
        for (name, definition) in declared {
            match definition {
                Tree::Object(members) => properties.push(Property {
                    name,
                    default: members.get("default"),
                }),
                // A description where the definition should be: BOSH finds no default in it.
                Tree::String(_) => properties.push(Property { name, default: None }),
                _ => self.error(place.at(name), invalid.clone()),
            }
        }
        properties
    }

    fn provides<'s>(&mut self, spec: &'s Tree) -> Vec<Provides<'s>> {
        let mut provides = Vec::new();
        for (place, item) in self.links(spec, "provides") {
            let Some((name, kind)) = named(item) else { continue };
            if item.contains_key("optional") {
                let message =
                    format!("Link '{name}' of type '{kind}' is a provides link, not allowed to have 'optional' key");
                self.error(place.at("optional"), message);
            }
            let properties = self.link_properties(item, &place);
            provides.push(Provides { name, kind, properties });
        }
        let names = provides.iter().map(|link| link.name.as_str());
        self.duplicates("provides", names);
        provides
    }

    fn consumes(&mut self, spec: &Tree) -> Vec<Consumes> {
        let truthy = |value: Option<&Tree>| !matches!(value, None | Some(Tree::Null | Tree::Bool(false)));
        let mut consumes = Vec::new();
        for (_, item) in self.links(spec, "consumes") {
            if let Some((name, kind)) = named(item) {
                consumes.push(Consumes {
                    name,
                    kind,
                    optional: truthy(item.get("optional")),
                });
            }
        }
        self.duplicates("consumes", consumes.iter().map(|link| link.name.as_str()));
        consumes
    }

    fn links<'s>(&mut self, spec: &'s Tree, key: &str) -> Vec<(Pointer, &'s Map)> {
        let mut named_links = Vec::new();
        for (place, link) in links(self.job, spec, key) {
            match link {
                Ok(link) if named(link).is_none() => self.error(place, no_links(self.job, key)),
                Ok(link) => named_links.push((place, link)),
                Err(why) => self.error(place, why),
            }
        }
        named_links
    }

    fn link_properties<'s>(&mut self, link: &'s Map, place: &Pointer) -> Vec<&'s str> {
        let place = place.at("properties");
        let (names, wrong) = property_names(link.get("properties"));
        if let Some(class) = wrong {
            self.error(place, Type::Array.mismatch_of_class("properties", class));
        }
        names
    }

    fn duplicates<'n>(&mut self, key: &str, names: impl Iterator<Item = &'n str>) {
        let mut seen = HashSet::new();
        for (index, name) in names.enumerate() {
            if !seen.insert(name) {
                let message = format!(
                    "Job '{}' specifies duplicate {key} link with name '{}'",
                    self.job,
                    plain(name)
                );
                self.error(Pointer::root().at(key).at(index), message);
            }
        }
    }
}

/// The links in the section `key` of a job's spec, `provides` or `consumes`: each with its place, and what is wrong
/// there.
pub fn links<'s>(job: &str, spec: &'s Tree, key: &str) -> Vec<(Pointer, Result<&'s Map, String>)> {
    let place = Pointer::root().at(key);
    let items = match spec.get(key) {
        None | Some(Tree::Null) => return Vec::new(),
        Some(Tree::Array(items)) => items,
        Some(_) => return vec![(place, Err(no_links(job, key)))],
    };
    let title = if key == "provides" { "Provides" } else { "Consumes" };
    let link = |item: &'s Tree| match item.as_map() {
        None => Err(format!("{title} section in the release spec must be a list of hashes")),
        Some(link) if !link.contains_key("name") || !link.contains_key("type") => Err(format!(
            "Each {key} item in the {key} section of the release spec must contain 'name' and 'type'"
        )),
        Some(link) => Ok(link),
    };
    let items = items.iter().enumerate();
    items.map(|(index, item)| (place.at(index), link(item))).collect()
}

fn no_links(job: &str, key: &str) -> String {
    format!("Job '{job}' has invalid spec format: '{key}' must be an array of hashes with name and type")
}

/// Name and type of a link.
fn named(link: &Map) -> Option<(String, String)> {
    Some((text(link.get("name")?)?, text(link.get("type")?)?))
}

/// The names in a link's `properties`; the class of what is there instead of a list of strings.
pub fn property_names(value: Option<&Tree>) -> (Vec<&str>, Option<&'static str>) {
    match value {
        None | Some(Tree::Null | Tree::Bool(false)) => (Vec::new(), None),
        Some(Tree::Array(items)) => {
            let wrong = items.iter().find(|item| item.as_str().is_none());
            (items.iter().filter_map(Tree::as_str).collect(), wrong.map(class))
        }
        Some(other) => (Vec::new(), Some(class(other))),
    }
}

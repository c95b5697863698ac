//! Addons, and which groups they apply to, by BOSH's placement rules.
//!
//! An addon applies to a group that its `include` matches and its `exclude` does not. Within a list of a filter any
//! entry is enough; of several lists all must match. An `include` without requirements matches every group, also
//! errands; an `exclude` without requirements matches none.

use crate::members::{self, Members};
use crate::types::Type;
use boson_document::{Code, Map, Place, Report, Tree};
use std::collections::HashSet;

/// The codes under which a stage reports errors.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// Types and required keys.
    pub members: &'static members::Codes,
    /// An error in an `include` or `exclude`.
    pub filter: &'static Code,
    /// A key has no effect.
    pub unused_key: &'static Code,
}

#[derive(Clone, Debug)]
pub struct Addon<'a> {
    /// Name; empty where that is missing.
    pub name: String,
    /// Which groups it applies to.
    pub include: Filter,
    /// Which groups it does not apply to.
    pub exclude: Filter,
    /// Its other keys.
    pub members: Members<'a>,
}

/// The properties of an instance group that filters match.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    pub name: String,
    /// `service` or `errand`.
    pub lifecycle: String,
    /// Names of the AZs.
    pub azs: Vec<String>,
    /// Names of the networks.
    pub networks: Vec<String>,
    /// Operating systems: of the group's stemcell, or of its releases'.
    pub systems: Vec<String>,
    /// Name and release of the jobs, those of addons placed before included.
    pub jobs: Vec<(String, String)>,
}

/// Which of an addon's two filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `include`
    Include,
    /// `exclude`
    Exclude,
}

/// An `include` or `exclude`.
#[derive(Clone, Debug)]
pub struct Filter {
    kind: Kind,
    groups: HashSet<String>,
    jobs: HashSet<(String, String)>,
    systems: HashSet<String>,
    networks: HashSet<String>,
    azs: HashSet<String>,
    lifecycle: String,
}

// === impl Kind ===

impl Kind {
    /// The addon's key.
    pub fn name(self) -> &'static str {
        match self {
            Self::Include => "include",
            Self::Exclude => "exclude",
        }
    }
}

// === impl Addon ===

impl<'a> Addon<'a> {
    /// Reads an addon. Its jobs are read when they are asked for.
    pub fn read(tree: &'a Tree, place: impl Into<Place>, codes: &'static Codes, report: &mut Report) -> Option<Self> {
        let members = Members::of(tree, place, codes.members, report)?;
        let name = members.required_string("name", report);
        let [include, exclude] = [Kind::Include, Kind::Exclude].map(|kind| Filter::read(&members, kind, codes, report));
        Some(Self {
            name: name.unwrap_or_default(),
            include,
            exclude,
            members,
        })
    }

    /// Properties of those of its jobs that have none.
    pub fn properties(&self, report: &mut Report) -> Option<&'a Map> {
        self.members.object("properties", report)
    }

    /// Its jobs, each with its place.
    pub fn jobs(&self, report: &mut Report) -> impl Iterator<Item = (Place, &'a Tree)> + use<'a> {
        let (listed, place) = (self.members.list("jobs", report), self.members.place.at("jobs"));
        listed
            .iter()
            .enumerate()
            .map(move |(index, job)| (place.at(index), job))
    }

    /// Whether it applies to a group.
    pub fn applies(&self, group: &Candidate) -> bool {
        self.include.matches(group) && !self.exclude.matches(group)
    }
}

// === impl Filter ===

impl Filter {
    /// Reads the addon's `include` or `exclude`, absent or not; unreadable parts are reported and require nothing.
    fn read(addon: &Members<'_>, kind: Kind, codes: &'static Codes, report: &mut Report) -> Self {
        let mut reader = Reader {
            filter: addon.get(kind.name()),
            place: addon.place.at(kind.name()),
            kind,
            codes,
            report,
        };
        reader.check();
        Self {
            kind,
            groups: reader.strings("instance_groups"),
            jobs: reader.jobs(),
            systems: reader.systems(),
            networks: reader.strings("networks"),
            azs: reader.strings("azs"),
            lifecycle: reader.lifecycle(),
        }
    }

    /// Does the filter match the group?
    pub fn matches(&self, group: &Candidate) -> bool {
        if self.is_empty() {
            return self.kind == Kind::Include;
        }
        let any = |wanted: &HashSet<String>, found: &[String]| {
            wanted.is_empty() || found.iter().any(|name| wanted.contains(name))
        };
        (self.lifecycle.is_empty() || self.lifecycle == group.lifecycle)
            && any(&self.azs, &group.azs)
            && any(&self.systems, &group.systems)
            && any(&self.networks, &group.networks)
            && (self.jobs.is_empty() || group.jobs.iter().any(|job| self.jobs.contains(job)))
            && (self.groups.is_empty() || self.groups.contains(&group.name))
    }

    fn is_empty(&self) -> bool {
        let lists = [&self.groups, &self.systems, &self.networks, &self.azs];
        self.lifecycle.is_empty() && self.jobs.is_empty() && lists.into_iter().all(HashSet::is_empty)
    }
}

/// In place of an entry of a filter that is no string: no name is equal to it, but the filter has a requirement.
const NOTHING: &str = "\0";

struct Reader<'r, 'a> {
    filter: Option<&'a Tree>,
    place: Place,
    kind: Kind,
    codes: &'static Codes,
    report: &'r mut Report,
}

// === impl Reader ===

impl<'a> Reader<'_, 'a> {
    fn error(&mut self, message: String, place: Place) {
        self.report.error(self.codes.filter, place, message);
    }

    fn check(&mut self) {
        let Some(filter) = self.filter else { return };
        let Some(members) = filter.as_object() else {
            return self.error(Type::Hash.mismatch(self.kind.name(), filter), self.place.clone());
        };
        if members
            .get("deployments")
            .is_some_and(|listed| listed.as_array().is_none_or(|items| !items.is_empty()))
        {
            let message = "Deployment filter is not allowed for deployment level addons.".into();
            self.error(message, self.place.at("deployments"));
        }
        // Teams are the director's. The tables of keys report keys that BOSH does not know.
        if members.contains_key("teams") {
            let message = format!("The key 'teams' of an addon's '{}' has no effect", self.kind.name());
            self.report
                .warning(self.codes.unused_key, self.place.at("teams"), message)
                .help("take it out");
        }
    }

    fn list(&mut self, key: &str) -> &'a [Tree] {
        match self.filter.and_then(|filter| filter.get(key)) {
            None => &[],
            Some(Tree::Array(items)) => items,
            Some(other) => {
                self.error(Type::Array.mismatch(key, other), self.place.at(key));
                &[]
            }
        }
    }

    fn strings(&mut self, key: &str) -> HashSet<String> {
        let listed = self.list(key).iter();
        listed
            .map(|item| item.as_str().unwrap_or(NOTHING).to_string())
            .collect()
    }

    /// The text of a member; empty if it is missing. BOSH takes numbers, but no name is equal to one.
    fn text(&mut self, item: &'a Tree, key: &str, place: &Place) -> Option<&'a str> {
        match item.get(key) {
            None => Some(""),
            Some(Tree::String(text)) => Some(text),
            Some(Tree::Number(_)) => Some(NOTHING),
            Some(other) => {
                self.error(Type::String.mismatch(key, other), place.at(key));
                None
            }
        }
    }

    fn jobs(&mut self) -> HashSet<(String, String)> {
        let mut jobs = HashSet::new();
        for (index, item) in self.list("jobs").iter().enumerate() {
            let place = self.place.at("jobs").at(index);
            let texts = (self.text(item, "name", &place), self.text(item, "release", &place));
            let (Some(name), Some(release)) = texts else { continue };
            if !name.is_empty() && !release.is_empty() {
                jobs.insert((name.into(), release.into()));
                continue;
            }
            let given = ["name", "release"].map(|key| Some(format!("{key:?} => {:?}", item.str(key)?)));
            let given: Vec<String> = given.into_iter().flatten().collect();
            let message = format!(
                "Job {{{}}} in deployment config's {} section must have both name and release.",
                given.join(", "),
                self.kind.name()
            );
            self.error(message, place);
        }
        jobs
    }

    fn systems(&mut self) -> HashSet<String> {
        let mut systems = HashSet::new();
        for (index, item) in self.list("stemcell").iter().enumerate() {
            let place = self.place.at("stemcell").at(index);
            match self.text(item, "os", &place) {
                None => {}
                Some("") => {
                    let message = format!(
                        "Stemcell {{}} in deployment config's {} section must have an os name.",
                        self.kind.name()
                    );
                    self.error(message, place);
                }
                Some(os) => drop(systems.insert(os.into())),
            }
        }
        systems
    }

    fn lifecycle(&mut self) -> String {
        match self.filter.and_then(|filter| filter.get("lifecycle")) {
            None => String::new(),
            Some(Tree::String(lifecycle)) => lifecycle.clone(),
            Some(other) => {
                self.error(Type::String.mismatch("lifecycle", other), self.place.at("lifecycle"));
                String::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn candidate() -> Candidate {
        Candidate {
            name: "web".into(),
            lifecycle: "service".into(),
            azs: vec!["z1".into(), "z2".into()],
            networks: vec!["default".into()],
            systems: vec!["ubuntu-jammy".into()],
            jobs: vec![("nginx".into(), "web".into())],
        }
    }

    const CODES: &Codes = &Codes {
        members: members::UNREPORTED,
        filter: &Code::new("filter", "", ""),
        unused_key: &Code::new("unused", "", ""),
    };

    /// Whether the addon applies to the candidate; what is reported about its filters, with the place.
    fn read(filters: &str) -> (bool, Vec<(String, String)>) {
        let (tree, mut report) = (json::parse(filters).unwrap().with("name", "a"), Report::default());
        let addon = Addon::read(&tree, Place::default(), CODES, &mut report).unwrap();
        let reported = report.into_diagnostics().into_iter();
        let reported = reported.map(|one| (one.message.clone(), one.pointer_text()));
        (addon.applies(&candidate()), reported.collect())
    }

    #[test]
    fn placement_follows_boshs_rules() {
        for (addon, expected) in [
            (r#"{}"#, true),
            (r#"{"include": {}}"#, true),
            (r#"{"exclude": {}}"#, true),
            (r#"{"include": {"instance_groups": ["db", "web"]}}"#, true),
            (r#"{"include": {"instance_groups": ["db"]}}"#, false),
            (r#"{"include": {"jobs": [{"name": "nginx", "release": "web"}]}}"#, true),
            (
                r#"{"include": {"jobs": [{"name": "nginx", "release": "other"}]}}"#,
                false,
            ),
            (
                r#"{"include": {"jobs": [{"name": "nginx", "release": "web"}], "instance_groups": ["db"]}}"#,
                false,
            ),
            (
                r#"{"include": {"stemcell": [{"os": "ubuntu-jammy"}], "azs": ["z2"]}}"#,
                true,
            ),
            (
                r#"{"include": {"stemcell": [{"os": "ubuntu-noble"}], "azs": ["z2"]}}"#,
                false,
            ),
            (r#"{"include": {"networks": ["other"]}}"#, false),
            (r#"{"include": {"lifecycle": "errand"}}"#, false),
            (r#"{"exclude": {"lifecycle": "service"}}"#, false),
            (r#"{"exclude": {"azs": ["z1"]}}"#, false),
            (r#"{"exclude": {"azs": ["z1"], "instance_groups": ["db"]}}"#, true),
            (
                r#"{"include": {"azs": ["z1"]}, "exclude": {"instance_groups": ["web"]}}"#,
                false,
            ),
            (r#"{"include": {"instance_groups": [7]}}"#, false),
            (r#"{"include": {"jobs": [{"name": 7, "release": "web"}]}}"#, false),
            (r#"{"exclude": {"stemcell": [{"os": 7}]}}"#, true),
        ] {
            assert_eq!(read(addon), (expected, Vec::new()), "{addon}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_filter_is_reported_in_boshs_words() {
        for (addon, message, pointer) in [
            (
                r#"{"include": null}"#,
                "Property 'include' value (nil) did not match the required type 'Hash'",
                "/include",
            ),
            (
                r#"{"include": {"deployments": ["x"]}}"#,
                "Deployment filter is not allowed for deployment level addons.",
                "/include/deployments",
            ),
            (
                r#"{"include": {"jobs": [{"name": "a"}]}}"#,
                r#"Job {"name" => "a"} in deployment config's include section must have both name and release."#,
                "/include/jobs/0",
            ),
            (
                r#"{"include": {"jobs": [{"name": true, "release": "web"}]}}"#,
                "Property 'name' value (true) did not match the required type 'String'",
                "/include/jobs/0/name",
            ),
            (
                r#"{"include": {"stemcell": [{}]}}"#,
                "Stemcell {} in deployment config's include section must have an os name.",
                "/include/stemcell/0",
            ),
            (
                r#"{"include": {"azs": "z1"}}"#,
                "Property 'azs' value (...) did not match the required type 'Array'",
                "/include/azs",
            ),
            (
                r#"{"include": {"teams": ["t"]}}"#,
                "The key 'teams' of an addon's 'include' has no effect",
                "/include/teams",
            ),
        ] {
            let (_, reported) = read(addon);
            assert_eq!(reported, [(message.to_string(), pointer.to_string())], "{addon}");
        }
    }
}

//! Addons of manifests and runtime configs, and which groups they apply to, by BOSH's placement rules.
//!
//! An addon applies to a group that its `include` matches and its `exclude` does not. Within a list of a filter any
//! entry is enough; of several lists all must match. An `include` without requirements matches every group, also
//! errands; an `exclude` without requirements matches none.

use crate::group::InstanceGroup;
use crate::members::{self, Members};
use crate::release::Release;
use crate::stemcell::Stemcell;
use crate::types::Type;
use boson_document::{Code, Map, Place, Report, Tree};
use std::collections::HashSet;
use std::slice;

/// Key of the manifest for what comes from runtime configs: by list, how many of its last entries. The host sets it.
pub const RUNTIME_CONFIG: &str = "runtime_config";
/// The beginning of a placeholder.
const PLACEHOLDER: &str = "((";

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

/// Where an addon is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In the manifest.
    Deployment,
    /// In a runtime config, which may be for many deployments.
    Runtime,
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
    pub deployment: String,
    pub name: String,
    /// `service` or `errand`.
    pub lifecycle: String,
    pub azs: Vec<String>,
    pub networks: Vec<String>,
    /// Operating systems: of the group's stemcell, or of its releases'.
    pub systems: Vec<String>,
    /// Name and release of the jobs, those of addons placed before included.
    pub jobs: Vec<(String, String)>,
}

/// Which of an addon's two filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Include,
    Exclude,
}

/// An `include` or `exclude`.
#[derive(Clone, Debug)]
pub struct Filter {
    kind: Kind,
    deployments: HashSet<String>,
    teams: HashSet<String>,
    groups: HashSet<String>,
    jobs: HashSet<(String, String)>,
    systems: HashSet<String>,
    networks: HashSet<String>,
    azs: HashSet<String>,
    lifecycle: String,
}

// === impl Level ===

impl Level {
    /// As BOSH's messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::Runtime => "runtime",
        }
    }

    /// The level of an addon of a manifest.
    pub fn of(manifest: &Tree, index: usize) -> Self {
        let count = manifest.items("addons").len();
        let runtime = manifest.find(&[RUNTIME_CONFIG, "addons"]).and_then(Tree::as_i64);
        let runtime = runtime.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        if index.saturating_add(runtime) < count {
            Self::Deployment
        } else {
            Self::Runtime
        }
    }

    /// The error for a job whose release is not listed where the addon is defined.
    pub fn unlisted_release(self, job: &str, release: &str) -> String {
        let level = self.name();
        format!(
            "Manifest specifies job '{job}' which is defined in '{release}', but '{release}' is not listed in the {level} releases section."
        )
    }
}

// === impl Candidate ===

impl Candidate {
    /// An instance group of a manifest, with the name and the release of each of its jobs.
    pub fn of(deployment: &str, manifest: &Tree, group: &InstanceGroup<'_>, jobs: Vec<(String, String)>) -> Self {
        let stemcell = group.stemcell();
        let system = stemcell.and_then(|alias| Stemcell::with_alias(manifest, alias)?.os());
        // Without a stemcell of the group, those of its releases are used.
        let is_used = |release: &Release<'_>| jobs.iter().any(|(_, used)| *used == release.name);
        let releases = || Release::all(manifest).filter(is_used);
        let systems = match system {
            Some(system) => vec![system],
            None => releases().filter_map(|one| one.system().map(String::from)).collect(),
        };
        let azs = match group.tree.get("azs") {
            Some(Tree::String(azs)) => vec![azs.clone()],
            _ => group.azs(&mut members::unreported()),
        };
        // An auto-errand is an errand that runs automatically.
        let lifecycle = match group.lifecycle.as_str() {
            "auto-errand" => "errand",
            other => other,
        };
        Self {
            deployment: deployment.into(),
            name: group.name.clone(),
            lifecycle: lifecycle.into(),
            azs,
            networks: group.network_names().map(String::from).collect(),
            systems,
            jobs,
        }
    }
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
    pub fn read(
        tree: &'a Tree,
        place: impl Into<Place>,
        level: Level,
        codes: &'static Codes,
        report: &mut Report,
    ) -> Option<Self> {
        let members = Members::of(tree, place, codes.members, report)?;
        let name = members.required_string("name", report);
        let [include, exclude] =
            [Kind::Include, Kind::Exclude].map(|kind| Filter::read(&members, kind, level, codes, report));
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
        self.members.items("jobs", report)
    }

    /// Whether it applies to a group.
    pub fn applies(&self, group: &Candidate) -> bool {
        self.include.matches(group) && !self.exclude.matches(group)
    }

    /// Whether it can apply to a group once placeholders have their values.
    pub fn may_apply(&self, group: &Candidate) -> bool {
        self.include.may_match(group) && !self.exclude.matches(group)
    }
}

// === impl Filter ===

impl Filter {
    /// Reads the addon's `include` or `exclude`, absent or not; unreadable parts are reported and require nothing.
    fn read(addon: &Members<'_>, kind: Kind, level: Level, codes: &'static Codes, report: &mut Report) -> Self {
        let mut reader = Reader {
            filter: addon.get(kind.name()),
            place: addon.place.at(kind.name()),
            kind,
            level,
            codes,
            report,
        };
        reader.check();
        Self {
            kind,
            deployments: reader.of_runtime("deployments"),
            teams: reader.of_runtime("teams"),
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
        self.matches_where(group, |wanted, found| found.iter().any(|name| wanted.contains(name)))
    }

    /// Can the filter match the group once placeholders have their values?
    fn may_match(&self, group: &Candidate) -> bool {
        let is_open = |name: &String| name.contains(PLACEHOLDER);
        self.matches_where(group, |wanted, found| {
            found.iter().any(|name| wanted.contains(name) || is_open(name)) || wanted.iter().any(is_open)
        })
    }

    /// `any`: whether an entry of the filter matches one of these names.
    fn matches_where(&self, group: &Candidate, any: impl Fn(&HashSet<String>, &[String]) -> bool) -> bool {
        if self.is_empty() {
            return self.kind == Kind::Include;
        }
        let fits = |wanted: &HashSet<String>, found: &[String]| wanted.is_empty() || any(wanted, found);
        // Deployments have no teams.
        fits(&self.teams, &[])
            && fits(&self.deployments, slice::from_ref(&group.deployment))
            && (self.lifecycle.is_empty() || self.lifecycle == group.lifecycle)
            && fits(&self.azs, &group.azs)
            && fits(&self.systems, &group.systems)
            && fits(&self.networks, &group.networks)
            && (self.jobs.is_empty() || group.jobs.iter().any(|job| self.jobs.contains(job)))
            && fits(&self.groups, slice::from_ref(&group.name))
    }

    fn is_empty(&self) -> bool {
        let of_runtime = [&self.deployments, &self.teams];
        let lists = [&self.groups, &self.systems, &self.networks, &self.azs];
        self.lifecycle.is_empty() && self.jobs.is_empty() && lists.into_iter().chain(of_runtime).all(HashSet::is_empty)
    }
}

/// In place of an entry of a filter that is no string: no name is equal to it, but the filter has a requirement.
const NOTHING: &str = "\0";

struct Reader<'r, 'a> {
    filter: Option<&'a Tree>,
    place: Place,
    kind: Kind,
    level: Level,
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
        let is_used = |listed: &Tree| listed.as_array().is_none_or(|items| !items.is_empty());
        if self.level == Level::Deployment && members.get("deployments").is_some_and(is_used) {
            let message = "Deployment filter is not allowed for deployment level addons.".into();
            self.error(message, self.place.at("deployments"));
        }
        // The tables of keys report keys that BOSH does not know.
        if members.contains_key("teams") {
            let (why, help) = match self.level {
                Level::Deployment => ("has no effect", "take it out"),
                Level::Runtime => (
                    "matches no deployment: deployments have no teams here",
                    "use 'deployments', or give the runtime config only to the deployments of the team",
                ),
            };
            let message = format!("The key 'teams' of an addon's '{}' {why}", self.kind.name());
            self.report
                .warning(self.codes.unused_key, self.place.at("teams"), message)
                .help(help);
        }
    }

    /// A list that only addons of runtime configs have.
    fn of_runtime(&mut self, key: &str) -> HashSet<String> {
        match self.level {
            Level::Deployment => HashSet::new(),
            Level::Runtime => self.strings(key),
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
                "Job {{{}}} in {} config's {} section must have both name and release.",
                given.join(", "),
                self.level.name(),
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
                        "Stemcell {{}} in {} config's {} section must have an os name.",
                        self.level.name(),
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
            deployment: "cf".into(),
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
        read_at(Level::Deployment, filters)
    }

    fn read_at(level: Level, filters: &str) -> (bool, Vec<(String, String)>) {
        let (tree, mut report) = (json::parse(filters).unwrap().with("name", "a"), Report::default());
        let addon = Addon::read(&tree, Place::default(), level, CODES, &mut report).unwrap();
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
    fn addons_of_runtime_configs_select_deployments() {
        for (addon, expected) in [
            (r#"{"include": {"deployments": ["db", "cf"]}}"#, true),
            (r#"{"include": {"deployments": ["db"]}}"#, false),
            (
                r#"{"include": {"deployments": ["cf"], "instance_groups": ["db"]}}"#,
                false,
            ),
            (r#"{"exclude": {"deployments": ["cf"]}}"#, false),
            (
                r#"{"exclude": {"deployments": ["cf"], "instance_groups": ["db"]}}"#,
                true,
            ),
            (r#"{"exclude": {"deployments": ["db"]}}"#, true),
        ] {
            assert_eq!(read_at(Level::Runtime, addon), (expected, Vec::new()), "{addon}");
        }
        for (addon, expected) in [
            (r#"{"include": {"teams": ["ops"]}}"#, false),
            (r#"{"exclude": {"teams": ["ops"]}}"#, true),
        ] {
            let (applies, reported) = read_at(Level::Runtime, addon);
            assert_eq!((applies, reported.len()), (expected, 1), "{addon}");
            assert!(reported[0].0.ends_with("deployments have no teams here"), "{addon}");
        }
        let wrong = r#"{"include": {"jobs": [{"name": "a"}]}}"#;
        let message = r#"Job {"name" => "a"} in runtime config's include section must have both name and release."#;
        assert_eq!(read_at(Level::Runtime, wrong).1[0].0, message);
    }

    #[test]
    fn placeholders_may_have_any_value() {
        let mut group = candidate();
        group.azs = vec!["((azs))".into()];
        for (filters, expected) in [
            (r#"{"include": {"azs": ["z1"]}}"#, (false, true)),
            (r#"{"exclude": {"azs": ["z1"]}}"#, (true, true)),
            (r#"{"exclude": {"azs": ["((azs))"]}}"#, (false, false)),
            (r#"{"include": {"networks": ["((network))"]}}"#, (false, true)),
            (r#"{"include": {"networks": ["other"]}}"#, (false, false)),
        ] {
            let (tree, mut report) = (json::parse(filters).unwrap().with("name", "a"), Report::default());
            let addon = Addon::read(&tree, Place::default(), Level::Runtime, CODES, &mut report).unwrap();
            assert_eq!((addon.applies(&group), addon.may_apply(&group)), expected, "{filters}");
        }
    }

    #[test]
    fn the_last_addons_are_those_of_runtime_configs() {
        let manifest = json::parse(r#"{"addons": [1, 2, 3], "runtime_config": {"addons": 1}}"#).unwrap();
        let levels: Vec<_> = (0..3).map(|index| Level::of(&manifest, index)).collect();
        assert_eq!(levels, [Level::Deployment, Level::Deployment, Level::Runtime]);
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

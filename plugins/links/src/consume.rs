//! Links that jobs consume, from the release and the manifest.

use crate::codes;
use crate::declaration::{self, name_or_type, unused};
use crate::group::Group;
use crate::job::Job;
use boson_contract::links::LinksRequest;
use boson_document::{Map, Place, Report, Tree, ruby};
use boson_manifest::members::Members;
use boson_manifest::redacted::plain;
use boson_manifest::spec::{Consumes, Specs};
use boson_manifest::types::Type;
use std::collections::HashSet;

/// A link that a job consumes.
#[derive(Clone, Debug)]
pub struct Consumer {
    /// Name in the release: under which templates find it.
    pub original: String,
    /// Name of the provider of an explicit link: `from`, after its last dot.
    pub name: String,
    pub kind: String,
    /// It may be absent.
    pub optional: bool,
    /// How it is found.
    pub way: Way,
    /// `network`, which BOSH's error texts mention.
    pub network: Option<String>,
    /// The other deployment that provides it.
    pub deployment: Option<String>,
    /// Who consumes it.
    pub asker: Asker,
    /// The manifest's entry, or the job.
    pub place: Place,
}

/// Who consumes a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asker {
    Job {
        /// Number of the instance group.
        group: usize,
        /// Number of the job in the group.
        job: usize,
    },
    /// The variable of this name.
    Variable(String),
}

/// How a consumed link is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Any provider of the type.
    Implicit,
    /// The provider of the type with the name.
    Explicit,
    /// Not at all: `nil`.
    Blocked,
    /// The manifest has its content.
    Manual(Tree),
}

/// Keys that make a link manual, in the order of its content.
const MANUAL: [&str; 3] = ["instances", "properties", "address"];
/// Keys that the manifest may give for a consumed link.
const KEYS: [&str; 7] = [
    "from",
    "deployment",
    "network",
    "ip_addresses",
    "instances",
    "properties",
    "address",
];

/// The links that all jobs of a group consume; errors are added to the report.
pub fn consumed<'a>(
    number: usize,
    group: &Group<'a>,
    specs: &Specs<'a>,
    request: LinksRequest<'_>,
    report: &mut Report,
) -> Vec<Consumer> {
    let mut consumers = Vec::new();
    for (index, job) in group.jobs.iter().enumerate() {
        let mut reader = Reader {
            group,
            job,
            number,
            index,
            request,
            report,
        };
        let links = &specs.get(job.spec).consumes;
        consumers.extend(links.iter().filter_map(|link| reader.consumer(link)));
        reader.unknown(links);
    }
    consumers
}

struct Reader<'r, 'a> {
    group: &'r Group<'a>,
    job: &'r Job<'a>,
    number: usize,
    index: usize,
    request: LinksRequest<'r>,
    report: &'r mut Report,
}

// === impl Reader ===

impl<'r> Reader<'r, '_> {
    fn site(&self) -> String {
        format!("in job '{}' in instance group '{}'", self.job.name, self.group.name())
    }

    fn error(&mut self, at: Place, message: String) {
        self.report.error(codes::DECLARATION, at, message);
    }

    fn consumer(&mut self, link: &Consumes) -> Option<Consumer> {
        let mut consumer = Consumer {
            original: link.name.clone(),
            name: last_piece(&link.name),
            kind: link.kind.clone(),
            optional: link.optional,
            way: Way::Implicit,
            network: None,
            deployment: None,
            asker: Asker::Job {
                group: self.number,
                job: self.index,
            },
            place: self.job.place.clone(),
        };
        if let Some(given) = self.job.consumes.and_then(|consumes| consumes.get(&link.name)) {
            consumer.place = self.job.place.at("consumes").at(&link.name);
            self.given(given, &mut consumer)?;
        }
        if let Some((data, at)) = self.link_in_quarks(&link.name) {
            consumer.place = at.clone();
            let members = Members::of(data, at, codes::MEMBERS, self.report)?;
            consumer.way = Way::Manual(self.manual(&members)?);
        }
        Some(consumer)
    }

    /// Data of the link that the user gives in the property `quarks`.
    fn link_in_quarks(&self, link: &str) -> Option<(&'r Tree, Place)> {
        let job: &'r Job<'_> = self.job;
        let (links, at) = job.quarks("consumes")?;
        Some((links.get(link)?, at.at(link)))
    }

    /// Reads the manifest's entry for the link.
    fn given(&mut self, given: &Tree, consumer: &mut Consumer) -> Option<()> {
        let link = plain(&consumer.original);
        if given.as_str() == Some("nil") {
            consumer.way = Way::Blocked;
            return Some(());
        }
        let subject = format!("Consumer '{link}' {}", self.site());
        let members = declaration::members(given, consumer.place.clone(), &subject, self.report)?;
        self.check(&members, &link)?;
        unused(&members, &KEYS, "a consumed link", self.report);
        if MANUAL.iter().any(|key| members.get(key).is_some()) {
            for key in ["deployment", "network", "ip_addresses"] {
                if members.get(key).is_some() {
                    self.without_effect(&members, key, &link);
                }
            }
            consumer.way = Way::Manual(self.manual(&members)?);
            return Some(());
        }
        consumer.way = Way::Explicit;
        if members.get("from").is_some() {
            consumer.name = last_piece(&members.string("from", self.report)?);
        }
        self.addresses(&members, consumer, &link);
        self.deployment(&members, consumer)
    }

    fn check(&mut self, members: &Members<'_>, link: &str) -> Option<()> {
        let has = |key: &str| members.get(key).is_some();
        let (site, mut sound) = (self.site(), true);
        let mut report = |key: &str, message: String| {
            sound = false;
            self.error(members.place.at(key), message);
        };
        for key in ["instances", "properties"] {
            if has(key) && has("from") {
                let message = format!("Cannot specify both '{key}' and 'from' keys for link '{link}' {site}.");
                report("from", message);
            }
        }
        if has("properties") && !has("instances") {
            let message = format!("Cannot specify 'properties' without 'instances' for link '{link}' {site}.");
            report("properties", message);
        }
        if members
            .get("ip_addresses")
            .is_some_and(|value| value.as_bool().is_none())
        {
            let message =
                format!("Cannot specify non boolean values for 'ip_addresses' field for link '{link}' {site}.");
            report("ip_addresses", message);
        }
        if let Some(key) = ["name", "type"].into_iter().find(|key| has(key)) {
            report(key, name_or_type(link, &site));
        }
        sound.then_some(())
    }

    fn addresses(&mut self, members: &Members<'_>, consumer: &mut Consumer, link: &str) {
        if let Some(network) = members.get("network").filter(|network| !network.is_null()) {
            consumer.network = ruby::string(network);
            self.without_effect(members, "network", link);
        }
        if members.get("ip_addresses") == Some(&Tree::Bool(true)) {
            self.without_effect(members, "ip_addresses", link);
        }
    }

    fn without_effect(&mut self, members: &Members<'_>, key: &str, link: &str) {
        let message = format!("The key '{key}' of the consumed link '{link}' has no effect in Kubernetes");
        let help = "every instance has one address, the DNS name of its Service";
        self.report
            .warning(codes::UNUSED_KEY, members.place.at(key), message)
            .help(help);
    }

    fn deployment(&mut self, members: &Members<'_>, consumer: &mut Consumer) -> Option<()> {
        let Some(value) = members
            .get("deployment")
            .filter(|value| !matches!(value, Tree::Null | Tree::Bool(false)))
        else {
            return Some(());
        };
        let other = ruby::string(value).unwrap_or_else(|| ruby::class(value).into());
        // The manifest may have another name than the deployment.
        if other == self.request.deployment.name || Some(other.as_str()) == self.request.manifest.tree.str("name") {
            return Some(());
        }
        if self.request.external.of_deployment(&other).is_some() {
            consumer.deployment = Some(other);
            return Some(());
        }
        let message = format!(
            "Link '{}' in job '{}' from instance group '{}' consumes from deployment '{}', but the deployment does not exist.",
            members
                .get("from")
                .and_then(ruby::string)
                .unwrap_or_else(|| consumer.original.clone()),
            self.job.name,
            self.group.name(),
            plain(&other)
        );
        let help = format!(
            "create the deployment '{}' in the same namespace, with `shared: true` for the link under `provides` (for `host convert`, pass its objects with `--native`); or give the link's `instances`, `properties` and `address` here",
            plain(&other)
        );
        self.report
            .error(codes::UNKNOWN_DEPLOYMENT, members.place.at("deployment"), message)
            .help(help)
            .suggest(&other, self.request.external.names());
        None
    }

    /// The content of a manual link.
    fn manual(&mut self, members: &Members<'_>) -> Option<Tree> {
        let mut content = Map::new();
        for key in MANUAL {
            content.insert(key.into(), members.get(key).cloned().unwrap_or_default());
        }
        // In BOSH templates crash on a manual link that only has an address.
        if content["instances"].is_null() {
            content.insert("instances".into(), Tree::Array(Vec::new()));
        }
        let Some(instances) = content["instances"].as_array() else {
            let message = Type::Array.mismatch_of_property("instances", &content["instances"]);
            self.report
                .error(codes::WRONG_TYPE, members.place.at("instances"), message);
            return None;
        };
        if let Some(index) = instances.iter().position(|instance| instance.as_map().is_none()) {
            Members::of(
                &instances[index],
                members.place.at("instances").at(index),
                codes::MEMBERS,
                self.report,
            )?;
        }
        content.insert("deployment_name".into(), self.request.deployment.name.as_str().into());
        Some(Tree::Object(content))
    }

    fn unknown(&mut self, links: &[Consumes]) {
        let job = self.job;
        let known: HashSet<&str> = links.iter().map(|link| link.name.as_str()).collect();
        let in_job = job.consumes.map(|map| (map, job.place.at("consumes")));
        let in_quarks = job.quarks("consumes");
        let in_quarks = in_quarks.and_then(|(links, at)| Some((links.as_map()?, at)));
        for (map, at) in in_job.into_iter().chain(in_quarks) {
            for name in map.keys().filter(|name| !known.contains(name.as_str())) {
                let message = format!(
                    "Job '{}' does not define link consumer '{}' in the release spec",
                    job.name,
                    plain(name)
                );
                self.report
                    .warning(codes::UNKNOWN_LINK, at.at(name), message)
                    .help("check the link's name against the job's spec")
                    .suggest(name, known.iter().copied());
            }
        }
    }
}

fn last_piece(name: &str) -> String {
    crate::properties::pieces(name)
        .last()
        .copied()
        .unwrap_or_default()
        .to_string()
}

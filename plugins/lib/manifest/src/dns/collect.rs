//! Reads the names of a deployment from its manifest.

use super::aliases::{AliasError, alias_error};
use super::handlers::{HANDLER_FILE, Handler, RECURSOR, servers};
use super::server::Server;
use super::{Aliases, GroupNames, ROOT, Zone, is_release};
use crate::group::InstanceGroup;
use crate::instances::{Deployment, Layout};
use crate::members::{UNREPORTED as UNREPORTED_MEMBERS, unreported};
use crate::names::{Names, label};
use boson_document::{Code, Map, Place, Pointer, Report, Tree};
use std::net::IpAddr;

/// Most aliases of a deployment.
const MAX_ALIASES: usize = 5_000;
/// Most instances that an alias with `placeholder_type: uuid` is made for.
const MAX_PLACEHOLDERS: u64 = 1_000;

#[derive(Clone, Debug, Default)]
pub struct Collected {
    pub zone: Zone,
    /// The manifest uses BOSH DNS: a job of its releases, aliases of links, or a feature.
    pub wanted: bool,
}

/// The codes under which a stage reports.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// An error in an alias or in a setting of the DNS servers.
    pub invalid: &'static Code,
    /// A warning: a setting has no effect.
    pub no_effect: &'static Code,
}

struct Reader<'r> {
    zone: Zone,
    wanted: bool,
    codes: &'static Codes,
    place: &'r Place,
    report: &'r mut Report,
}

/// Reads the manifest; errors are in the report. `place`: the manifest.
pub fn collect(
    manifest: &Tree,
    deployment: &Deployment,
    codes: &'static Codes,
    place: &Place,
    report: &mut Report,
) -> Collected {
    let mut reader = Reader {
        zone: Zone {
            deployment: deployment.clone(),
            ..Zone::default()
        },
        wanted: false,
        codes,
        place,
        report,
    };
    let both = [Some(deployment.name.as_str()), manifest.str("name")];
    for name in both.into_iter().flatten().map(label) {
        push_new(&mut reader.zone.deployments, name);
    }
    groups(manifest, &mut reader.zone);
    let mut files = dns_jobs(manifest, &mut reader);
    // The order in which BOSH's server reads the files of an instance.
    files.sort_by(|one, other| one.job.cmp(&other.job));
    for file in files {
        define(file.aliases, &file.place, &mut reader);
    }
    link_aliases(manifest, &mut reader);
    checked(&mut reader);
    let feature = manifest.find(&["features", "use_dns_addresses"]);
    Collected {
        wanted: reader.wanted || feature == Some(&Tree::Bool(true)),
        zone: reader.zone,
    }
}

/// The names, if the manifest uses BOSH DNS, without a report of errors.
pub fn zone(manifest: &Tree, deployment: &Deployment) -> Option<Zone> {
    const UNREPORTED: &Codes = &Codes {
        invalid: UNREPORTED_MEMBERS.wrong_type,
        no_effect: UNREPORTED_MEMBERS.wrong_type,
    };
    let collected = collect(manifest, deployment, UNREPORTED, &Place::default(), &mut unreported());
    collected.wanted.then_some(collected.zone)
}

fn push_new(all: &mut Vec<String>, name: String) {
    if !name.is_empty() && !all.contains(&name) {
        all.push(name);
    }
}

fn groups(manifest: &Tree, zone: &mut Zone) {
    let unreported = &mut unreported();
    for group in InstanceGroup::all(manifest) {
        let azs = group.azs(unreported);
        for az in &azs {
            push_new(&mut zone.azs, az.clone());
        }
        group
            .network_names()
            .for_each(|name| push_new(&mut zone.networks, label(name)));
        // Pods of errands have no Services, so they have no names.
        if group.is_service() {
            zone.groups.push(GroupNames {
                azs,
                instances: group.instances(unreported).unwrap_or_default(),
                name: group.name,
            });
        }
    }
    push_new(&mut zone.networks, "default".into());
}

/// The aliases of a job, as in its file, each with its place.
struct File {
    job: String,
    place: Pointer,
    aliases: Vec<(String, Vec<String>, Pointer)>,
}

fn dns_jobs(manifest: &Tree, reader: &mut Reader<'_>) -> Vec<File> {
    let mut files = Vec::new();
    for section in ["instance_groups", "addons"] {
        for (number, owner) in manifest.items(section).iter().enumerate() {
            for (index, job) in owner.items("jobs").iter().enumerate() {
                if !job.str("release").is_some_and(is_release) {
                    continue;
                }
                reader.wanted = true;
                let place = Pointer::root()
                    .at(section)
                    .at(number)
                    .at("jobs")
                    .at(index)
                    .at("properties");
                let empty = Tree::object();
                let properties = job.get("properties").unwrap_or(&empty);
                if job.str("release") == Some("bosh-dns") {
                    server(properties, &place, reader);
                }
                files.push(File {
                    job: job.str("name").unwrap_or_default().to_string(),
                    aliases: listed(properties.get("aliases"), &place.at("aliases"), reader),
                    place: place.at("aliases"),
                });
            }
        }
    }
    files
}

/// The property `aliases`: a list of maps with `domain` (bosh-dns-aliases), or a map (bosh-dns).
fn listed(aliases: Option<&Tree>, place: &Pointer, reader: &mut Reader<'_>) -> Vec<(String, Vec<String>, Pointer)> {
    match aliases {
        None | Some(Tree::Null) => Vec::new(),
        Some(Tree::Object(map)) => of_map(map, place, reader),
        Some(Tree::Array(items)) => {
            let mut all: Vec<(String, Vec<String>, Pointer)> = Vec::new();
            for (index, item) in items.iter().enumerate() {
                let place = place.at(index);
                let Some(domain) = item.str("domain") else {
                    reader.error(&place, "An alias has no 'domain'".into());
                    continue;
                };
                let targets = item.items("targets").iter().enumerate();
                let targets = targets.filter_map(|(nth, target)| query(target, &place.at("targets").at(nth), reader));
                let entry = (domain.to_string(), targets.collect(), place.clone());
                // The template makes a map of them: the last one of a name wins.
                all.retain(|(known, ..)| known != domain);
                all.push(entry);
            }
            all
        }
        Some(_) => {
            reader.error(place, "Aliases are a list, or an object of lists".into());
            Vec::new()
        }
    }
}

fn of_map(map: &Map, place: &Pointer, reader: &mut Reader<'_>) -> Vec<(String, Vec<String>, Pointer)> {
    let mut all = Vec::new();
    for (domain, targets) in map {
        let place = place.at(domain);
        let text = |item: &Tree| item.as_str().map(String::from);
        let texts: Option<Vec<String>> = targets.as_array().and_then(|items| items.iter().map(text).collect());
        match texts {
            Some(texts) => all.push((domain.clone(), texts, place)),
            None => reader.error(
                &place,
                format!("The targets of alias '{domain}' are not a list of names"),
            ),
        }
    }
    all
}

/// A target of bosh-dns-aliases.
fn query(target: &Tree, place: &Pointer, reader: &mut Reader<'_>) -> Option<String> {
    let query = target.str("query");
    // Some operations files have an address only.
    if let Some(address) = query.filter(|query| query.parse::<IpAddr>().is_ok()) {
        return Some(address.to_string());
    }
    let part = |key: &str| target.str(key).map(canonical);
    let (Some(query), Some(group), Some(network), Some(deployment)) =
        (query, part("instance_group"), part("network"), part("deployment"))
    else {
        let message = "A target of an alias needs 'query', 'instance_group', 'network' and 'deployment'";
        reader.error(place, message.into());
        return None;
    };
    let domain = target.str("domain").unwrap_or(ROOT);
    Some(format!("{query}.{group}.{network}.{deployment}.{domain}"))
}

/// BOSH's canonical form, patterns kept.
fn canonical(name: &str) -> String {
    let star = |part: &str| if part.is_empty() { String::new() } else { label(part) };
    name.split('*').map(star).collect::<Vec<_>>().join("*")
}

fn define(aliases: Vec<(String, Vec<String>, Pointer)>, place: &Pointer, reader: &mut Reader<'_>) {
    for (domain, targets, at) in aliases {
        if reader.zone.aliases.len() >= MAX_ALIASES {
            return reader.error(place, format!("The deployment has more than {MAX_ALIASES} aliases"));
        }
        let of_target = targets.iter().find_map(|target| alias_error(target));
        match alias_error(&domain)
            .map(|why| (domain.as_str(), why))
            .or(of_target.map(|why| ("its target", why)))
        {
            Some((name, why)) => {
                reader.error(&at, format!("The alias '{domain}' is invalid: {name} {why}"));
            }
            None if targets.is_empty() => reader.error(&at, format!("The alias '{domain}' has no targets")),
            None => {
                if !reader.zone.aliases.define(&domain, targets) {
                    let message = format!("The alias '{domain}' is already defined: this definition has no effect");
                    reader.warning(&at, message);
                }
            }
        }
    }
}

/// `aliases` of provided links.
fn link_aliases(manifest: &Tree, reader: &mut Reader<'_>) {
    let files = reader.zone.aliases.clone();
    for group in InstanceGroup::all(manifest) {
        for (place, job) in group.jobs(&mut unreported()) {
            let provides = job.members("provides");
            for (link, given) in provides.into_iter().flatten() {
                let place = place.at("provides").at(link).at("aliases");
                for (nth, alias) in given.items("aliases").iter().enumerate() {
                    reader.wanted = true;
                    link_alias(&group, alias, &files, &place.at(nth).pointer, reader);
                }
            }
        }
    }
}

fn link_alias(group: &InstanceGroup<'_>, alias: &Tree, files: &Aliases, place: &Pointer, reader: &mut Reader<'_>) {
    let Some(domain) = alias.str("domain") else {
        return reader.error(place, "An alias of a link has no 'domain'".into());
    };
    if let Some(why) = alias_error(domain) {
        return reader.error(place, format!("The alias '{domain}' {why}"));
    }
    let health = match alias.str("health_filter") {
        Some("unhealthy") => 1,
        Some("healthy") => 3,
        Some("all") => 4,
        _ => 0,
    };
    let deployment = &reader.zone.deployment;
    let below = format!("{}.*.{}.{ROOT}", label(&group.name), label(&deployment.name));
    let made = match alias.str("placeholder_type") {
        Some("uuid") => of_members(deployment, group, domain, &below),
        _ => vec![(domain.to_string(), format!("q-s{health}.{below}"))],
    };
    if reader.zone.aliases.len() + made.len() > MAX_ALIASES {
        return reader.error(place, format!("The deployment has more than {MAX_ALIASES} aliases"));
    }
    for (domain, target) in made {
        // Aliases of files come first, and the first definition wins; aliases of several links are merged.
        if files.get(&domain.to_ascii_lowercase()).is_none() {
            reader.zone.aliases.extend(&domain, &[target]);
        }
    }
}

/// One alias for each member of the group: the first `_` of the domain stands for its id.
fn of_members(deployment: &Deployment, group: &InstanceGroup<'_>, domain: &str, below: &str) -> Vec<(String, String)> {
    let unreported = &mut unreported();
    let layout = Layout {
        group: &group.name,
        azs: &group.azs(unreported),
        instances: group.instances(unreported).unwrap_or_default(),
        spread: deployment.spread,
    };
    if layout.count() > MAX_PLACEHOLDERS {
        return Vec::new();
    }
    let names = Names::of(deployment);
    let instances = names.and_then(|names| layout.instances(&names)).unwrap_or_default();
    let entry = |id: String| (domain.replacen('_', &id, 1), format!("{id}.{below}"));
    instances.iter().map(|instance| entry(instance.id())).collect()
}

/// Properties of the job `bosh-dns` that have an effect here, and those that are ignored silently.
const USED: [&str; 6] = [
    "aliases",
    "recursors",
    "excluded_recursors",
    "disable_recursors",
    "handlers",
    "upcheck_domains",
];

fn server(properties: &Tree, place: &Pointer, reader: &mut Reader<'_>) {
    for key in properties.as_object().into_iter().flat_map(Map::keys) {
        if !USED.contains(&key.as_str()) {
            let message = format!("The property '{key}' of a job of BOSH DNS has no effect in Kubernetes");
            reader.warning(&place.at(key), message);
        }
    }
    let addresses = |key: &str, reader: &mut Reader<'_>| {
        let (good, bad) = servers(properties.items(key));
        for index in bad {
            reader.error(&place.at(key).at(index), RECURSOR.into());
        }
        good
    };
    let recursors = addresses("recursors", reader);
    let excluded = addresses("excluded_recursors", reader);
    let upcheck = properties.texts("upcheck_domains");
    let handlers = handlers(properties.items("handlers"), &place.at("handlers"), reader);
    let zone = &mut reader.zone.server;
    zone.recursors.extend(recursors);
    zone.excluded.extend(excluded);
    zone.upcheck
        .extend(upcheck.filter(|name| alias_error(name).is_none()).map(String::from));
    zone.no_recursion |= properties.get("disable_recursors") == Some(&Tree::Bool(true));
    zone.handlers.extend(handlers);
    once(zone);
}

/// The same job may be on every group.
fn once(server: &mut Server) {
    let mut seen = std::collections::HashSet::new();
    for all in [&mut server.recursors, &mut server.excluded, &mut server.upcheck] {
        seen.clear();
        all.retain(|one| seen.insert(one.clone()));
    }
    let mut seen = std::collections::HashSet::new();
    server.handlers.retain(|one| seen.insert(one.domain.clone()));
}

fn handlers(items: &[Tree], place: &Pointer, reader: &mut Reader<'_>) -> Vec<Handler> {
    let (mut all, errors) = Handler::list(items);
    for error in errors {
        reader.error(&place.join(error.at.tokens()), error.message);
    }
    // The servers of the deployment cannot ask a server in each of its pods.
    all.retain(|handler| {
        let is_local = handler.source.is_local();
        if is_local {
            let message = format!(
                "The handler of '{}' has no effect: its URL leads to the server itself. A job's file '{HANDLER_FILE}' has an effect",
                handler.domain
            );
            reader.warning(place, message);
        }
        !is_local
    });
    all
}

/// A cycle keeps BOSH's server from starting.
fn checked(reader: &mut Reader<'_>) {
    let message = match reader.zone.aliases.flattened() {
        Ok(_) => return,
        Err(AliasError::Cycle(domain)) => format!("The alias '{domain}' refers to itself"),
        Err(AliasError::TooMany(domain)) => format!("The alias '{domain}' has too many targets"),
    };
    reader.error(&Pointer::root(), message);
}

// === impl Reader ===

impl Reader<'_> {
    fn error(&mut self, at: &Pointer, message: String) {
        self.report
            .error(self.codes.invalid, self.place.with(at.clone()), message);
    }

    fn warning(&mut self, at: &Pointer, message: String) {
        self.report
            .warning(self.codes.no_effect, self.place.with(at.clone()), message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::{Diagnostic, json};

    const CODES: &Codes = &Codes {
        invalid: &Code::new("invalid", "", ""),
        no_effect: &Code::new("no-effect", "", ""),
    };

    /// With the errors and warnings of the report.
    fn reported(text: &str) -> (Collected, Vec<String>) {
        let manifest = json::parse(text).unwrap();
        let deployment = Deployment {
            name: "demo".into(),
            namespace: "ns".into(),
            cluster_domain: "cluster.local".into(),
            ..Deployment::default()
        };
        let mut report = Report::default();
        let collected = collect(&manifest, &deployment, CODES, &Place::default(), &mut report);
        let line = |one: Diagnostic| {
            let pointer = one.pointer.map(|at| at.to_string()).unwrap_or_default();
            format!("{} {pointer} {}", one.code.name, one.message)
        };
        (collected, report.into_diagnostics().into_iter().map(line).collect())
    }

    fn collected(text: &str) -> Collected {
        reported(text).0
    }

    fn aliases(found: &Collected) -> Vec<String> {
        let line = |(domain, targets): (&str, &[String])| format!("{domain} -> {}", targets.join(" "));
        found.zone.aliases.iter().map(line).collect()
    }

    #[test]
    fn aliases_of_files_and_links_are_collected() {
        let (found, messages) = reported(
            r#"{"name": "cf", "instance_groups": [
              {"name": "web_ui", "instances": 2, "azs": ["z1", "z2"], "networks": [{"name": "Net_1"}],
               "jobs": [{"name": "w", "release": "r", "provides": {"l": {"aliases": [{"domain": "w.S", "health_filter": "all"}, {"domain": "_.w.S", "placeholder_type": "uuid"}]}}}]},
              {"name": "api", "instances": 1, "jobs": [{"name": "x", "release": "r", "provides": {"m": {"aliases": [{"domain": "w.s"}, {"domain": "uaa.s"}]}}}]},
              {"name": "smoke", "instances": 1, "lifecycle": "errand", "jobs": []}],
             "addons": [{"name": "dns", "jobs": [{"name": "bosh-dns-aliases", "release": "bosh-dns-aliases", "properties": {"aliases": [
               {"domain": "UAA.s", "targets": [{"query": "*", "instance_group": "u_a", "network": "default", "deployment": "cf", "domain": "bosh"}]},
               {"domain": "uaa.s2", "targets": [{"query": "q-s4", "instance_group": "uaa", "network": "default", "deployment": "cf"}, {"query": "10.0.0.1"}]}]}}]}]}"#,
        );
        assert_eq!(messages, [""; 0]);
        assert!(found.wanted);
        assert_eq!(
            aliases(&found),
            [
                "uaa.s -> *.u-a.default.cf.bosh",
                "uaa.s2 -> q-s4.uaa.default.cf.bosh 10.0.0.1",
                "w.s -> q-s4.web-ui.*.demo.bosh q-s0.api.*.demo.bosh",
                "web_ui-0.w.s -> web_ui-0.web-ui.*.demo.bosh",
                "web_ui-1.w.s -> web_ui-1.web-ui.*.demo.bosh",
            ]
        );
        assert_eq!(found.zone.deployments, ["demo", "cf"]);
        assert_eq!(found.zone.networks, ["net-1", "default"]);
        assert_eq!(found.zone.groups.len(), 2);
    }

    #[test]
    fn what_cannot_be_is_reported_with_its_place() {
        let (found, messages) = reported(
            r#"{"instance_groups": [{"name": "g", "jobs": [
              {"name": "bosh-dns", "release": "bosh-dns", "properties": {
                "aliases": {"a.s": ["b.s"], "b.s": ["a.s"], "empty.s": [], "bad..s": ["x.s"], "list.s": "x"},
                "recursors": ["8.8.8.8", "dns.example.com"], "health": {"enabled": true},
                "handlers": [{"domain": "h.", "source": {"type": "http", "url": "u"}}, {"domain": "l", "source": {"type": "http", "url": "http://127.0.0.1:8053"}},
                  {"domain": "Deny.", "source": {"type": "deny", "response": "REFUSED"}}]}},
              {"name": "bosh-dns-aliases", "release": "bosh-dns-aliases", "properties": {"aliases": [
                {"targets": []}, {"domain": "q.s", "targets": [{"query": "*"}]}, {"domain": "b.s", "targets": [{"query": "1.1.1.1"}]}]}}]}]}"#,
        );
        let p = "/instance_groups/0/jobs/0/properties";
        let q = "/instance_groups/0/jobs/1/properties";
        assert_eq!(
            messages,
            [
                format!("invalid {p}/recursors/1 A recursor is an IP address, with or without a port"),
                format!(
                    "invalid {p}/handlers/0/source/url The source of a handler has no URL of the form 'http://<host>[:<port>]'"
                ),
                format!("invalid {p}/aliases/list.s The targets of alias 'list.s' are not a list of names"),
                format!("invalid {q}/aliases/0 An alias has no 'domain'"),
                format!(
                    "invalid {q}/aliases/1/targets/0 A target of an alias needs 'query', 'instance_group', 'network' and 'deployment'"
                ),
                format!("invalid {p}/aliases/empty.s The alias 'empty.s' has no targets"),
                format!(
                    "invalid {p}/aliases/bad..s The alias 'bad..s' is invalid: bad..s has a label that is empty or longer than 63 characters"
                ),
                format!("invalid {q}/aliases/1 The alias 'q.s' has no targets"),
                "invalid  The alias 'a.s' refers to itself".into(),
                format!("no-effect {p}/health The property 'health' of a job of BOSH DNS has no effect in Kubernetes"),
                format!(
                    "no-effect {p}/handlers The handler of 'l' has no effect: its URL leads to the server itself. A job's file 'dns/handlers.json' has an effect"
                ),
                format!("no-effect {q}/aliases/2 The alias 'b.s' is already defined: this definition has no effect"),
            ]
        );
        assert_eq!(found.zone.server.handlers[0].source, super::super::Source::Refused);
        assert_eq!(found.zone.server.recursors, ["8.8.8.8"]);
    }

    #[test]
    fn a_deployment_without_any_of_it_wants_none() {
        assert!(!collected(r#"{"instance_groups": [{"name": "g", "jobs": [{"name": "j", "release": "r"}]}]}"#).wanted);
        assert!(collected(r#"{"features": {"use_dns_addresses": true}}"#).wanted);
    }

    #[test]
    fn documents_of_any_shape_are_read() {
        for text in [
            "1",
            "{}",
            r#"{"instance_groups": 1, "addons": [1, {"jobs": [1, {"release": "bosh-dns", "properties": 1}]}]}"#,
        ] {
            collected(text);
        }
    }
}

//! Which provider a consumed link gets: BOSH's matching rules and error texts.

use crate::codes;
use crate::consume::{Asker, Consumer, Way};
use crate::group::Group;
use crate::manifest::Manifest;
use crate::provide::{Provider, Source};
use boson_contract::links::{ExternalLink, LinksRequest};
use boson_document::{Diagnostic, Pointer, Report};
use boson_manifest::names::Names;
use boson_manifest::redacted::plain;
use std::collections::HashMap;

/// The data before links are resolved.
pub struct Plan<'a> {
    pub manifest: Manifest<'a>,
    pub names: Names,
    pub providers: Vec<Provider>,
    /// By instance group.
    pub consumers: Vec<Vec<Consumer>>,
}

/// Origin of the content of a link.
#[derive(Clone, Copy, Debug)]
pub enum Found<'p> {
    /// A job or a disk.
    Provider(&'p Provider),
    /// A native workload, or another deployment.
    External(&'p ExternalLink),
}

/// Most providers that an error names.
const MAX_NAMED_PROVIDERS: usize = 30;

/// All providers, by type and name.
#[derive(Debug)]
pub struct Providers<'p> {
    groups: &'p [Group<'p>],
    request: LinksRequest<'p>,
    by_kind: HashMap<&'p str, Vec<&'p Provider>>,
    by_name: HashMap<(&'p str, &'p str), Vec<&'p Provider>>,
}

// === impl Providers ===

impl<'p> Providers<'p> {
    /// Sorts providers by type and name; those that cannot be consumed are left out.
    pub fn new(all: &'p [Provider], groups: &'p [Group<'p>], request: LinksRequest<'p>) -> Self {
        let mut providers = Self {
            groups,
            request,
            by_kind: HashMap::new(),
            by_name: HashMap::new(),
        };
        for provider in all.iter().filter(|provider| provider.consumable) {
            let (kind, name) = (provider.kind.as_str(), provider.name.as_str());
            providers.by_kind.entry(kind).or_default().push(provider);
            providers.by_name.entry((kind, name)).or_default().push(provider);
        }
        providers
    }

    /// The only provider of a link that is not manual; `None` if the link is optional or an error was added to the
    /// report.
    pub fn find(&self, consumer: &Consumer, report: &mut Report) -> Option<Found<'p>> {
        let candidates = self.candidates(consumer);
        match candidates.as_slice() {
            [one] => {
                self.check_addresses(*one, consumer, report);
                return Some(*one);
            }
            [] if consumer.optional && consumer.way != Way::Explicit => {}
            [] => self.unresolved(consumer, report),
            many => self.ambiguous(consumer, many, report),
        }
        None
    }

    /// Pods of an errand exist while it runs, and have no Services.
    fn check_addresses(&self, found: Found<'p>, consumer: &Consumer, report: &mut Report) {
        let Found::Provider(provider) = found else { return };
        let group = &self.groups[provider.group];
        if group.entry.is_service() || provider.source == Source::Disk {
            return;
        }
        let (link, name) = (&consumer.original, plain(group.name()));
        let message = format!("Link '{link}' is provided by the errand '{name}': no Service has its addresses");
        let warning = report.warning(codes::ERRAND, consumer.place.clone(), message);
        warning.help("use its properties only, or provide the link from a group that runs permanently");
    }

    fn candidates(&self, consumer: &Consumer) -> Vec<Found<'p>> {
        let kind = consumer.kind.as_str();
        let own = match (&consumer.way, &consumer.deployment) {
            (Way::Implicit, _) => self.by_kind.get(kind),
            (Way::Explicit, None) => self.by_name.get(&(kind, consumer.name.as_str())),
            (Way::Explicit, Some(_)) | (Way::Blocked | Way::Manual(_), _) => None,
        };
        let is_candidate = |link: &&ExternalLink| match consumer.way {
            Way::Implicit => link.kind == kind,
            Way::Explicit => link.kind == kind && link.name == consumer.name,
            Way::Blocked | Way::Manual(_) => false,
        };
        let own = own.into_iter().flatten().copied().map(Found::Provider);
        let external = self.external_to(consumer).iter().filter(is_candidate);
        own.chain(external.map(Found::External)).collect()
    }

    /// The external links that a consumer may get.
    fn external_to(&self, consumer: &Consumer) -> &'p [ExternalLink] {
        match &consumer.deployment {
            Some(other) => self.request.external.of_deployment(other).unwrap_or_default(),
            None => &self.request.external.native,
        }
    }

    fn unresolved(&self, consumer: &Consumer, report: &mut Report) {
        let header = self.header(consumer);
        let message = format!("{header} Details below:\n  - No link providers found");
        let error = report.error(codes::UNRESOLVED, consumer.place.clone(), message);
        if consumer.way == Way::Blocked {
            error.help("the link is not optional, so it cannot be `nil`");
            return;
        }
        let names: Vec<&str> = self.names_of_kind(consumer).collect();
        error.help(self.help(consumer, &names));
        if consumer.way == Way::Explicit {
            error.suggest(&consumer.name, names);
        }
    }

    /// Names of the providers with the type of a link.
    fn names_of_kind(&self, consumer: &Consumer) -> impl Iterator<Item = &'p str> {
        let kind = consumer.kind.as_str();
        let own = match consumer.deployment {
            None => self.by_kind.get(kind).map_or(&[][..], Vec::as_slice),
            Some(_) => &[],
        };
        let own = own.iter().map(|provider| provider.name.as_str());
        let external = self.external_to(consumer).iter().filter(move |link| link.kind == kind);
        own.chain(external.map(|link| link.name.as_str()))
    }

    /// What to change if a link has no provider; `names`: those of providers with its type.
    fn help(&self, consumer: &Consumer, names: &[&str]) -> String {
        let kind = &consumer.kind;
        let external = self.external_to(consumer);
        if !names.is_empty() {
            let mut names: Vec<&str> = names.iter().take(MAX_NAMED_PROVIDERS).copied().collect();
            names.dedup();
            let names = names.join(", ");
            return format!("providers of the type '{kind}' are named: {names}; set `from` to one of them");
        }
        if let Some(link) = external.iter().find(|link| link.name == consumer.name) {
            return format!(
                "{} provides a link of this name, but of the type '{}'",
                link.origin, link.kind
            );
        }
        match &consumer.deployment {
            Some(other) => format!(
                "deployment '{other}' shares no link of the type '{kind}': set `shared: true` for it under `provides` there"
            ),
            None => format!(
                "add a job or a native Secret that provides a link of the type '{kind}', or give the link's `instances` and `properties` here"
            ),
        }
    }

    fn ambiguous(&self, consumer: &Consumer, many: &[Found<'p>], report: &mut Report) {
        let mut message = format!("{} Multiple link providers found:", self.header(consumer));
        for found in many.iter().take(MAX_NAMED_PROVIDERS) {
            let detail = match found {
                Found::Provider(provider) => self.detail(provider, consumer.network.as_deref()),
                Found::External(link) => format!("Link provider '{}' from {}", link.name, link.origin),
            };
            message += &format!("\n  - {detail}");
        }
        if many.len() > MAX_NAMED_PROVIDERS {
            message += &format!("\n  - and {} more", many.len() - MAX_NAMED_PROVIDERS);
        }
        let help = "name one with `consumes: {link: {from: name}}`; give providers of the same name others with `provides: {link: {as: name}}`";
        report
            .error(codes::AMBIGUOUS, consumer.place.clone(), message)
            .help(help);
    }

    fn header(&self, consumer: &Consumer) -> String {
        let alias = if consumer.name == consumer.original {
            String::new()
        } else {
            format!("alias '{}' and ", consumer.name)
        };
        let asker = match &consumer.asker {
            Asker::Job { group, job } => {
                let group = &self.groups[*group];
                format!("job '{}' in instance group '{}'", group.jobs[*job].name, group.name())
            }
            Asker::Variable(name) => format!("variable '{name}'"),
        };
        format!(
            "Failed to resolve link '{}' with {alias}type '{}' from {asker}.",
            consumer.original, consumer.kind
        )
    }

    fn detail(&self, provider: &Provider, network: Option<&str>) -> String {
        let group = &self.groups[provider.group];
        let Source::Job(job) = provider.source else {
            let none = if network.is_some() {
                " does not contain any networks"
            } else {
                ""
            };
            return format!(
                "Disk link provider '{}' from instance group '{}'{none}",
                provider.original,
                group.name()
            );
        };
        let alias = if provider.name == provider.original {
            String::new()
        } else {
            format!("with alias '{}' ", provider.name)
        };
        let deployment = &self.request.deployment.name;
        let miss = network.map_or_else(String::new, |network| {
            format!(" does not belong to network '{network}'")
        });
        format!(
            "Link provider '{}' {alias}from job '{}' in instance group '{}' in deployment '{deployment}'{miss}",
            provider.original,
            group.jobs[job].name,
            group.name()
        )
    }
}

/// The diagnostics, with the director's text for all links after those of links.
pub fn collected(mut diagnostics: Vec<Diagnostic>, deployment: &str) -> Vec<Diagnostic> {
    let of_links = |one: &Diagnostic| one.code == codes::UNRESOLVED || one.code == codes::AMBIGUOUS;
    let Some(last) = diagnostics.iter().rposition(of_links) else {
        return diagnostics;
    };
    let mut message = format!("Failed to resolve links from deployment '{deployment}'. See errors below:");
    let failed: Vec<&Diagnostic> = diagnostics.iter().filter(|one| of_links(one)).collect();
    for one in failed.iter().take(MAX_NAMED_PROVIDERS) {
        message += &format!("\n  - {}", one.message.replace("\n", "\n  "));
    }
    if failed.len() > MAX_NAMED_PROVIDERS {
        message += &format!("\n  - and {} more", failed.len() - MAX_NAMED_PROVIDERS);
    }
    let mut all = Diagnostic::error(codes::FAILED, message).at(Pointer::root().at("instance_groups"));
    all.help("each error is reported above with its place");
    diagnostics.insert(last + 1, all);
    diagnostics
}

//! The names that a deployment has: read from its zone document.

use boson_manifest::dns::{AliasError, Aliases, Handler, Source};
use boson_manifest::instances::{Layout, Spread};
use boson_manifest::names::{NameError, Names, label};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

/// Why a zone cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ZoneError {
    /// No JSON, or not of this shape.
    #[error("the zone document cannot be read: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Written by another version of the operator.
    #[error("the zone document has version {0}, and this program reads version 1")]
    Version(u32),
    /// A name that Kubernetes cannot have.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Aliases that refer to themselves, or have too many targets.
    #[error("aliases cannot be resolved: '{0}' refers to itself, or has too many targets")]
    Recursion(String),
    /// More than a deployment can have.
    #[error("the zone has more than {MAX_INSTANCES} instances")]
    TooLarge,
}

const MAX_INSTANCES: u64 = 20_000;
const DNS_PORT: u16 = 53;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its group's number in [`Zone::groups`].
    pub group: usize,
    /// `spec.index`.
    pub index: u32,
    /// `spec.id`, in lower case.
    pub id: String,
    /// Number of its AZ, from 1; 0: none.
    pub az: usize,
    pub service: String,
}

/// How names below a domain are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// BOSH's own names, below this domain.
    Root,
    /// An alias, and all below it.
    Alias,
    /// The name with which clients check that the server answers.
    Upcheck,
    Others(Upstream),
    Denied,
    Refused,
}

/// Who is asked about a name of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upstream {
    /// These servers; if empty, those for all other names.
    Servers(Vec<SocketAddr>),
    /// A server with BOSH's interface over HTTP, by its URL.
    Http(String),
}

/// All names of a deployment.
#[derive(Clone, Debug, Default)]
pub struct Zone {
    /// Domain of BOSH's names.
    pub root: String,
    /// `spec.dns_domain_name` in templates: `svc.<cluster domain>`. Names that templates build with it are names of
    /// BOSH DNS.
    pub domain: String,
    pub namespace: String,
    /// Value of the label that its EndpointSlices have.
    pub deployment: String,
    /// Labels that stand for the deployment.
    pub deployments: Vec<String>,
    /// Labels of networks.
    pub networks: Vec<String>,
    /// Labels of groups in names.
    pub groups: Vec<String>,
    pub instances: Vec<Instance>,
    /// Number of an instance by the name of its Service.
    pub by_service: HashMap<String, usize>,
    pub by_id: HashMap<String, Vec<usize>>,
    /// Numbers of the instances of each group.
    pub of_group: Vec<Vec<usize>>,
    /// Service names of groups and instances with their cluster suffix: which templates may use as targets of aliases.
    pub addresses: HashMap<String, Vec<usize>>,
    /// Aliases; targets that are aliases themselves are expanded.
    pub aliases: Aliases,
    pub alias_of: HashMap<String, Vec<String>>,
    /// How names are answered, by domain.
    pub authorities: HashMap<String, Authority>,
    /// Servers for all other names; if empty, the cluster's.
    pub recursors: Vec<SocketAddr>,
    /// Servers that are not asked.
    pub excluded: Vec<IpAddr>,
    /// Other names are refused.
    pub no_recursion: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    version: u32,
    deployment: String,
    namespace: String,
    cluster_domain: String,
    #[serde(default)]
    spread: String,
    root: String,
    deployments: Vec<String>,
    networks: Vec<String>,
    #[serde(default)]
    azs: Vec<String>,
    groups: Vec<GroupEntry>,
    #[serde(default)]
    aliases: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    server: ServerEntry,
}

#[derive(Deserialize)]
struct GroupEntry {
    name: String,
    #[serde(default)]
    azs: Vec<String>,
    instances: u32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServerEntry {
    recursors: Vec<String>,
    excluded: Vec<String>,
    no_recursion: bool,
    handlers: Vec<HandlerEntry>,
    upcheck: Vec<String>,
}

#[derive(Deserialize)]
struct HandlerEntry {
    domain: String,
    #[serde(default)]
    recursors: Vec<String>,
    url: Option<String>,
    denied: Option<String>,
}

/// Rendered alias files: of each job its domains with their targets, in the order of the jobs' names.
pub type AliasFiles = BTreeMap<String, BTreeMap<String, Vec<String>>>;

// === impl Zone ===

impl Zone {
    /// Reads the document. Alias files of jobs come behind the aliases of the manifest.
    ///
    /// # Errors
    /// See [`ZoneError`].
    pub fn read(text: &str, files: &AliasFiles) -> Result<Self, ZoneError> {
        let document: Document = serde_json::from_str(text)?;
        if document.version != 1 {
            return Err(ZoneError::Version(document.version));
        }
        let names = Names::new(&document.deployment, &document.namespace, &document.cluster_domain)?;
        let mut zone = Self {
            root: normal(&document.root),
            domain: normal(&format!("svc.{}", document.cluster_domain)),
            namespace: document.namespace.clone(),
            deployment: names.deployment().to_string(),
            deployments: document.deployments.clone(),
            networks: document.networks.clone(),
            ..Self::default()
        };
        zone.add_groups(&document, &names)?;
        zone.add_aliases(&document, files)?;
        zone.add_authorities(&document.server);
        Ok(zone)
    }

    /// What a server within a pod knows: the handlers of files of the pod's jobs. It asks others about all other names,
    /// but not itself.
    pub fn of_pod(handlers: Vec<Handler>, own: Vec<IpAddr>) -> Self {
        let mut zone = Self {
            excluded: own,
            ..Self::default()
        };
        for handler in handlers {
            let authority = match handler.source {
                Source::Servers(servers) => Authority::Others(Upstream::Servers(addresses(&servers))),
                Source::Http(url) => Authority::Others(Upstream::Http(url)),
                Source::NoSuchName => Authority::Denied,
                Source::Refused => Authority::Refused,
            };
            zone.authorities.entry(handler.domain).or_insert(authority);
        }
        zone.authorities.insert(UPCHECK_DOMAIN.into(), Authority::Upcheck);
        zone
    }

    fn add_groups(&mut self, document: &Document, names: &Names) -> Result<(), ZoneError> {
        let spread = Spread::named(&document.spread).unwrap_or_default();
        let mut total = 0;
        for (number, group) in document.groups.iter().enumerate() {
            let layout = Layout {
                group: &group.name,
                azs: &group.azs,
                instances: group.instances,
                spread,
            };
            total += layout.count();
            if total > MAX_INSTANCES {
                return Err(ZoneError::TooLarge);
            }
            let mut members = Vec::new();
            for instance in layout.instances(names)? {
                let service = names.instance_service(&group.name, instance.index)?;
                let az = document.azs.iter().position(|az| Some(az) == instance.az.as_ref());
                let place = self.instances.len();
                let id = instance.id().to_lowercase();
                self.by_service.insert(service.clone(), place);
                self.by_id.entry(id.clone()).or_default().push(place);
                // Host names cannot contain `_`, and many clients refuse it.
                let canonical = label(&id);
                if canonical != id {
                    self.by_id.entry(canonical).or_default().push(place);
                }
                self.addresses.insert(normal(&instance.address), vec![place]);
                self.instances.push(Instance {
                    group: number,
                    index: instance.index,
                    id,
                    az: az.map_or(0, |place| place + 1),
                    service,
                });
                members.push(place);
            }
            let address = names.group_address(&group.name)?;
            self.addresses.insert(normal(&address), members.clone());
            self.groups.push(label(&group.name));
            self.of_group.push(members);
        }
        Ok(())
    }

    fn add_aliases(&mut self, document: &Document, files: &AliasFiles) -> Result<(), ZoneError> {
        let mut all = Aliases::default();
        for (domain, targets) in &document.aliases {
            let targets = targets.as_array().into_iter().flatten();
            let targets: Vec<String> = targets.filter_map(|one| one.as_str().map(String::from)).collect();
            all.define(domain, targets);
        }
        for (domain, targets) in files.values().flatten() {
            all.define(domain, targets.clone());
        }
        self.aliases = all.flattened().map_err(|error| match error {
            AliasError::Cycle(domain) | AliasError::TooMany(domain) => ZoneError::Recursion(domain),
        })?;
        for (domain, targets) in self.aliases.iter().filter(|(domain, _)| !domain.starts_with("_.")) {
            for target in targets {
                self.alias_of
                    .entry(target.clone())
                    .or_default()
                    .push(domain.to_string());
            }
        }
        Ok(())
    }

    fn add_authorities(&mut self, server: &ServerEntry) {
        for handler in &server.handlers {
            let authority = match (handler.denied.as_deref(), &handler.url) {
                (Some("REFUSED"), _) => Authority::Refused,
                (Some(_), _) => Authority::Denied,
                (None, Some(url)) => Authority::Others(Upstream::Http(url.clone())),
                (None, None) => Authority::Others(Upstream::Servers(addresses(&handler.recursors))),
            };
            self.authorities.insert(normal(&handler.domain), authority);
        }
        self.authorities.insert(UPCHECK_DOMAIN.into(), Authority::Upcheck);
        for domain in &server.upcheck {
            self.authorities.insert(normal(domain), Authority::Upcheck);
        }
        // What is registered last replaces a handler of the same domain.
        for (domain, _) in self.aliases.iter() {
            let domain = domain.strip_prefix("_.").unwrap_or(domain).to_string();
            self.authorities.insert(domain, Authority::Alias);
        }
        self.authorities.insert(AGENT_ID_DOMAIN.into(), Authority::Root);
        self.authorities.insert(self.root.clone(), Authority::Root);
        self.recursors = addresses(&server.recursors);
        self.excluded = server.excluded.iter().filter_map(|text| text.parse().ok()).collect();
        self.no_recursion = server.no_recursion;
    }

    /// How a name in lower case is answered; `None` if it is outside the zone.
    pub fn authority(&self, name: &str) -> Option<&Authority> {
        let mut rest = name;
        loop {
            if let Some(authority) = self.authorities.get(rest) {
                return Some(authority);
            }
            rest = rest.split_once('.')?.1;
        }
    }

    pub fn full_name(&self, instance: &Instance) -> String {
        let first = |all: &[String]| all.first().cloned().unwrap_or_default();
        let (network, deployment) = (first(&self.networks), first(&self.deployments));
        let group = self.groups.get(instance.group).map_or("", String::as_str);
        format!("{}.{group}.{network}.{deployment}.{}", instance.id, self.root)
    }
}

/// Answered by every server, as BOSH's.
pub const UPCHECK_DOMAIN: &str = "upcheck.bosh-dns";
/// Ids of agents stand for instances: here, the instances' ids.
pub const AGENT_ID_DOMAIN: &str = "bosh-agent-id";

/// The name in lower case, without a dot at the end.
pub fn normal(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn addresses(all: &[String]) -> Vec<SocketAddr> {
    let one = |text: &String| {
        let alone = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DNS_PORT));
        text.parse().or(alone).ok()
    };
    all.iter().filter_map(one).collect()
}

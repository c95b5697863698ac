//! Instances and links as templates get them.

use crate::codes;
use crate::group::Group;
use crate::provide::{Provider, Source};
use boson_contract::types::Deployment;
use boson_document::{Report, Tree};
use boson_manifest::group::Network;
use boson_manifest::instances::Instance;
use boson_manifest::names::{NameError, Names};

/// Most objects for instances, in `spec`s and links together: a misplaced `instances: 100000` would multiply them.
const MAX_INSTANCES: u64 = 50_000;
/// Most bytes of properties in links.
const MAX_PROPERTY_BYTES: usize = 24 << 20;

/// Whose `spec.name` and `spec.id` are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// The instance's, as in BOSH: `web` and `web-0`. Jobs that run beside each other find each other by them.
    #[default]
    Instance,
    /// The job's on the instance: `web-nginx` and `web-0-nginx`.
    Job,
}

/// What is the same for all of a deployment.
pub struct Content<'c> {
    deployment: &'c str,
    groups: &'c [Group<'c>],
    domain: String,
    names: &'c Names,
    ids: Ids,
    instances: u64,
    bytes: usize,
}

// === impl Content ===

impl<'c> Content<'c> {
    /// For a deployment with these instance groups.
    pub fn new(deployment: &'c Deployment, groups: &'c [Group<'c>], names: &'c Names, ids: Ids) -> Self {
        Self {
            deployment: &deployment.name,
            groups,
            domain: format!("svc.{}", deployment.cluster_domain.trim_matches('.')),
            names,
            ids,
            instances: 0,
            bytes: 0,
        }
    }

    /// Counts objects for instances, and bytes, before they are created; `None` if they are too many, which is reported
    /// at the group.
    pub fn count(&mut self, instances: u64, bytes: usize, group: &Group<'_>, report: &mut Report) -> Option<()> {
        self.instances = self.instances.saturating_add(instances);
        self.bytes = self.bytes.saturating_add(bytes);
        let message = if self.instances > MAX_INSTANCES {
            format!("The instances of all jobs and links are more than {MAX_INSTANCES}")
        } else if self.bytes > MAX_PROPERTY_BYTES {
            let most = MAX_PROPERTY_BYTES >> 20;
            format!("The properties of all links have more than {most} MiB")
        } else {
            return Some(());
        };
        report.error(codes::LIMIT, &group.entry.place, message);
        None
    }

    /// `spec` of a job on an instance, but for `properties`, `links` and `release`.
    pub fn spec(&self, group: &Group<'_>, job: &str, instance: &Instance) -> Tree {
        self.link_instance(job, instance)
            .with("ip", POD_IP)
            .with("deployment", self.deployment)
            .with("job", object([("name", group.name().into())]))
            .with("networks", networks(group, instance))
            .with("dns_domain_name", self.domain.as_str())
            .with("persistent_disk", group.persistent_disk())
            .with("properties_need_filtering", true)
    }

    /// A link as its consumers' templates get it, after its size was counted; `None` if the deployment is too large, or
    /// no Service can have the name of the provider's group, which is reported at `group`.
    pub fn counted_link(&mut self, provider: &Provider, group: &Group<'_>, report: &mut Report) -> Option<Tree> {
        let instances = match provider.source {
            Source::Job(_) => self.groups[provider.group].instances.len(),
            Source::Disk => 0,
        };
        self.count(instances as u64, weight(&provider.properties), group, report)?;
        let link = self.link(provider).inspect_err(|error| {
            report.error(codes::LIMIT, &group.entry.place, error.to_string());
        });
        link.ok()
    }

    fn link(&self, provider: &Provider) -> Result<Tree, NameError> {
        let group = &self.groups[provider.group];
        let link = Tree::object().with("deployment_name", self.deployment);
        let Source::Job(job) = provider.source else {
            // A disk has no instances.
            return Ok(link
                .with("instances", Tree::Array(Vec::new()))
                .with("properties", provider.properties.clone()));
        };
        let job = &group.jobs[job].name;
        let instances: Vec<Tree> = group
            .instances
            .iter()
            .map(|instance| self.link_instance(job, instance))
            .collect();
        Ok(link
            .with("domain", self.domain.as_str())
            .with("default_network", group.entry.default_network())
            .with("instance_group", group.name())
            .with("group_name", format!("{}-{}", provider.name, provider.kind))
            .with("address", self.names.group_address(group.name())?)
            .with("instances", instances)
            .with("properties", provider.properties.clone()))
    }

    fn link_instance(&self, job: &str, instance: &Instance) -> Tree {
        object([
            ("name", self.ids.name(instance, job).into()),
            ("index", instance.index.into()),
            ("id", self.ids.id(instance, job).into()),
            ("az", instance.az.clone().into()),
            ("address", instance.address.as_str().into()),
            ("bootstrap", instance.bootstrap().into()),
        ])
    }
}

/// The networks that the group lists, all of which are the network of the cluster.
fn networks(group: &Group<'_>, instance: &Instance) -> Tree {
    let of_network = |network: Network<'_>| {
        let described = object([
            ("type", "dynamic".into()),
            ("ip", POD_IP.into()),
            ("default", network.default_for.into()),
            ("dns_record_name", instance.address.as_str().into()),
        ]);
        (network.name.to_string(), described)
    };
    group.entry.networks().into_iter().map(of_network).collect()
}

/// Kubernetes expands it in arguments and environment, and templates rendered in the pod get the address itself.
const POD_IP: &str = "$(POD_IP)";

// === impl Ids ===

impl Ids {
    fn name(self, instance: &Instance, job: &str) -> String {
        match self {
            Self::Instance => instance.name().into(),
            Self::Job => format!("{}-{job}", instance.name()),
        }
    }

    fn id(self, instance: &Instance, job: &str) -> String {
        match self {
            Self::Instance => instance.id(),
            Self::Job => format!("{}-{job}", instance.id()),
        }
    }
}

fn object<const N: usize>(members: [(&str, Tree); N]) -> Tree {
    members.into_iter().collect()
}

/// About how many bytes a value has as JSON text.
pub fn weight(value: &Tree) -> usize {
    match value {
        Tree::Null | Tree::Bool(_) => 5,
        Tree::Number(number) => number.text().len() + 1,
        Tree::String(text) => text.len() + 3,
        Tree::Array(items) => items.iter().map(weight).sum::<usize>() + 3,
        Tree::Object(map) => {
            map.iter()
                .map(|(name, value)| name.len() + 4 + weight(value))
                .sum::<usize>()
                + 3
        }
    }
}

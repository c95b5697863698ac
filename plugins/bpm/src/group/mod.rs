//! An instance group, read from the resolved document; all its errors are reported at once.

mod images;
mod values;

use crate::cloud::Cloud;
use crate::codes;
use crate::job::Job;
use crate::metadata::{Metadata, Use, user_map};
use crate::ports::{self, Port};
use crate::request::{Deployment, GroupRequest};
use crate::rollout;
use crate::settings::Settings;
use crate::waiting::{self, Wait};
use boson_document::{Map, Place, Report, Tree, ruby};
use boson_manifest::cloud::CloudConfig;
use boson_manifest::instances::Layout;
use boson_manifest::schema::{self, Schema};
use boson_manifest::{labels, names};
use std::collections::HashSet;
use values::{disks, lifecycle, replicas, resource, zones};

/// Most instances of a group over its zones; each has a Service.
pub const MOST_INSTANCES: u32 = 1_000;

/// What runs a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// Permanently: a QuarksStatefulSet.
    Service,
    /// On request: a QuarksJob with trigger `manual`.
    Errand,
    /// Once: a QuarksJob with trigger `once`.
    AutoErrand,
}

/// Disks of a group, sizes in MiB.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    /// The persistent disk.
    pub persistent: Option<u64>,
    /// Its StorageClass; none: the cluster's default.
    pub class: Option<String>,
    /// The ephemeral disk.
    pub ephemeral: Option<u64>,
}

/// An instance group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The deployment.
    pub deployment: Deployment,
    /// Names of its objects.
    pub names: names::Names,
    /// Name, as in the manifest.
    pub name: String,
    /// Name, as part of Kubernetes names and as a label value.
    pub slug: String,
    /// Where it is in the manifest.
    pub place: Place,
    /// What runs it.
    pub lifecycle: Lifecycle,
    /// Its zones; none: anywhere.
    pub zones: Vec<String>,
    /// Instances in each zone, or anywhere: the first has most. Empty where the report says why.
    pub replicas: Vec<u32>,
    /// Its settings from the cloud config.
    pub cloud: Cloud,
    /// Labels and annotations of its objects, pods and claims.
    pub metadata: Metadata,
    /// Annotations that drive updates.
    pub rollout: Map,
    /// Its disks.
    pub disks: Disks,
    /// CPUs of the group's VM.
    pub cpu: Option<u64>,
    /// Memory of the group's VM, MiB.
    pub ram: Option<u64>,
    /// `env.bosh.agent.settings`.
    pub settings: Settings,
    /// Its jobs that become containers or contribute files.
    pub jobs: Vec<Job>,
    /// How many containers run processes.
    pub processes: usize,
    /// Ports of all jobs.
    pub ports: Vec<Port>,
    /// Names of pull Secrets of its releases.
    pub pull_secrets: Vec<String>,
    /// Name of the Secret with the resolved document.
    pub resolved_secret: String,
    /// What its pods wait for.
    pub waits: Vec<Wait>,
}

// === impl Group ===

impl Group {
    /// Reads it; `None` after an error, which is in the report.
    pub fn read(request: &GroupRequest, settings: &Tree, report: &mut Report) -> Option<Self> {
        let place = Place::new(&request.document_name, &request.pointer);
        let Some([tree]) = request
            .group
            .get("instance_groups")
            .and_then(Tree::as_array)
            .map(Vec::as_slice)
        else {
            let text = "The resolved document does not hold exactly one instance group";
            report.error(codes::MALFORMED, &place, text);
            return None;
        };
        check_keys(tree, request, &place, report);
        let name = ruby::member(tree, "name").unwrap_or_default();
        let names = names_of(request, &name, &place, report)?;
        let (lifecycle, zones) = (
            lifecycle(tree, &name, &place, report),
            zones(tree, &name, &place, report),
        );
        let layout = Layout {
            group: &name,
            azs: &zones,
            instances: 0,
            spread: request.deployment.spread,
        };
        let cloud = Cloud::of_group(&request.group, tree);
        let group = Self {
            deployment: request.deployment.clone(),
            slug: names::cut(&names::label(&name), "", names::LABEL_LIMIT),
            lifecycle,
            replicas: replicas(tree, &layout, lifecycle, &place, report),
            zones: zones.clone(),
            metadata: Metadata::default(),
            rollout: rollout::annotations(tree),
            disks: disks(tree, &name, &cloud, &place, report),
            cpu: resource(tree, "cpu", &place, report).or(cloud.cpu),
            ram: resource(tree, "ram", &place, report).or(cloud.ram),
            settings: cloud.under(Settings::read(tree, &place, report)),
            cloud,
            jobs: Vec::new(),
            processes: 0,
            ports: Vec::new(),
            pull_secrets: Vec::new(),
            resolved_secret: request.resolved_secret.clone(),
            waits: waiting::read(request, tree, &names, &place, report),
            names,
            name,
            place,
        };
        Some(
            group
                .with_metadata(tree, &request.group, report)
                .with_jobs(request, tree, settings, report),
        )
    }

    fn with_metadata(mut self, tree: &Tree, document: &Tree, report: &mut Report) -> Self {
        let place = self.place.at("tags");
        let mut annotations = user_map(
            document.get("tags"),
            Use::Annotations,
            &Place::new(&place.document, "/tags"),
            report,
        );
        annotations.extend(user_map(tree.get("tags"), Use::Annotations, &place, report));
        annotations.extend(self.settings.annotations.clone());
        let own = Metadata {
            labels: self.settings.labels.clone(),
            annotations,
        };
        self.metadata = own
            .label(labels::DEPLOYMENT_NAME, self.names.deployment())
            .label(labels::INSTANCE_GROUP_NAME, self.slug.as_str());
        self
    }

    fn with_jobs(mut self, request: &GroupRequest, tree: &Tree, settings: &Tree, report: &mut Report) -> Self {
        let mut names = HashSet::new();
        if tree.get("jobs").is_none_or(Tree::is_null) {
            report.error(
                codes::MISSING_KEY,
                &self.place,
                format!("Instance group '{}' does not specify jobs key", self.name),
            );
        }
        if tree.items("jobs").len() != request.jobs.len() {
            let text = "The request does not have the files of every job of the instance group";
            report.error(codes::MALFORMED, self.place.at("jobs"), text);
        }
        for (index, (job, files)) in tree.items("jobs").iter().zip(&request.jobs).enumerate() {
            let place = self.place.at("jobs").at(index);
            if !names.insert(files.job.clone()) {
                let text = format!(
                    "Colocated job '{}' is already added to the instance group '{}'",
                    files.job, self.name
                );
                report.error(codes::DUPLICATE, &place, text);
            } else if crate::release::is_dns(&files.release) {
                // The deployment has its own servers.
            } else {
                let job = Job::read(&self, request, job, files, settings, &place, report);

                self.jobs.push(job);
            }
        }
        self.processes = self.jobs.iter().map(|job| job.processes.len()).sum();
        images::check(&self, request, report);
        self.ports = ports::merge(&self.jobs, report);

        if self.lifecycle != Lifecycle::Service && !self.ports.is_empty() {
            let text = format!(
                "Ports of the errand '{}' have no effect: an errand has no Service",
                self.name
            );
            report.warning(codes::ERRAND, &self.place, text);
        }
        self.pull_secrets = pull_secrets(&self, &request.group);
        self
    }

    /// Instances in the fullest zone: what indexes are counted with.
    pub fn fullest(&self) -> u32 {
        self.replicas.first().copied().unwrap_or(0)
    }

    /// Do all zones have the same number of instances?
    pub fn is_even(&self) -> bool {
        self.replicas.iter().all(|count| *count == self.fullest())
    }

    /// Zone, from 0, and ordinal in it of every pod, in the order of their indexes.
    pub fn pods(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..)
            .zip(&self.replicas)
            .flat_map(|(zone, count)| (0..*count).map(move |ordinal| (zone, ordinal)))
    }
}

/// Names of the group's objects.
fn names_of(request: &GroupRequest, group: &str, place: &Place, report: &mut Report) -> Option<names::Names> {
    let deployment = &request.deployment;
    let names = names::Names::new(&deployment.name, &deployment.namespace, &deployment.cluster_domain);
    match names.and_then(|names| names.group(group).map(|_| names)) {
        Ok(names) => Some(names),
        Err(error) => {
            let of_deployment = matches!(error, names::NameError::NoLetter { .. });
            let place = if of_deployment {
                Place::new(&place.document, "/name")
            } else {
                place.at("name")
            };
            report.error(codes::NAME, &place, error.to_string());
            None
        }
    }
}

/// Checks the group's own keys: jobs, and keys that `update` inherits, are checked at their places in the manifest.
fn check_keys(tree: &Tree, request: &GroupRequest, place: &Place, report: &mut Report) {
    let document = &request.group;
    let answered = match CloudConfig::of(document) {
        Some(_) => schema::ANSWERED_BY_CLOUD_CONFIG,
        None => &[],
    };
    let schema = Schema::new(schema::GROUP, codes::KEYS).answering(answered);
    let own = rollout::own(tree, document);
    if let Some(update) = own.as_ref().filter(|update| update.as_object().is_some()) {
        let has_image = !request.deployment.operator_image.is_empty();
        rollout::check(update, has_image, &place.at("update"), report);
    }
    let Some(map) = tree.as_object() else {
        return schema.check(tree, place, report);
    };
    let members = map.iter().map(|(key, value)| match (key.as_str(), value) {
        ("jobs", Tree::Array(_)) => (key.clone(), Tree::Array(Vec::new())),
        ("update", _) => (key.clone(), own.clone().unwrap_or_default()),
        _ => (key.clone(), value.clone()),
    });
    schema.check(&members.collect(), place, report);
}

/// Pull Secrets of the releases with credentials that the group's containers come from.
fn pull_secrets(group: &Group, document: &Tree) -> Vec<String> {
    let with_credentials = |release: &&Tree| {
        release
            .get("credentials")
            .is_some_and(|credentials| !credentials.is_null())
    };
    let names: HashSet<&str> = group.jobs.iter().map(|job| job.release.as_str()).collect();
    let used = |release: &&Tree| release.str("name").is_some_and(|name| names.contains(name));
    let releases = document.items("releases").iter().filter(with_credentials).filter(used);
    releases
        .filter_map(|release| group.names.release_credentials(release.str("name")?).ok())
        .collect()
}

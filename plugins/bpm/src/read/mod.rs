//! Reads an instance group from its resolved document; all its errors are reported at once.

mod images;
mod job;
mod values;

use crate::codes;
use crate::containers::packages;
use crate::group::cloud::Cloud;
use crate::group::settings::Settings;
use crate::group::{Group, Lifecycle};
use crate::group::{ports, rollout, sysctls, waits};
use crate::metadata::{Metadata, Use, user_map};
use crate::request::GroupRequest;
use boson_document::{Place, Report, Tree};
use boson_manifest::cloud::CloudConfig;
use boson_manifest::dns::is_release;
use boson_manifest::group::InstanceGroup;
use boson_manifest::instances::Layout;
use boson_manifest::job::Names;
use boson_manifest::schema::{self, Schema};
use boson_manifest::{labels, names};
use std::collections::HashSet;
use values::{disks, instances, lifecycle, resource, zones};

/// Reads the group of a request; `None` after an error, which is in the report.
pub fn group(request: &GroupRequest, settings: &Tree, report: &mut Report) -> Option<Group> {
    let place = Place::new(&request.document_name, &request.pointer);
    let [tree] = request.group.items("instance_groups") else {
        let text = "The resolved document does not hold exactly one instance group";
        report.error(codes::MALFORMED, &place, text);
        return None;
    };
    check_keys(tree, request, &place, report);
    let entry = InstanceGroup::read(tree, &place, codes::GROUPS, report)?;
    let names = names_of(request, &entry.name, &place, report)?;
    let (lifecycle, zones) = (lifecycle(&entry, report), zones(&entry, report));
    let layout = entry.instances(report).map(|instances| Layout {
        group: &entry.name,
        azs: &zones,
        instances,
        spread: request.deployment.spread,
    });
    let instances = layout.map(|layout| instances(&layout, lifecycle, &place, report));
    let cloud = Cloud::of_group(&request.group, tree);
    let group = Group {
        deployment: request.deployment.clone(),
        slug: names::label_value(&entry.name),
        lifecycle,
        instances: instances.unwrap_or_default(),
        zones: zones.clone(),
        metadata: Metadata::default(),
        rollout: rollout::annotations(tree),
        disks: disks(tree, &entry.name, &cloud, &place, report),
        cpu: resource(tree, "cpu", &place, report).or(cloud.cpu),
        ram: resource(tree, "ram", &place, report).or(cloud.ram),
        settings: cloud.merge(Settings::read(tree, &place, report)),
        cloud,
        jobs: Vec::new(),
        processes: 0,
        ports: Vec::new(),
        sysctls: Vec::new(),
        pull_secrets: Vec::new(),
        resolved_secret: request.resolved_secret.clone(),
        waits: waits::read(request, tree, &names, &place, report),
        names,
        name: entry.name.clone(),
        place,
    };
    let group = with_metadata(group, tree, &request.group, report);
    Some(with_jobs(group, request, &entry, settings, report))
}

fn with_metadata(mut group: Group, tree: &Tree, document: &Tree, report: &mut Report) -> Group {
    let place = group.place.at("tags");
    let mut annotations = user_map(
        document.get("tags"),
        Use::Annotations,
        &Place::new(&place.document, "/tags"),
        report,
    );
    annotations.extend(user_map(tree.get("tags"), Use::Annotations, &place, report));
    annotations.extend(group.settings.annotations.clone());
    let own = Metadata {
        labels: group.settings.labels.clone(),
        annotations,
    };
    group.metadata = own
        .label(labels::DEPLOYMENT_NAME, group.names.deployment())
        .label(labels::INSTANCE_GROUP_NAME, group.slug.as_str());
    group
}

fn with_jobs(
    mut group: Group,
    request: &GroupRequest,
    entry: &InstanceGroup<'_>,
    settings: &Tree,
    report: &mut Report,
) -> Group {
    let (listed, mut names) = (entry.jobs(report), Names::default());
    if entry.tree.items("jobs").len() != request.jobs.len() {
        let text = "The request does not have the files of every job of the instance group";
        report.error(codes::MALFORMED, group.place.at("jobs"), text);
    }
    for ((place, tree), files) in listed.zip(&request.jobs) {
        let is_new = names.add(&files.job, &group.name, &place, codes::DUPLICATE, report);
        // The deployment has its own DNS servers.
        if is_new && !is_release(&files.release) {
            let job = job::read(&group, request, tree, files, settings, &place, report);
            group.jobs.push(job);
        }
    }
    group.processes = group.jobs.iter().map(|job| job.processes.len()).sum();
    images::check(&group, request, report);
    packages::check_group(entry.tree, &group, &request.jobs, report);
    group.ports = ports::merge(group.jobs.iter().flat_map(|job| &job.quarks.ports), report);
    group.sysctls = sysctls::merge(group.jobs.iter().flat_map(|job| &job.quarks.sysctls), report);

    if group.lifecycle != Lifecycle::Service && !group.ports.is_empty() {
        let name = &group.name;
        let text = format!("Ports of the errand '{name}' have no effect: an errand has no Service");
        report.warning(codes::ERRAND, &group.place, text);
    }
    group.pull_secrets = pull_secrets(&group, &request.group);
    group
}

/// Names of the group's objects.
fn names_of(request: &GroupRequest, group: &str, place: &Place, report: &mut Report) -> Option<names::Names> {
    match names::Names::of(&request.deployment).and_then(|names| names.group(group).map(|_| names)) {
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

//! Objects and checks outside the instance groups: checks of the manifest, pull Secrets of releases, QuarksSecrets of
//! variables.

pub mod dns;
pub mod features;
pub mod image;
pub mod variables;

use crate::codes;
use crate::group::cloud;
use crate::group::rollout;
use crate::metadata::{Metadata, Use, user_map};
use crate::request::DeploymentRequest;
use crate::workload::zone::NODE_LABEL;
use boson_document::{Place, Report, Tree, ruby};
use boson_manifest::cloud::CloudConfig;
use boson_manifest::dns::is_release;
use boson_manifest::group::InstanceGroup;
use boson_manifest::instances::{Layout, Spread};
use boson_manifest::members::unreported;
use boson_manifest::names::{NameClaims, NameError, Names, label};
use boson_manifest::release::Release;
use boson_manifest::schema::{self, Schema};
use boson_manifest::stemcell::Stemcell;
use boson_manifest::{images, job, labels, redacted};
use std::collections::HashSet;

/// Checks the manifest, and makes the objects.
pub fn objects(request: &DeploymentRequest<'_>, report: &mut Report) -> Vec<Tree> {
    let place = Place::new(request.manifest.name, "");
    let document = request.manifest.tree;
    check(request, &place, report);
    let names = match Names::of(request.deployment) {
        Ok(names) => names,
        Err(error) => {
            report.error(codes::NAME, place.at("name"), error.to_string());
            return Vec::new();
        }
    };
    let annotations = user_map(document.get("tags"), Use::Annotations, &place.at("tags"), report);
    let metadata = Metadata {
        annotations,
        ..Metadata::default()
    }
    .label(labels::DEPLOYMENT_NAME, names.deployment());
    let mut claims = NameClaims::default();
    claim_groups(&names, request, &place, &mut claims, report);
    let mut objects = pull_secrets(request, &names, &metadata, &mut claims, report);
    objects.extend(dns::objects(request, &names, &metadata, &mut claims, report));
    let feature = document.get("features").and_then(|all| all.get("converge_variables"));
    let converges = feature.and_then(Tree::as_bool);
    for variable in request.variables {
        let place = Place::new(request.manifest.name, &variable.pointer);
        objects.extend(variables::object(
            variable,
            variables::update_mode(variable, converges),
            &names,
            &metadata,
            &mut claims,
            &place,
            report,
        ));
    }
    objects
}

fn check(request: &DeploymentRequest<'_>, place: &Place, report: &mut Report) {
    let document = request.manifest.tree;
    Schema::new(schema::MANIFEST, codes::KEYS).check(document, place, report);
    if let Some(given) = document.get("features") {
        features::check(given, &place.at("features"), report);
    }
    if let Some(name) = ruby::member(document, "name").filter(|name| *name != request.deployment.name) {
        let deployment = &request.deployment.name;
        let text = format!("Key 'name' has no effect: the name of the deployment is '{deployment}', not '{name}'");
        report.warning(codes::IGNORED_KEY, place.at("name"), text);
    }
    if let Some(update) = document.get("update") {
        let has_image = !request.deployment.operator_image.is_empty();
        rollout::check(update, has_image, &place.at("update"), report);
    }
    if document.get("release").is_some() && document.get("releases").is_some() {
        let text = "Deployment manifest contains both 'release' and 'releases' sections, please use one of the two.";
        report.error(codes::REFUSED_KEY, place.at("release"), text);
    }
    releases(request, place, report);
    stemcells(document, &place.at("stemcells"), report);
    groups(document, &place.at("instance_groups"), report);
    cloud::check(document, place, report);
    jobs(document, place, report);
    zones(document, place, report);
}

/// Most zones in the message.
const MAX_LISTED_ZONES: usize = 20;

/// Warns once about zone names that no cloud config maps: the nodes of the cluster are not known here.
fn zones(document: &Tree, place: &Place, report: &mut Report) {
    let cloud = CloudConfig::of(document);
    let (mut names, mut seen, mut first) = (Vec::new(), HashSet::new(), None);
    for group in InstanceGroup::all(document) {
        let names_of_group = group.azs(&mut unreported()).into_iter();
        for name in names_of_group.filter(|name| cloud.is_none_or(|cloud| cloud.zone(name).is_none())) {
            first.get_or_insert_with(|| place.with(group.place.at("azs").pointer));
            if seen.insert(name.clone()) && names.len() < MAX_LISTED_ZONES {
                names.push(name);
            }
        }
    }
    let Some(place) = first else { return };
    let names = names.join("', '");
    let text = format!("AZs are used as values of the node label '{NODE_LABEL}': '{names}'");
    let help = "pods stay Pending if no node has the value: `kubectl get nodes -L topology.kubernetes.io/zone` lists the values";
    report.warning(codes::ZONES, &place, text).help(help);
}

/// Checks that need the manifest: in resolved documents, properties of groups are merged into those of jobs.
fn groups(document: &Tree, place: &Place, report: &mut Report) {
    for (index, group) in document.items("instance_groups").iter().enumerate() {
        if group.get("properties").is_some() {
            report.error(codes::REFUSED_KEY, place.at(index).at("properties"), schema::PROPERTIES);
        }
    }
}

fn releases(request: &DeploymentRequest<'_>, place: &Place, report: &mut Report) {
    urls(request, place, report);
    for release in Release::all(request.manifest.tree).filter(has_image) {
        let place = place.with(release.place.pointer.clone());
        let stemcell = release.stemcell().map(|stemcell| {
            let version = ruby::member(stemcell, "version").unwrap_or_default();
            (version, place.at("stemcell"))
        });
        let name = release.name.as_str();
        let is_of = |job: &Tree| job.str("release") == Some(name);
        let affected = affected(request.manifest.tree, |group| group.items("jobs").iter().any(is_of));
        for (version, place) in [Some((release.version.clone(), place)), stemcell].into_iter().flatten() {
            let of = format!("release '{name}'");
            version_checks(&of, &version, &affected, &place.at("version"), report);
        }
    }
}

/// Jobs of other releases are part of each pod: a DNS server, and container-run instead of bpm.
fn has_image(release: &Release<'_>) -> bool {
    !is_release(&release.name) && release.name != "bpm"
}

/// Releases that name no registry. Several of them are reported as one error, with one cause.
fn urls(request: &DeploymentRequest<'_>, place: &Place, report: &mut Report) {
    let registry = request.deployment.registry.as_deref();
    let all: Vec<Release<'_>> = Release::all(request.manifest.tree).filter(has_image).collect();
    let lacks_image = |release: &&Release<'_>| images::url(release.tree, registry).is_none();
    let without_image: Vec<&Release<'_>> = all.iter().filter(lacks_image).collect();
    let Some(first) = without_image.first() else {
        return;
    };
    let is_download = |release: &Release<'_>| release.tree.str("url").is_some_and(|url| !url.is_empty());
    let (name, all) = (&first.name, all.len());
    let (count, downloads) = (
        without_image.len(),
        without_image.iter().all(|release| is_download(release)),
    );
    let what = match (count, downloads) {
        (1, true) => {
            format!("Release '{name}' has a download 'url', but needs a registry and organization")
        }
        (1, false) => format!("Release '{name}' has no 'url': the registry and organization of its image"),
        (_, true) => format!(
            "{count} of {all} releases, from '{name}' on, have a 'url' to download them from, where a registry and organization are needed"
        ),
        (_, false) => format!(
            "{count} of {all} releases, from '{name}' on, have no 'url' that names the registry and organization that hold their images"
        ),
    };
    let place = place.with(first.place.pointer.clone());
    let place = if first.tree.get("url").is_some() {
        place.at("url")
    } else {
        place
    };
    report
        .error(codes::NO_IMAGE, &place, what)
        .help("Set it, or use one registry for all releases: --registry URL.");
}

/// The end of a help text: how many instance groups have no images because of an error.
fn affected(document: &Tree, uses: impl Fn(&Tree) -> bool) -> String {
    let groups = document.items("instance_groups").iter();
    match groups.filter(|group| uses(group)).count() {
        0 => String::new(),
        1 => " 1 instance group has no images because of it.".into(),
        more => format!(" {more} instance groups have no images because of it."),
    }
}

fn version_checks(of: &str, version: &str, affected: &str, place: &Place, report: &mut Report) {
    if images::is_latest(version) {
        let text = format!("Version '{version}' of {of} is not supported: names of images contain exact versions");
        let help = format!("Write the version of the image.{affected}");
        report.error(codes::LATEST, place, text).help(help);
    }
    if version.contains('+') {
        let text = format!(
            "Version '{version}' of {of} is '{}' in the tag of its image",
            images::tag(version)
        );
        report.warning(codes::IMAGE_TAG, place, text);
    }
}

fn stemcells(document: &Tree, place: &Place, report: &mut Report) {
    let groups: HashSet<&str> = document
        .items("instance_groups")
        .iter()
        .filter_map(|group| group.str("stemcell"))
        .collect();
    let mut aliases = HashSet::new();
    for (index, stemcell) in Stemcell::all(document).enumerate() {
        let place = place.at(index);
        let alias = stemcell.alias().unwrap_or_default();
        if stemcell.tree.get("alias").is_some() && !aliases.insert(alias) {
            let text = format!("Duplicate stemcell alias '{alias}'");
            report.error(codes::DUPLICATE, place.at("alias"), text);
        }
        if let Some(map) = stemcell.tree.as_object()
            && !map.contains_key("os")
            && !map.contains_key("name")
        {
            let text = format!(
                "Required property 'os' or 'name' was not specified in object ({})",
                redacted::hash(map)
            );
            report.error(codes::MISSING_KEY, &place, text);
        }
        let used = groups.contains(alias);
        if !used && !alias.is_empty() {
            let text = format!("Stemcell '{alias}' has no effect: no instance group uses it");
            report.warning(codes::IGNORED_KEY, &place, text);
        } else if used {
            let version = stemcell.version().unwrap_or_default();
            let affected = affected(document, |group| group.str("stemcell") == Some(alias));
            let of = format!("stemcell '{alias}'");
            version_checks(&of, &version, &affected, &place.at("version"), report);
        }
    }
}

/// Keys of all jobs, of groups and addons, at their places in the manifest.
fn jobs(document: &Tree, place: &Place, report: &mut Report) {
    for section in ["instance_groups", "addons"] {
        for (index, owner) in document.items(section).iter().enumerate() {
            for (number, job) in owner.items("jobs").iter().enumerate() {
                // The reader of jobs reports those that are no objects.
                if job.as_map().is_none() {
                    continue;
                }
                let place = place.at(section).at(index).at("jobs").at(number);
                Schema::new(schema::JOB, codes::KEYS).check(job, &place, report);
                quarks(job, &place.at("properties"), report);
            }
        }
    }
}

fn quarks(job: &Tree, place: &Place, report: &mut Report) {
    let properties = job.get("properties").and_then(Tree::as_map);
    for (name, tree) in properties.into_iter().flat_map(job::quarks) {
        Schema::new(schema::QUARKS, codes::KEYS).check(tree, &place.at(name), report);
    }
}

/// Most instances whose Service names are checked for conflicts; the host accepts no more objects of a deployment.
const MAX_CHECKED_SERVICES: usize = 20_000;

/// Names of all groups' objects: two groups, or a group and another's instance, must not share one.
fn claim_groups(
    names: &Names,
    request: &DeploymentRequest<'_>,
    place: &Place,
    claims: &mut NameClaims,
    report: &mut Report,
) {
    let (mut left, mut seen) = (MAX_CHECKED_SERVICES, HashSet::new());
    for group in InstanceGroup::all(request.manifest.tree) {
        // The links stage reports groups with the same canonical name, and names that no Service can have.
        if !seen.insert(label(&group.name)) {
            continue;
        }
        let indexes = indexes(&group, request.deployment.spread, left);
        left -= indexes.len();
        let claimed = claim_group(names, &group.name, &indexes, claims);
        let claimed = claimed.and_then(|()| claim_stateful_sets(names, &group, claims));
        if let Err(error @ NameError::Conflict { .. }) = claimed {
            let place = place.with(group.place.at("name").pointer);
            report.error(codes::NAME_CONFLICT, place, error.to_string());
        }
    }
}

/// Indexes of the instances of a group that have a Service, `most` of them.
fn indexes(group: &InstanceGroup<'_>, spread: Spread, most: usize) -> Vec<u32> {
    if !group.is_service() {
        return Vec::new();
    }
    let report = &mut unreported();
    let layout = Layout {
        group: &group.name,
        azs: &group.azs(report),
        instances: group.instances(report).unwrap_or_default(),
        spread,
    };
    layout.pods().take(most).map(|pod| pod.index).collect()
}

fn claim_group(names: &Names, group: &str, indexes: &[u32], claims: &mut NameClaims) -> Result<(), NameError> {
    let by = format!("instance group '{group}'");
    claims.claim("workload", &names.group(group)?, &by)?;
    claims.claim("Secret", &names.resolved(group, None)?, &by)?;
    claims.claim("Secret", &names.bpm(group, None)?, &by)?;
    claims.claim("Service", &names.service(group)?, &by)?;
    indexes.iter().try_for_each(|index| {
        let by = format!("instance {index} of instance group '{group}'");
        claims.claim("Service", &names.instance_service(group, *index)?, &by)
    })
}

/// Groups `web` with zones and `web-z0` without would have a StatefulSet of one name.
fn claim_stateful_sets(names: &Names, group: &InstanceGroup<'_>, claims: &mut NameClaims) -> Result<(), NameError> {
    if !group.is_service() {
        return Ok(());
    }
    let zones = group.azs(&mut unreported()).len();
    let mut zones = (0..).take(zones).map(Some).chain((zones == 0).then_some(None));
    zones.try_for_each(|zone: Option<u32>| {
        let by = format!("instance group '{}'", group.name);
        claims.claim("StatefulSet", &names.stateful_set(&group.name, zone, 1)?, &by)
    })
}

fn pull_secrets(
    request: &DeploymentRequest<'_>,
    names: &Names,
    metadata: &Metadata,
    claims: &mut NameClaims,
    report: &mut Report,
) -> Vec<Tree> {
    let mut objects = Vec::new();
    for release in Release::all(request.manifest.tree) {
        let Some((username, password)) = release.credentials() else {
            continue;
        };
        let Some(url) = images::url(release.tree, request.deployment.registry.as_deref()) else {
            continue;
        };
        let by = format!("the credentials of release '{}'", release.name);
        let name = names.release_credentials(&release.name);
        match name.and_then(|name| claims.claim("Secret", &name, &by).map(|()| name)) {
            Ok(name) => objects.push(image::pull_secret(&name, metadata, &url, &username, &password)),
            Err(error) => {
                let place = release.place.at("name").in_document(request.manifest.name);
                report.error(codes::NAME_CONFLICT, place, error.to_string());
            }
        }
    }
    objects
}

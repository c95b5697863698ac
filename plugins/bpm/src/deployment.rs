//! Objects and checks outside the instance groups: checks of the manifest, pull Secrets of releases, QuarksSecrets of variables.

use crate::cloud;
use crate::codes;
use crate::dns;
use crate::features;
use crate::image;
use crate::metadata::{Metadata, Use, user_map};
use crate::release;
use crate::request::DeploymentRequest;
use crate::rollout;
use crate::variables;
use crate::zone::NODE_LABEL;
use boson_document::{Place, Report, Tree, ruby};
use boson_manifest::cloud::CloudConfig;
use boson_manifest::instances::{Layout, Spread};
use boson_manifest::names::{NameError, Names, Taken};
use boson_manifest::schema::{self, Schema};
use boson_manifest::{images, labels, redacted};
use std::collections::HashSet;

/// Checks the manifest, and makes the objects.
pub fn objects(request: &DeploymentRequest, report: &mut Report) -> Vec<Tree> {
    let place = Place::new(&request.document_name, "");
    let document = &request.document;
    check(request, &place, report);
    let names = match Names::new(
        &request.deployment.name,
        &request.deployment.namespace,
        &request.deployment.cluster_domain,
    ) {
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
    let mut taken = Taken::default();
    claim_groups(&names, request, &place, &mut taken, report);
    let mut objects = pull_secrets(request, &names, &metadata, &mut taken, report);
    objects.extend(dns::objects(request, &names, &metadata, &mut taken, report));
    for variable in &request.variables {
        let place = Place::new(&request.document_name, &variable.pointer);
        objects.extend(variables::object(
            variable, &names, &metadata, &mut taken, &place, report,
        ));
    }
    objects
}

fn check(request: &DeploymentRequest, place: &Place, report: &mut Report) {
    let document = &request.document;
    Schema::new(schema::MANIFEST, codes::KEYS).check(document, place, report);
    if let Some(given) = document.get("features") {
        features::check(given, &place.at("features"), report);
    }
    if let Some(name) = ruby::member(document, "name").filter(|name| *name != request.deployment.name) {
        let text = format!(
            "Key 'name' has no effect: the deployment is called '{}', not '{name}'",
            request.deployment.name
        );
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
    releases(request, &place.at("releases"), report);
    stemcells(document, &place.at("stemcells"), report);
    duplicates(
        document.items("instance_groups"),
        "name",
        "instance group name",
        &place.at("instance_groups"),
        report,
    );
    groups(document, &place.at("instance_groups"), report);
    cloud::check(document, place, report);
    jobs(document, place, report);
    zones(document, &place.at("instance_groups"), report);
}

/// Most zones in the message.
const MOST_ZONES: usize = 20;

/// Warns once about zone names that no cloud config maps: the nodes of the cluster are not known here.
fn zones(document: &Tree, place: &Place, report: &mut Report) {
    let cloud = CloudConfig::of(document);
    let (mut names, mut seen, mut first) = (Vec::new(), HashSet::new(), None);
    for (index, group) in document.items("instance_groups").iter().enumerate() {
        let names_of_group = group.items("azs").iter().filter_map(Tree::as_str);
        for name in names_of_group.filter(|name| cloud.is_none_or(|cloud| cloud.zone(name).is_none())) {
            first.get_or_insert_with(|| place.at(index).at("azs"));
            if seen.insert(name) && names.len() < MOST_ZONES {
                names.push(name);
            }
        }
    }
    let Some(place) = first else { return };
    let text = format!(
        "Zones are taken as values of the node label '{NODE_LABEL}': '{}'",
        names.join("', '")
    );
    let help = "where no node has the value, pods stay Pending: `kubectl get nodes -L topology.kubernetes.io/zone` shows which there are";
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

fn releases(request: &DeploymentRequest, place: &Place, report: &mut Report) {
    let releases = request.document.items("releases");
    duplicates(releases, "name", "release name", place, report);
    urls(request, place, report);
    for (index, release) in releases.iter().enumerate() {
        let place = place.at(index);
        let name = release.str("name").unwrap_or_default();
        if release::is_dns(name) {
            continue;
        }
        let stemcell = release.get("stemcell").map(|stemcell| (stemcell, place.at("stemcell")));
        for (tree, place) in [Some((release, place)), stemcell].into_iter().flatten() {
            let version = ruby::member(tree, "version").unwrap_or_default();
            let users = Users::of_release(&request.document, name);
            version_checks(
                &format!("release '{name}'"),
                &version,
                users,
                &place.at("version"),
                report,
            );
        }
    }
}

/// Releases that name no registry. Several of them are reported as one error, with one cause.
fn urls(request: &DeploymentRequest, place: &Place, report: &mut Report) {
    let registry = request.deployment.registry.as_deref();
    let releases = request.document.items("releases");
    let named = |release: &&Tree| release.str("name").is_some_and(|name| !release::is_dns(name));
    let all = releases.iter().filter(named).count();
    let lacking: Vec<(usize, &Tree)> = releases
        .iter()
        .enumerate()
        .filter(|(_, release)| named(release) && images::url(release, registry).is_none())
        .collect();
    let Some((index, first)) = lacking.first() else {
        return;
    };
    let is_download = |release: &Tree| release.str("url").is_some_and(|url| !url.is_empty());
    let name = first.str("name").unwrap_or_default();
    let (count, downloads) = (lacking.len(), lacking.iter().all(|(_, release)| is_download(release)));
    let what = match (count, downloads) {
        (1, true) => {
            format!("Release '{name}' has a 'url' to download it from, where a registry and organization are needed")
        }
        (1, false) => format!("Release '{name}' has no 'url': the registry and organization that hold its image"),
        (_, true) => format!(
            "{count} of {all} releases, from '{name}' on, have a 'url' to download them from, where a registry and organization are needed"
        ),
        (_, false) => format!(
            "{count} of {all} releases, from '{name}' on, have no 'url' that names the registry and organization that hold their images"
        ),
    };
    let place = place.at(index);
    let place = if first.get("url").is_some() {
        place.at("url")
    } else {
        place
    };
    report
        .error(codes::NO_IMAGE, &place, what)
        .help("Set it, or give one registry for all releases: --registry URL.");
}

/// Instance groups that need an image by a release or a stemcell.
struct Users(usize);

// === impl Users ===

impl Users {
    fn of_release(document: &Tree, release: &str) -> Self {
        let uses = |group: &&Tree| {
            group
                .items("jobs")
                .iter()
                .any(|job| job.str("release") == Some(release))
        };
        Self(document.items("instance_groups").iter().filter(uses).count())
    }

    fn of_stemcell(document: &Tree, alias: &str) -> Self {
        let uses = |group: &&Tree| group.str("stemcell") == Some(alias);
        Self(document.items("instance_groups").iter().filter(uses).count())
    }

    /// The end of a help text: the consequences of the error.
    fn affected(&self) -> String {
        match self.0 {
            0 => String::new(),
            1 => " 1 instance group has no images because of it.".into(),
            more => format!(" {more} instance groups have no images because of it."),
        }
    }
}

fn version_checks(of: &str, version: &str, users: Users, place: &Place, report: &mut Report) {
    if images::is_latest(version) {
        let text = format!("Version '{version}' of {of} is not supported: images are named by exact versions");
        let help = format!("Write the version that the image has.{}", users.affected());
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
    let stemcells = document.items("stemcells");
    let groups: HashSet<&str> = document
        .items("instance_groups")
        .iter()
        .filter_map(|group| group.str("stemcell"))
        .collect();
    let mut aliases = HashSet::new();
    for (index, stemcell) in stemcells.iter().enumerate() {
        let place = place.at(index);
        let alias = stemcell.str("alias").unwrap_or_default();
        if stemcell.get("alias").is_some() && !aliases.insert(alias) {
            report.error(
                codes::DUPLICATE,
                place.at("alias"),
                format!("Duplicate stemcell alias '{alias}'"),
            );
        }
        if let Some(map) = stemcell.as_object()
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
            let version = ruby::member(stemcell, "version").unwrap_or_default();
            let users = Users::of_stemcell(document, alias);
            version_checks(
                &format!("stemcell '{alias}'"),
                &version,
                users,
                &place.at("version"),
                report,
            );
        }
    }
}

fn duplicates(items: &[Tree], key: &str, what: &str, place: &Place, report: &mut Report) {
    let mut seen = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(name) = item.str(key).filter(|name| !seen.insert(*name)) {
            report.error(
                codes::DUPLICATE,
                place.at(index).at(key),
                format!("Duplicate {what} '{name}'"),
            );
        }
    }
}

/// Keys of all jobs, of groups and addons, at their places in the manifest.
fn jobs(document: &Tree, place: &Place, report: &mut Report) {
    for section in ["instance_groups", "addons"] {
        for (index, owner) in document.items(section).iter().enumerate() {
            for (number, job) in owner.items("jobs").iter().enumerate() {
                let place = place.at(section).at(index).at("jobs").at(number);
                Schema::new(schema::JOB, codes::KEYS).check(job, &place, report);
                quarks(job, &place.at("properties"), report);
            }
        }
    }
}

fn quarks(job: &Tree, place: &Place, report: &mut Report) {
    for name in ["quarks", "bosh_containerization"] {
        if let Some(tree) = job.get("properties").and_then(|properties| properties.get(name)) {
            Schema::new(schema::QUARKS, codes::KEYS).check(tree, &place.at(name), report);
        }
    }
}

/// Most instances whose Service names are checked for conflicts; the host accepts no more objects of a deployment.
const MOST_SERVICES: usize = 20_000;

/// Names of all groups' objects: two groups, or a group and another's instance, must not share one.
fn claim_groups(names: &Names, request: &DeploymentRequest, place: &Place, taken: &mut Taken, report: &mut Report) {
    let mut left = MOST_SERVICES;
    let mut seen = HashSet::new();
    for (index, group) in request.document.items("instance_groups").iter().enumerate() {
        let Some(name) = ruby::member(group, "name").filter(|name| seen.insert(name.clone())) else {
            continue;
        };
        let indexes = indexes(group, &name, request.deployment.spread, left);
        left -= indexes.len();
        if let Err(error) = claim_group(names, &name, &indexes, taken) {
            let taken = matches!(error, NameError::Taken { .. });
            let code = if taken { codes::NAME_TAKEN } else { codes::NAME };
            report.error(
                code,
                place.at("instance_groups").at(index).at("name"),
                error.to_string(),
            );
        }
    }
}

/// Indexes of the instances of a group that have a Service, `most` of them.
fn indexes(group: &Tree, name: &str, spread: Spread, most: usize) -> Vec<u32> {
    if !matches!(group.str("lifecycle"), None | Some("service")) {
        return Vec::new();
    }
    let azs: Vec<String> = group
        .items("azs")
        .iter()
        .map(|az| az.as_str().unwrap_or_default().into())
        .collect();
    let instances = group
        .get("instances")
        .and_then(Tree::as_i64)
        .and_then(|count| u32::try_from(count).ok());
    let layout = Layout {
        group: name,
        azs: &azs,
        instances: instances.unwrap_or(0),
        spread,
    };
    let pods = layout.pods().take(most);
    pods.map(|(zone, ordinal)| layout.index(zone + 1, ordinal)).collect()
}

fn claim_group(names: &Names, group: &str, indexes: &[u32], taken: &mut Taken) -> Result<(), NameError> {
    let by = format!("instance group '{group}'");
    taken.claim("workload", &names.group(group)?, &by)?;
    taken.claim("Secret", &names.resolved(group, None)?, &by)?;
    taken.claim("Secret", &names.bpm(group, None)?, &by)?;
    taken.claim("Service", &names.service(group)?, &by)?;
    indexes.iter().try_for_each(|index| {
        let by = format!("instance {index} of instance group '{group}'");
        taken.claim("Service", &names.instance_service(group, *index)?, &by)
    })
}

fn pull_secrets(
    request: &DeploymentRequest,
    names: &Names,
    metadata: &Metadata,
    taken: &mut Taken,
    report: &mut Report,
) -> Vec<Tree> {
    let mut objects = Vec::new();
    for (index, release) in request.document.items("releases").iter().enumerate() {
        let place = Place::new(&request.document_name, "")
            .at("releases")
            .at(index)
            .at("name");
        let Some(credentials) = release
            .get("credentials")
            .filter(|credentials| credentials.as_object().is_some())
        else {
            continue;
        };
        let (Some(username), Some(password)) = (
            ruby::member(credentials, "username"),
            ruby::member(credentials, "password"),
        ) else {
            continue;
        };
        let Some(url) = images::url(release, request.deployment.registry.as_deref()) else {
            continue;
        };
        let release = release.str("name").unwrap_or_default();
        let name = names.release_credentials(release);
        match name.and_then(|name| {
            taken
                .claim("Secret", &name, &format!("the credentials of release '{release}'"))
                .map(|()| name)
        }) {
            Ok(name) => objects.push(image::pull_secret(&name, metadata, &url, &username, &password)),
            Err(error) => {
                report.error(codes::NAME_TAKEN, &place, error.to_string());
            }
        }
    }
    objects
}

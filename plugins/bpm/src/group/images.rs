//! Do all releases of a group have images?

use super::Group;
use crate::codes;
use crate::job::Job;
use crate::report::Report;
use crate::request::GroupRequest;
use boson_deployment::images;
use boson_document::Tree;
use std::collections::{HashMap, HashSet};

/// One error for a stemcell that is not listed or not told, one for all releases whose own entry says too little: those have errors there.
pub fn check(group: &Group, request: &GroupRequest, report: &mut Report) {
    let listed = request.group.items("releases").iter();
    let releases: HashMap<&str, &Tree> = listed
        .filter_map(|release| Some((release.str("name")?, release)))
        .collect();
    let registry = request.deployment.registry.as_deref();
    let told = |name: &str| {
        releases
            .get(name)
            .is_none_or(|release| images::is_told(release, registry))
    };
    let mut seen = HashSet::new();
    let lacking = group
        .jobs
        .iter()
        .filter(|job| job.image_error.is_some() && seen.insert(job.release.as_str()));
    let (wrong, untold): (Vec<&Job>, Vec<&Job>) = lacking.partition(|job| told(&job.release));
    match unknown_stemcell(&request.group) {
        Some(alias) if !wrong.is_empty() => {
            let text = format!(
                "Instance group '{}' references an unknown stemcell '{alias}'",
                group.name
            );
            report.error(codes::NO_IMAGE, &group.place.at("stemcell"), text);
        }
        _ => wrong.into_iter().for_each(|job| {
            let error = job.image_error.as_deref().unwrap_or_default();
            let text = format!(
                "Instance group '{}' cannot have containers of job '{}': {error}",
                group.name, job.name
            );
            report.error(codes::NO_IMAGE, &job.place.at("release"), text);
        }),
    }
    if !untold.is_empty() {
        let names: Vec<&str> = untold.iter().map(|job| job.release.as_str()).collect();
        let why = "they have no 'url' that names a registry, or no exact version";
        let text = format!(
            "Instance group '{}' has no images of the releases {}: {why}",
            group.name,
            names.join(", ")
        );
        report.error(codes::NO_IMAGE, &group.place, text);
    }
}

/// The alias of the group's stemcell, where no stemcell has it.
fn unknown_stemcell(document: &Tree) -> Option<&str> {
    let alias = document.items("instance_groups").first()?.str("stemcell")?;
    let known = document
        .items("stemcells")
        .iter()
        .any(|stemcell| stemcell.str("alias") == Some(alias));
    (!known).then_some(alias)
}

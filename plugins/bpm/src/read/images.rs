//! Checks that all releases of a group have images.

use crate::codes;
use crate::group::Group;
use crate::group::job::Job;
use crate::request::GroupRequest;
use boson_document::{Code, Report, Tree};
use boson_manifest::images;
use boson_manifest::stemcell::Stemcell;
use std::collections::{BTreeMap, HashSet};

/// Reports one error for a group with any number of jobs. Errors of an entry of `releases` or `stemcells` are reported
/// by the checks of the manifest; the group's error refers to them.
pub fn check(group: &Group, request: &GroupRequest, report: &mut Report) {
    let mut seen = HashSet::new();
    let without_image: Vec<&Job> = group
        .jobs
        .iter()
        .filter(|job| job.image_error.is_some() && seen.insert(job.release.as_str()))
        .collect();
    if without_image.is_empty() {
        return;
    }
    if let Some(alias) = unknown_stemcell(&request.group) {
        let text = format!(
            "Instance group '{}' references an unknown stemcell '{alias}'",
            group.name
        );
        let aliases = Stemcell::all(&request.group).filter_map(|stemcell| stemcell.alias());
        report
            .error(codes::NO_IMAGE, group.place.at("stemcell"), text)
            .suggest(alias, aliases);
        return;
    }
    let mut errors: BTreeMap<ImageError, Vec<&str>> = BTreeMap::new();
    for job in without_image {
        let error = image_error(job, request);
        errors.entry(error).or_default().push(&job.release);
    }
    for (cause, releases) in errors {
        let text = format!(
            "Instance group '{}' has no images of the releases {}: {}",
            group.name,
            releases.join(", "),
            cause.why()
        );
        let error = report.error(codes::GROUP_IMAGES, &group.place, text);
        if let Some(code) = cause.code() {
            error.follows(code);
        }
    }
}

/// Why a release has no image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ImageError<'a> {
    NoUrl,
    LatestVersion,
    /// The group's own error, with its text.
    Own(&'a str),
}

// === impl ImageError ===

impl ImageError<'_> {
    fn why(self) -> String {
        match self {
            Self::NoUrl => "they have no 'url' that names a registry".into(),
            Self::LatestVersion => "they, or their stemcell, have no exact version".into(),
            Self::Own(why) => why.into(),
        }
    }

    /// The code under which the cause itself is reported.
    fn code(self) -> Option<&'static Code> {
        match self {
            Self::NoUrl => Some(codes::NO_IMAGE),
            Self::LatestVersion => Some(codes::LATEST),
            Self::Own(_) => None,
        }
    }
}

fn image_error<'a>(job: &'a Job, request: &GroupRequest) -> ImageError<'a> {
    let registry = request.deployment.registry.as_deref();
    // Of several with the same name, the last.
    let mut listed = request.group.items("releases").iter().rev();
    match listed.find(|release| release.str("name") == Some(job.release.as_str())) {
        Some(release) if images::url(release, registry).is_none() => ImageError::NoUrl,
        Some(release) if !images::has_exact_image(release, registry) => ImageError::LatestVersion,
        Some(release) if release.get("stemcell").is_none() && is_latest(&request.group) => ImageError::LatestVersion,
        _ => ImageError::Own(job.image_error.as_deref().unwrap_or_default()),
    }
}

/// Whether the group's stemcell lacks an exact version. The resolved document lists no other.
fn is_latest(document: &Tree) -> bool {
    let mut versions = Stemcell::all(document).filter_map(|stemcell| stemcell.version());
    versions.any(|version| images::is_latest(&version))
}

/// The alias of the group's stemcell, where no stemcell has it.
fn unknown_stemcell(document: &Tree) -> Option<&str> {
    let alias = document.items("instance_groups").first()?.str("stemcell")?;
    Stemcell::with_alias(document, alias).is_none().then_some(alias)
}

//! Which jobs of which releases a manifest needs, and whether the releases are given.

use crate::convert::codes;
use crate::diagnostic::Diagnostic;
use crate::release::Release;
use crate::stage::{JobSpec, Named};
use boson_document::{Pointer, Tree, ruby};
use boson_manifest::job::is_built_in;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Code of the links stage for a job that its release does not have.
const UNKNOWN_JOB_CODE: &str = "links-unknown-job";

/// The error for a manifest that is not for a director at all; any other diagnostic would be misleading.
pub fn create_env(manifest: Named<'_>) -> Option<Diagnostic> {
    manifest.tree.get("cloud_provider")?;
    let message =
        "this is a manifest for `bosh create-env`: it has 'cloud_provider', which creates one VM without a director";
    let help = "use a manifest for `bosh deploy`: with `stemcells` and `instance_groups`, without `cloud_provider`, `resource_pools` and `disk_pools`";
    let error = Diagnostic::error(codes::CONVERT_CREATE_ENV, message).in_document(manifest.name);
    Some(error.at(Pointer::root().at("cloud_provider")).help(help))
}

/// An error for every release that jobs need and that is not given. Call it before variables are generated: keys take
/// time.
///
/// A manifest for `bosh create-env` is refused here, too, before any other check.
pub fn missing(manifest: Named<'_>, releases: &[Release]) -> Vec<Diagnostic> {
    if let Some(refused) = create_env(manifest) {
        return vec![refused];
    }
    let used = used(manifest.tree);
    let listed = manifest
        .tree
        .items("releases")
        .iter()
        .filter_map(|release| release.str("name"));
    // A release that the manifest does not list is refused by the links stage, in BOSH's words.
    let wanted: BTreeSet<&str> = listed
        .filter(|name| releases.iter().all(|release| release.name != *name))
        .collect();
    let mut missing: BTreeMap<&str, &Pointer> = BTreeMap::new();
    for ((release, _), pointer) in used.iter().filter(|((release, _), _)| wanted.contains(release)) {
        missing.entry(release).or_insert(pointer);
    }
    let say = |(release, pointer): (&str, &Pointer)| {
        let message = format!("no source given for release '{release}'");
        Diagnostic::error(codes::RELEASE_NOT_GIVEN, message)
            .in_document(manifest.name)
            .at(pointer)
            .help(format!(
                "name its directory, tarball or image layout: --release {release}=PATH"
            ))
    };
    missing.into_iter().map(say).collect()
}

/// Names of the releases that the manifest's jobs are in, with the stemcell alias of the first group that has such a
/// job.
pub fn releases(manifest: &Tree) -> BTreeMap<&str, Option<&str>> {
    let mut found = BTreeMap::new();
    for (release, _) in used(manifest).into_keys() {
        let uses = |group: &&Tree| {
            group
                .items("jobs")
                .iter()
                .any(|job| job.str("release") == Some(release))
        };
        let groups = manifest.items("instance_groups");
        // A release that only addons use has the stemcell of the group that the addon is added to.
        let group = groups.iter().find(uses).or(groups.first());
        found.insert(release, group.and_then(|group| group.str("stemcell")));
    }
    found
}

/// Specs of the jobs that the manifest uses. The others are left out: large releases have a hundred jobs, and each spec
/// is parsed and serialized again on its way into the links stage.
pub fn specs<'r>(manifest: Named<'_>, releases: &'r [Release]) -> Vec<JobSpec<'r>> {
    let spec = |(release, job): (&str, &str)| {
        let found = releases.iter().find(|one| one.name == release)?;
        let files = found.job(job)?;
        Some(JobSpec {
            release: (&found.name).into(),
            job: (&files.name).into(),
            spec: Cow::Borrowed(&files.spec.tree),
            document_name: (&files.spec.name).into(),
        })
    };
    used(manifest.tree).into_keys().filter_map(spec).collect()
}

/// Adds the closest name to errors about unknown jobs: the links stage has the specs of used jobs only.
pub fn suggest_jobs(errors: &mut [Diagnostic], manifest: Named<'_>, releases: &[Release]) {
    for error in errors.iter_mut().filter(|error| error.code == UNKNOWN_JOB_CODE) {
        let place = error.place.pointer.as_deref().and_then(Pointer::parse);
        let found = all(manifest.tree).find(|job| {
            let Some(place) = &place else { return false };
            job.place
                .tokens()
                .split_last()
                .is_some_and(|(_, job)| place.tokens().starts_with(job))
        });
        let Some(typed) = found else { continue };
        let given = releases.iter().filter(|one| one.name == typed.release);
        let jobs = given.flat_map(|release| &release.jobs).map(|job| job.name.as_str());
        *error = error.clone().suggest(typed.name, jobs);
    }
}

/// Replaces `latest` and `<prefix>.latest` in the manifest's releases by the versions of the given releases, as a
/// director does with uploaded ones. Reports each replacement. If a release has no known version, or one of another
/// line, the text stays as it is.
pub fn resolve_latest(manifest_name: &str, manifest: &mut Tree, releases: &[Release]) -> Vec<Diagnostic> {
    let mut reported = Vec::new();
    for (index, release) in manifest.items_mut("releases").iter_mut().enumerate() {
        let (Some(name), Some(wanted)) = (release.str("name"), release.str("version")) else {
            continue;
        };
        let given = releases.iter().find(|one| one.name == name);
        let Some(version) = given.and_then(|given| given.version.as_deref()) else {
            continue;
        };
        let fits = match wanted.strip_suffix(".latest") {
            Some(line) => version.strip_prefix(line).is_some_and(|rest| rest.starts_with('.')),
            None => wanted == "latest",
        };
        if !fits {
            continue;
        }
        let message = format!("Version '{wanted}' of release '{name}' is {version}, the version of the release given");
        let place = Pointer::root().at("releases").at(index).at("version");
        let note = Diagnostic::info(codes::CONVERT_RELEASE_LATEST, message);
        reported.push(note.in_document(manifest_name).at(place));
        let version = version.to_string();
        release.set("version", version);
    }
    reported
}

/// Warnings about given releases whose version is not the one in the manifest.
pub fn versions(manifest: Named<'_>, releases: &[Release]) -> Vec<Diagnostic> {
    let warning = |(index, listed): (usize, &Tree)| {
        let name = listed.str("name")?;
        let given = releases.iter().find(|release| release.name == name)?;
        let (given, wanted) = (given.version.as_deref()?, ruby::member(listed, "version")?);
        if wanted == given {
            return None;
        }
        let message = format!("release '{name}' has version {given}, but the manifest names {wanted}");
        let place = Pointer::root().at("releases").at(index).at("version");
        let warning = Diagnostic::warning(codes::RELEASE_OTHER_VERSION, message);
        Some(warning.in_document(manifest.name).at(place))
    };
    let listed = manifest.tree.items("releases").iter().enumerate();
    listed.filter_map(warning).collect()
}

/// Warnings about given releases that no job comes from: most often a name is misspelled.
pub fn unused(manifest: Named<'_>, releases: &[Release]) -> Vec<Diagnostic> {
    let named: BTreeSet<&str> = all(manifest.tree).map(|job| job.release).collect();
    let unused = releases.iter().filter(|release| !named.contains(release.name.as_str()));
    let say = |release: &Release| {
        let name = &release.name;
        let message = format!("release '{name}' is not used: no job of the manifest comes from it");
        let mut warning = Diagnostic::warning(codes::RELEASE_UNUSED, message)
            .help("remove the option, or use the name in the manifest: --release NAME=PATH");
        warning.place.document = Some(release.source.clone());
        warning
    };
    unused.map(say).collect()
}

/// Release and job of every job of groups and addons that needs its release, with the first place that names it.
fn used(manifest: &Tree) -> BTreeMap<(&str, &str), Pointer> {
    let mut used = BTreeMap::new();
    for job in all(manifest).filter(|job| !is_built_in(job.release, job.name)) {
        used.entry((job.release, job.name)).or_insert(job.place);
    }
    used
}

/// A job of a group or of an addon.
struct ListedJob<'t> {
    release: &'t str,
    name: &'t str,
    /// Of its release.
    place: Pointer,
}

/// Every job of groups and addons.
fn all(manifest: &Tree) -> impl Iterator<Item = ListedJob<'_>> {
    let owners = ["instance_groups", "addons"].into_iter().flat_map(|section| {
        let owners = manifest.items(section).iter().enumerate();
        owners.map(move |(nth, owner)| (Pointer::root().at(section).at(nth).at("jobs"), owner))
    });
    owners.flat_map(|(place, owner)| {
        let jobs = owner.items("jobs").iter().enumerate();
        jobs.filter_map(move |(index, job)| {
            Some(ListedJob {
                release: job.str("release")?,
                name: job.str("name")?,
                place: place.at(index).at("release"),
            })
        })
    })
}

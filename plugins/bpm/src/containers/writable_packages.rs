//! Packages that scripts of jobs write to: `quarks.run.writable_packages`. Each becomes a directory of a volume, which
//! begins as a copy of the package in the image.

use crate::codes;
use crate::container_run::{HOME, VOLUME, copy_packages};
use crate::containers::{resources, security};
use crate::group::Group;
use crate::group::job::Job;
use crate::object::{compact, object};
use crate::volumes::{WRITABLE_PACKAGES, mount};
use boson_document::{Place, Report, Tree};
use boson_manifest::names::container;
use indexmap::{IndexMap, IndexSet};

/// Where the volume is mounted while it is filled.
const TARGET: &str = "/var/vcap/writable-packages";

/// Names of packages that the job's scripts may write to. `place`: of `run`, whose types are checked with the manifest.
pub fn read(run: &Tree, place: &Place, report: &mut Report) -> IndexSet<String> {
    let mut names = IndexSet::new();
    for (index, item) in run.items("writable_packages").iter().enumerate() {
        if let Some(name) = item.as_str().filter(|name| is_package(name)) {
            names.insert(name.to_string());
        } else {
            let text = "An entry of 'writable_packages' is not the name of a package";
            report.error(codes::BAD_VALUE, place.at("writable_packages").at(index), text);
        }
    }
    names
}

/// It becomes a part of paths.
fn is_package(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_allowed)
}

/// What the init container of a release copies.
struct Copies<'a> {
    /// The first job of the release.
    job: &'a Job,
    packages: Vec<&'a str>,
    /// The copies must belong to vcap.
    for_vcap: bool,
}

/// By release. A package that several jobs name is that of the first: BOSH, too, has one package of a name on a VM.
fn all(group: &Group) -> IndexMap<&str, Copies<'_>> {
    let mut seen = IndexSet::new();
    let mut all = IndexMap::new();
    for job in &group.jobs {
        for name in job.quarks.writable_packages.iter().filter(|name| seen.insert(*name)) {
            let provider = provider(group, job, name);
            let copies = all.entry(provider.release.as_str()).or_insert_with(|| Copies {
                job: provider,
                packages: Vec::new(),
                for_vcap: false,
            });
            copies.packages.push(name.as_str());
            copies.for_vcap |= security::needs_no_root(job);
        }
    }
    all
}

/// A job of the release whose image has a package that `job` writes to.
fn provider<'a>(group: &'a Group, job: &'a Job, package: &str) -> &'a Job {
    let shared = job.shared_packages.iter().find(|shared| shared.name == package);
    let release = shared.map_or(&job.release, |shared| &shared.release);
    let mut jobs = group.jobs.iter();
    jobs.find(|other| other.release == *release).unwrap_or(job)
}

/// Names of the init containers, each with its purpose.
pub fn names_of(group: &Group) -> impl Iterator<Item = (String, String)> {
    let purpose = |release: &str| format!("the writable packages of release '{release}'");
    let releases = all(group).into_keys();
    releases.map(move |release| (name(release), purpose(release)))
}

fn name(release: &str) -> String {
    container(&["writable-package-copier", release])
}

/// An init container for each release with packages that scripts write to.
pub fn copiers(group: &Group) -> Vec<Tree> {
    all(group).into_values().map(|copies| copier(&copies)).collect()
}

fn copier(copies: &Copies<'_>) -> Tree {
    compact(object! {
        "name" => name(&copies.job.release),
        "image" => copies.job.image.as_str(),
        "command" => copy_packages(TARGET, &copies.packages),
        "resources" => resources::of_copier(),
        "volumeMounts" => vec![mount(VOLUME, HOME, None, true), mount(WRITABLE_PACKAGES, TARGET, None, false)],
        "securityContext" => security::of_vcap_or_root(copies.for_vcap),
    })
}

//! Packages that scripts of jobs write to: `quarks.run.writable_packages`. Each becomes a directory of a volume, which
//! begins as a copy of the package in the image.

use crate::codes;
use crate::group::Group;
use crate::job::Job;
use crate::object::{compact, object};
use crate::volumes::{PACKAGES, WRITABLE_PACKAGES, mount};
use crate::wrapper::{HOME, PROGRAM, VOLUME};
use crate::{resources, security};
use boson_document::{Place, Report, Tree};
use boson_manifest::names;
use indexmap::IndexSet;

/// Where the volume is mounted while it is filled.
const TARGET: &str = "/var/vcap/writable-packages";
/// The container that fills it, with the name of the job.
pub const COPIER: &str = "bosh-packages";

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

/// Init containers that copy packages from the images of their jobs. A package that several jobs name is that of the
/// first: BOSH, too, has one package of a name on a VM.
pub fn copiers(group: &Group) -> Vec<Tree> {
    let mut seen = IndexSet::new();
    let mut out = Vec::new();
    for job in &group.jobs {
        let all = job.quarks.writable_packages.iter().map(String::as_str);
        let new: Vec<&str> = all.filter(|name| seen.insert(*name)).collect();
        out.extend((!new.is_empty()).then(|| copier(job, &new)));
    }
    out
}

fn copier(job: &Job, packages: &[&str]) -> Tree {
    let command = [&[PROGRAM, "copy-packages", PACKAGES, TARGET], packages].concat();
    let security = if security::needs_no_root(job) {
        security::of_plain()
    } else {
        security::of_root()
    };
    compact(object! {
        "name" => names::container(&[COPIER, &job.name]),
        "image" => job.image.as_str(),
        "command" => command,
        "resources" => resources::of_copier(),
        "volumeMounts" => vec![mount(VOLUME, HOME, None, true), mount(WRITABLE_PACKAGES, TARGET, None, false)],
        "securityContext" => security,
    })
}

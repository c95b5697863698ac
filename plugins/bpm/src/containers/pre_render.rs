//! `quarks.pre_render_scripts`: scripts that change the job sources in a pod before its templates are rendered.
//!
//! The conversion cannot run them: it is sealed and has no shell. So it warns where a script can change what the
//! conversion itself has read.

use crate::codes;
use crate::container_run::{HOME, VOLUME, command_of_job};
use crate::containers::environment::{environment, passed_variables, text};
use crate::containers::{resources, security};
use crate::group::Group;
use crate::group::job::Job;
use crate::object::{compact, object};
use crate::volumes::mount;
use boson_document::{Place, Report, Tree};
use boson_manifest::copier::RELEASES;
use boson_manifest::pre_render::{KINDS, Kind};
use boson_manifest::{names, pod_contract};

/// Init container that writes the scripts to the volume of the job sources.
pub const WRITER: &str = "pre-render-scripts";
/// How the names of the containers that run them begin.
pub const PREFIX: &str = "pre-render";

/// Whether the job has any script. Checks their shape, and warns of those that can change what the conversion has read.
/// `place`: of `quarks`.
pub fn read(quarks: &Tree, job: &str, place: &Place, report: &mut Report) -> bool {
    let Some(given) = quarks.get("pre_render_scripts").filter(|given| !given.is_null()) else {
        return false;
    };
    let place = place.at("pre_render_scripts");
    let mut any = false;
    for kind in KINDS {
        let place = place.at(kind.name());
        for (index, script) in given.items(kind.name()).iter().enumerate() {
            let Some(script) = script.as_str() else {
                let text = format!("An entry of '{}' must be the text of a shell script", kind.name());
                report.error(codes::BAD_VALUE, place.at(index), text);
                continue;
            };
            any = true;
            warn(kind, script, job, &place.at(index), report);
        }
    }
    any
}

fn warn(kind: Kind, script: &str, job: &str, place: &Place, report: &mut Report) {
    if kind == Kind::Bpm || script.contains("bpm.yml") {
        let text = format!(
            "The pre-render script changes job '{job}' in its pods only: the pod template comes from the unmodified bpm.yml of the release"
        );
        let help = "programs, arguments, environment and hooks follow the changed template; set processes, limits, volumes, capabilities and 'privileged' in the job property quarks.bpm";
        report.warning(codes::PRE_RENDER, place, text).help(help);
    }
    if kind == Kind::IgResolver || script.contains("job.MF") {
        let text = format!(
            "The pre-render script changes job '{job}' in its pods only: properties and links come from the unmodified job.MF of the release"
        );
        let help = "templates that job.MF lists after the script are rendered; set properties in the manifest, or change the result by env.bosh.agent.settings.preRenderOps.instanceGroup";
        report.warning(codes::PRE_RENDER, place, text).help(help);
    }
}

/// The init containers, which come after the copies of the job sources and before rendering: one that writes the
/// scripts, and one for each job that has some.
pub fn containers(group: &Group) -> Vec<Tree> {
    let jobs: Vec<&Job> = group.jobs.iter().filter(|job| job.quarks.pre_render).collect();
    let writer = (!jobs.is_empty()).then(|| writer(group));
    writer
        .into_iter()
        .chain(jobs.into_iter().map(|job| runner(group, job)))
        .collect()
}

/// The scripts may hold secrets, so they are in no pod template: they come from the Secret of the resolved document.
fn writer(group: &Group) -> Tree {
    let resolved = format!("/var/run/secrets/resolved-properties/{}", group.slug);
    compact(object! {
        "name" => WRITER,
        "image" => group.deployment.operator_image.as_str(),
        "command" => vec!["host", "util", "pre-render-scripts"],
        "env" => vec![
            text("BOSH_MANIFEST_PATH", &format!("{resolved}/properties.yaml")),
            text("JOBS_DIR", RELEASES),
            text(pod_contract::VERSION_VARIABLE, &pod_contract::COMMON_VERSION.to_string()),
        ],
        "resources" => resources::of_rendering(),
        "volumeMounts" => vec![mount("rendering-data", RELEASES, None, false), mount("ig-resolved", &resolved, None, true)],
        "securityContext" => security::of_plain(),
    })
}

/// As vcap, who owns the copy that the scripts change, with the tools of the release's image.
fn runner(group: &Group, job: &Job) -> Tree {
    let command = command_of_job("pre-render", job).with("--sources", RELEASES);
    compact(object! {
        "name" => names::container(&[PREFIX, &job.name]),
        "image" => job.image.as_str(),
        "command" => command.with_variables(&passed_variables(job)).list(),
        "env" => environment(group, job),
        "resources" => resources::of_copier(),
        "volumeMounts" => vec![mount(VOLUME, HOME, None, true), mount("rendering-data", RELEASES, None, false)],
        "securityContext" => security::of_plain(),
    })
}

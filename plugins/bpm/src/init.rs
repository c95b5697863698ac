//! Init containers, in order: copy the releases' templates, render them, make directories, run pre-start scripts, run BPM's hooks.

use crate::container::{common, environment, field, literal, ordinal, replicas, text};
use crate::group::Group;
use crate::job::Job;
use crate::object::{compact, object};
use crate::volumes::{self, Volumes, mount};
use crate::{resources, scripts, security};
use boson_deployment::copier::{self, RELEASES};
use boson_deployment::{contract, names};
use boson_document::Tree;
use std::collections::HashSet;

/// All of them.
pub fn containers(group: &Group, volumes: &Volumes) -> Vec<Tree> {
    let mut out = copiers(group);
    out.push(template_render(group));
    out.extend(group.jobs.first().map(|job| create_dirs(group, &job.image)));
    let with_script = group.jobs.iter().filter(|job| job.scripts.pre_start);
    out.extend(with_script.map(|job| pre_start(group, volumes, job)));
    for job in &group.jobs {
        out.extend(hooks(group, volumes, job));
    }
    out
}

/// Names of all of them and of the containers, each with what it is made for.
pub fn names_of(group: &Group) -> Vec<(String, String)> {
    let fixed = ["template-render", "create-dirs"];
    let mut out: Vec<(String, String)> = fixed
        .iter()
        .map(|name| (name.to_string(), format!("the init container '{name}'")))
        .collect();
    for job in &group.jobs {
        out.push((
            names::container(&["spec-copier", &job.release]),
            format!("release '{}'", job.release),
        ));
        if job.scripts.pre_start {
            let of = format!("the pre-start script of job '{}'", job.name);
            out.push((names::container(&["bosh-pre-start", &job.name]), of));
        }
        for process in &job.processes {
            let of = format!("process '{}' of job '{}'", process.name, job.name);
            if process.pre_start.is_some() {
                out.push((
                    names::container(&["bpm-pre-start", &job.name, &process.name]),
                    format!("the hook of {of}"),
                ));
            }
            out.push((names::container(&[&job.name, &process.name]), of));
        }
    }
    out
}

fn copiers(group: &Group) -> Vec<Tree> {
    let mut seen = HashSet::new();
    group
        .jobs
        .iter()
        .filter(|job| seen.insert(job.release.clone()))
        .map(|job| copier(group, job))
        .collect()
}

fn copier(group: &Group, job: &Job) -> Tree {
    let target = literal(&copier::target(&job.release));
    compact(object! {
        "name" => names::container(&["spec-copier", &job.release]),
        "image" => job.image.as_str(),
        "command" => copier::command(&target).to_vec(),
        "resources" => resources::of_copier(),
        "volumeMounts" => vec![mount("rendering-data", RELEASES, None, false)],
        "securityContext" => copier_security(group, &job.release),
    })
}

/// Who may read the templates in an image is the image's business: root may, and so may vcap where all jobs of the release need no root.
fn copier_security(group: &Group, release: &str) -> Tree {
    let mut jobs = group.jobs.iter().filter(|job| job.release == release);
    if jobs.all(security::needs_no_root) {
        return security::of_plain();
    }
    security::of_root(None)
}

fn template_render(group: &Group) -> Tree {
    let resolved = format!("/var/run/secrets/resolved-properties/{}", group.slug);
    let zones = group.zones.len().max(1).to_string();
    let env = vec![
        text("INSTANCE_GROUP_NAME", &literal(&group.name)),
        text("BOSH_MANIFEST_PATH", &format!("{resolved}/properties.yaml")),
        text("JOBS_DIR", RELEASES),
        text("OUTPUT_DIR", "/var/vcap/jobs"),
        field("POD_IP", "status.podIP"),
        ordinal(group, "POD_ORDINAL"),
        text("AZ_INDEX", "1"),
        replicas(group, "REPLICAS"),
        text("BOSH_DEPLOYMENT_NAME", &literal(&group.deployment.name)),
        text("BOSH_JOB_NAME", &literal(&group.name)),
        text("BOSH_AZ_INDEX", "1"),
        text("BOSH_AZ_COUNT", &zones),
        replicas(group, "BOSH_REPLICA_COUNT"),
        ordinal(group, "BOSH_REPLICA_ORDINAL"),
        text(contract::VARIABLE, &contract::VERSION.to_string()),
    ];
    compact(object! {
        "name" => "template-render",
        "image" => group.deployment.operator_image.as_str(),
        "command" => vec!["host", "util", "template-render"],
        "env" => env,
        "resources" => resources::of_rendering(),
        "volumeMounts" => vec![
            mount("rendering-data", RELEASES, None, false),
            mount("jobs-dir", "/var/vcap/jobs", None, false),
            mount("ig-resolved", &resolved, None, true),
        ],
        "securityContext" => security::of_plain(),
    })
}

/// Directories belong to vcap's group, so that processes of images with another user can write them.
fn create_dirs(group: &Group, image: &str) -> Tree {
    let mut command: Vec<String> = ["/bin/sh", "-c", "umask 002 && exec mkdir -p \"$@\"", "create-dirs"]
        .map(String::from)
        .into();
    command.extend(volumes::directories(group).iter().map(|path| literal(path)));
    compact(object! {
        "name" => "create-dirs",
        "image" => image,
        "command" => command,
        "resources" => resources::of_directories(),
        "volumeMounts" => volumes::base(group, true),
        "securityContext" => security::of_plain(),
    })
}

fn pre_start(group: &Group, volumes: &Volumes, job: &Job) -> Tree {
    let command = scripts::pre_start(&job.name, job.quarks.debug);
    let mut env = common(group);
    env.extend(job.quarks.envs.iter().cloned());
    compact(object! {
        "name" => names::container(&["bosh-pre-start", &job.name]),
        "image" => job.image.as_str(),
        "command" => command.iter().map(|text| literal(text)).collect::<Vec<_>>(),
        "env" => last_of_each_name(env),
        "resources" => resources::of_script(group),
        "volumeMounts" => volumes.of_job(group, job),
        "securityContext" => security::of_root(Some(job)),
    })
}

fn hooks(group: &Group, volumes: &Volumes, job: &Job) -> Vec<Tree> {
    let with_hook = job
        .processes
        .iter()
        .filter_map(|process| Some((process, process.pre_start.as_ref()?)));
    let container = |(process, hook): (&crate::process::Process, &String)| {
        compact(object! {
            "name" => names::container(&["bpm-pre-start", &job.name, &process.name]),
            "image" => job.image.as_str(),
            "command" => vec![literal(hook)],
            "env" => environment(group, job, process),
            "resources" => resources::of_process(group, job, process),
            "volumeMounts" => volumes.of_process(group, job, process),
            "securityContext" => security::of_root(Some(job)),
        })
    };
    with_hook.map(container).collect()
}

/// Two entries of one name would be refused.
fn last_of_each_name(env: Vec<Tree>) -> Vec<Tree> {
    let map: indexmap::IndexMap<String, Tree> = env
        .into_iter()
        .map(|entry| (entry.str("name").unwrap_or_default().to_string(), entry))
        .collect();
    map.into_values().collect()
}

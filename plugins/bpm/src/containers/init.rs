//! Init containers, in order: the sidecar for log files, if scripts log; then those that bring container-run, copy the
//! releases' templates, change and render them; the DNS server of the pod; then those that copy packages, wait for
//! other groups, and run pre-start scripts; then the other sidecars.

use crate::container_run::{COPIER, HOME, JOBS, LOGS_CONTAINER, VOLUME, install};
use crate::containers::environment::{environment, field, ordinal, replicas, text};
use crate::containers::{
    active_passive, container, lifecycle_scripts, logs, monit_http, packages, pod_dns, pre_render, resources, security,
    wait_containers, writable_packages,
};
use crate::group::job::Job;
use crate::group::{Group, Lifecycle};
use crate::literal::literal;
use crate::object::{compact, object};
use crate::volumes::{self, Volumes, mount};
use boson_document::Tree;
use boson_manifest::copier::{self, RELEASES};
use boson_manifest::instances::Spread;
use boson_manifest::{names, pod_contract};
use std::collections::HashSet;

/// All init containers of a group.
pub fn containers(group: &Group, volumes: &Volumes) -> Vec<Tree> {
    let mut out = Vec::new();
    out.extend(logs::sidecar(group));
    out.push(container_run_copier(group));
    out.extend(copiers(group));
    out.extend(pre_render::containers(group));
    out.push(template_render(group));
    out.extend(pod_dns::is_needed(group).then(|| pod_dns::sidecar(group)));
    out.extend(packages::copiers(group));
    out.extend(writable_packages::copiers(group));
    out.extend(wait_containers::all(group));
    let with_script = group
        .jobs
        .iter()
        .filter(|job| job.scripts.pre_start && !job.runs_pre_start_inline());
    out.extend(with_script.map(|job| pre_start(group, volumes, job)));
    out.extend(
        group
            .jobs_with_sidecar()
            .map(|job| lifecycle_scripts::sidecar(group, volumes, job)),
    );
    out.extend(monit_http::is_needed(group).then(|| monit_http::sidecar(group)));
    out.extend(active_passive::sidecars(group, volumes));
    out
}

/// Names of all of them and of the containers, each with its purpose.
pub fn names_of(group: &Group) -> Vec<(String, String)> {
    let fixed = [
        COPIER,
        "template-render",
        monit_http::NAME,
        pod_dns::NAME,
        LOGS_CONTAINER,
        pre_render::WRITER,
    ];
    let mut out: Vec<(String, String)> = fixed
        .iter()
        .map(|name| (name.to_string(), format!("the init container '{name}'")))
        .collect();
    out.extend(wait_containers::names_of(group));
    out.extend(packages::names_of(group));
    out.extend(writable_packages::names_of(group));
    // Looking for one takes as long as the group has processes.
    let has_probes = active_passive::is_used(group);
    for job in &group.jobs {
        out.push((
            names::container(&["spec-copier", &job.release]),
            format!("release '{}'", job.release),
        ));
        let scripts = [
            (job.scripts.pre_start, "bosh-pre-start", "the pre-start script"),
            (true, "bosh-scripts", "the scripts"),
            (job.quarks.pre_render, pre_render::PREFIX, "the pre-render scripts"),
        ];
        for (_, prefix, what) in scripts.into_iter().filter(|(has, ..)| *has) {
            let of = format!("{what} of job '{}'", job.name);
            out.push((names::container(&[prefix, &job.name]), of));
        }
        for process in &job.processes {
            let of = format!("process '{}' of job '{}'", process.name, job.name);
            if has_probes {
                out.push((
                    active_passive::name(job, process),
                    format!("the active/passive probe of {of}"),
                ));
            }
            out.push((container::name(job, process), of));
        }
    }
    out
}

fn container_run_copier(group: &Group) -> Tree {
    compact(object! {
        "name" => COPIER,
        "image" => group.deployment.operator_image.as_str(),
        "command" => install().to_vec(),
        "resources" => resources::of_copier(),
        "volumeMounts" => vec![mount(VOLUME, HOME, None, false), mount("jobs-dir", JOBS, None, false)],
        "securityContext" => security::of_plain(),
    })
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
        "volumeMounts" => vec![mount(VOLUME, HOME, None, true), mount("rendering-data", RELEASES, None, false)],
        "securityContext" => security::of_copier(group, &job.release),
    })
}

fn template_render(group: &Group) -> Tree {
    let resolved = format!("/var/run/secrets/resolved-properties/{}", group.slug);
    let zones = group.zones.len().max(1).to_string();
    let env = vec![
        text("INSTANCE_GROUP_NAME", &literal(&group.name)),
        text("BOSH_MANIFEST_PATH", &format!("{resolved}/properties.yaml")),
        text("JOBS_DIR", RELEASES),
        text("OUTPUT_DIR", JOBS),
        text("CONTAINER_RUN_DIR", HOME),
        field("POD_IP", "status.podIP"),
        field("POD_NAMESPACE", "metadata.namespace"),
        ordinal(group, "POD_ORDINAL"),
        text("AZ_INDEX", "1"),
        replicas(group, "REPLICAS"),
        text("BOSH_DEPLOYMENT_NAME", &literal(&group.deployment.name)),
        text("BOSH_JOB_NAME", &literal(&group.name)),
        text("BOSH_AZ_INDEX", "1"),
        text(pod_contract::AZ_COUNT_VARIABLE, &zones),
        replicas(group, "BOSH_REPLICA_COUNT"),
        ordinal(group, "BOSH_REPLICA_ORDINAL"),
        text(pod_contract::VERSION_VARIABLE, &pod_contract_version(group).to_string()),
    ];
    // This container also makes the directories of processes: a separate container would delay every start.
    let mut command: Vec<String> = ["host", "util", "template-render"].map(String::from).into();
    for path in volumes::directories(group) {
        command.extend(["--directory".into(), literal(&path)]);
    }
    if pod_dns::is_needed(group) {
        command.push(pod_dns::OPTION.into());
    }
    compact(object! {
        "name" => "template-render",
        "image" => group.deployment.operator_image.as_str(),
        "command" => command,
        "env" => env,
        "resources" => resources::of_rendering(),
        "volumeMounts" => vec![
            mount("rendering-data", RELEASES, None, false),
            mount("ig-resolved", &resolved, None, true),
            mount(VOLUME, HOME, None, false),
        ]
        .into_iter()
        .chain(volumes::base(group, false))
        .collect::<Vec<_>>(),
        "securityContext" => security::of_plain(),
    })
}

fn pod_contract_version(group: &Group) -> u32 {
    if pod_dns::is_needed(group) {
        return pod_contract::WITH_POD_DNS;
    }
    // An errand has one pod.
    let one_zone = group.lifecycle != Lifecycle::Service || group.zones.len() < 2;
    match group.deployment.spread {
        Spread::Total if !one_zone => pod_contract::WITH_SEVERAL_ZONES,
        _ => pod_contract::COMMON_VERSION,
    }
}

fn pre_start(group: &Group, volumes: &Volumes, job: &Job) -> Tree {
    compact(object! {
        "name" => names::container(&["bosh-pre-start", &job.name]),
        "image" => job.image.as_str(),
        "command" => lifecycle_scripts::pre_start(job),
        "env" => environment(group, job),
        "resources" => resources::of_script(group),
        "volumeMounts" => volumes.of_job(group, job),
        "securityContext" => security::of_scripts(job),
    })
}

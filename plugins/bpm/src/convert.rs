//! The two functions of the stage.

use crate::codes;
use crate::containers::{active_passive, container_probe, init, lifecycle_scripts, pre_start, resources, security};
use crate::deployment::dns;
use crate::group::{Group, Lifecycle};
use crate::request::{DeploymentRequest, GroupRequest, JobFiles, Reply};
use crate::rules::{fields, kubernetes_rules};
use crate::volumes::{self, Volumes};
use crate::workload::services;
use crate::{deployment, read, workload};
use boson_document::{Report, Tree};
use boson_manifest::dns::RESOLVED_KEY;
use boson_manifest::names::{NameClaims, NameError};

/// Objects of one instance group: Services, claims of an errand, QuarksStatefulSet or QuarksJob.
///
/// # Errors
/// All errors in the input that can be found in one run.
pub fn group(request: &GroupRequest, settings: &Tree) -> Reply {
    let mut report = Report::default();
    let group = read::group(request, settings, &mut report);
    let objects = group.map(|group| {
        let files = alias_files(request, &group).into_iter();
        files.chain(objects(&group, &mut report)).collect()
    });
    reply(objects.unwrap_or_default(), report)
}

/// Aliases from templates, for the deployment's DNS servers if it has some.
fn alias_files(request: &GroupRequest, group: &Group) -> Option<Tree> {
    request.group.get(RESOLVED_KEY)?;
    let of_job = |job: &JobFiles| Some((job.job.clone(), job.dns_aliases.clone()?));
    let files = request.jobs.iter().filter_map(of_job).collect();
    dns::alias_files(&group.names, &group.name, &group.metadata, &files)
}

fn objects(group: &Group, report: &mut Report) -> Vec<Tree> {
    check_containers(group, report);
    active_passive::check(group, report);
    container_probe::check(group, report);
    check_requests(group, report);
    group
        .jobs
        .iter()
        .for_each(|job| lifecycle_scripts::warn(job, group, report));
    group.jobs.iter().for_each(|job| pre_start::check(job, report));
    group.jobs.iter().for_each(|job| security::warn(job, report));
    let volumes = Volumes::plan(group, report);
    volumes::check_extra(group, &volumes, report);
    if report.failed() {
        return Vec::new();
    }
    if group.processes == 0 {
        let text = format!("Instance group '{}' has no process and becomes no workload", group.name);
        report.warning(codes::NOTHING_TO_RUN, &group.place, text);
        return Vec::new();
    }
    check_ports(group, report);
    // No object if one has a name that Kubernetes cannot have.
    build_objects(group, &volumes).unwrap_or_else(|error| {
        report.error(codes::NAME, group.place.at("name"), error.to_string());
        Vec::new()
    })
}

fn build_objects(group: &Group, volumes: &Volumes) -> Result<Vec<Tree>, NameError> {
    let mut objects = services::of_group(group)?;
    objects.extend(services::disruption_budget(group)?);
    objects.extend(volumes::claims(group));
    objects.push(workload::of_group(group, volumes)?);
    Ok(objects)
}

/// A Service without ports gives each instance a name, but no load balancing.
fn check_ports(group: &Group, report: &mut Report) {
    let lists_ports = group.jobs.iter().any(|job| job.quarks.lists_ports);
    if group.lifecycle == Lifecycle::Service && group.ports.is_empty() && !lists_ports {
        let name = &group.name;
        let text = format!("Instance group '{name}' has no ports: its Services are headless");
        let help = "list the ports in the job property quarks.ports; `ports: []` declares that there are none";
        report.warning(codes::NO_PORTS, &group.place, text).help(help);
    }
}

/// Two things must not share a container's name.
fn check_containers(group: &Group, report: &mut Report) {
    let mut claims = NameClaims::default();
    for (name, by) in init::names_of(group) {
        if let Err(error) = claims.claim("container", &name, &by) {
            report.error(codes::NAME_CONFLICT, group.place.at("jobs"), error.to_string());
        }
    }
}

/// What processes request themselves.
fn check_requests(group: &Group, report: &mut Report) {
    for job in &group.jobs {
        for process in job.processes.iter().filter(|process| !process.requests.is_null()) {
            let place = process.place.at("requests");
            fields::check("{quantity}", &process.requests, &place, report);
            if let Some(requests) = process.requests.as_object() {
                let limits = resources::of_process(group, job, process);
                kubernetes_rules::requests(requests, &limits, &place, report);
            }
        }
    }
}

/// Objects that belong to no single group: pull Secrets, QuarksSecrets. Checks the manifest outside its instance
/// groups, and its jobs' keys.
///
/// # Errors
/// All errors in the input that can be found in one run.
pub fn deployment(request: &DeploymentRequest<'_>) -> Reply {
    let mut report = Report::default();
    let objects = deployment::objects(request, &mut report);
    reply(objects, report)
}

fn reply(objects: Vec<Tree>, report: Report) -> Reply {
    if report.failed() {
        return Err(report.into_diagnostics());
    }
    Ok((objects, report.into_diagnostics()))
}

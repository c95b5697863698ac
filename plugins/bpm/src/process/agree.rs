//! One list of processes for all instances of a job, or errors about differences in fields that shape the pod.
//!
//! Programs, arguments, environment and all else that container-run reads in the pod may differ.

use super::{Process, dropped, findings};
use crate::codes;
use crate::request::{BpmCopy, JobFiles};
use boson_document::{Place, Report, Tree};
use boson_processes::{Findings, Given, read, unique};
use indexmap::IndexMap;
use std::collections::HashSet;

/// The processes of the job at this place; `property` is `quarks.bpm`.
pub fn of_job(place: &Place, files: &JobFiles, property: Option<&Tree>, report: &mut Report) -> Vec<Process> {
    let own = place.at("properties").at("quarks").at("bpm");
    let nothing = [BpmCopy {
        document_name: own.document.clone(),
        instances: Vec::new(),
        bpm: Tree::Null,
    }];
    let copies = if files.bpm.is_empty() {
        &nothing[..]
    } else {
        &files.bpm[..]
    };
    let mut found = Findings::default();
    let given = property.map(|property| Given::read(property, &own, &mut found));
    findings::add(found, report);
    let mut seen = HashSet::new();
    let mut readings: Vec<Reading<'_>> = Vec::new();
    for copy in copies {
        let (mut checked, mut found) = (Report::default(), Findings::default());
        let processes = read(&files.job, &copy.bpm, &copy.document_name, given.as_ref(), &mut found);
        findings::add(found, &mut checked);
        for one in checked.into_diagnostics() {
            if seen.insert((one.code.name, one.message.clone(), one.pointer.clone())) {
                report.push(one);
            }
        }
        readings.push(Reading { copy, processes });
    }
    let Some((first, others)) = readings.split_first() else {
        return Vec::new();
    };
    compare(&files.job, first, others, report);
    let mut found = Findings::default();
    let processes = unique(&first.processes, &mut found);
    findings::add(found, report);
    processes.iter().for_each(|process| dropped::warn(process, report));
    processes
}

/// A copy as read.
struct Reading<'a> {
    copy: &'a BpmCopy,
    processes: Vec<Process>,
}

/// Reports one error for each field that differs, for any number of copies.
fn compare(job: &str, first: &Reading<'_>, others: &[Reading<'_>], report: &mut Report) {
    let names = |reading: &Reading<'_>| {
        let names = reading.processes.iter().map(|process| process.name.clone());
        names.collect::<Vec<_>>()
    };
    let (same, different): (Vec<_>, Vec<_>) = others.iter().partition(|other| names(first) == names(other));
    if let Some(other) = different.first() {
        let between = between(first, different.iter().copied());
        let text = format!("Job '{job}' does not have the same processes in its bpm.yml {between}");
        let place = Place::new(&other.copy.document_name, "/processes");
        report.error(codes::INSTANCES_DIFFER, place, text);
    }
    for (index, process) in first.processes.iter().enumerate() {
        let mut fields: IndexMap<&str, Vec<&Reading<'_>>> = IndexMap::new();
        for other in &same {
            for field in differences(process, &other.processes[index]) {
                fields.entry(field).or_default().push(other);
            }
        }
        for (field, others) in fields {
            report_difference(job, first, &others, index, field, report);
        }
    }
}

fn report_difference(
    job: &str,
    first: &Reading<'_>,
    others: &[&Reading<'_>],
    index: usize,
    field: &str,
    report: &mut Report,
) {
    let Some(other) = others.first() else { return };
    let tokens: Vec<&str> = field.split('.').collect();
    let place = other.processes[index].place.join(&tokens);
    let (name, between) = (&first.processes[index].name, between(first, others.iter().copied()));
    let text = format!("Job '{job}', process '{name}': '{field}' of bpm.yml differs {between}");
    report.error(codes::INSTANCES_DIFFER, &place, text).help(
        "All pods of an instance group have the same template: make this independent of the instance, or set it in the job property quarks.bpm.",
    );
}

fn between<'a>(first: &Reading<'_>, others: impl Iterator<Item = &'a Reading<'a>>) -> String {
    let mut instances: Vec<u32> = others.flat_map(|other| other.copy.instances.iter().copied()).collect();
    instances.sort_unstable();
    format!(
        "between instances {} and {}",
        list(&first.copy.instances),
        list(&instances)
    )
}

/// The fields that differ, by their paths in bpm.yml.
fn differences(a: &Process, b: &Process) -> Vec<&'static str> {
    let requested = (a.privileged, a.host_pid_namespace, &a.unrestricted_volumes);
    let unsafe_same = requested == (b.privileged, b.host_pid_namespace, &b.unrestricted_volumes);
    let fields = [
        (a.pre_start.is_some() == b.pre_start.is_some(), "hooks.pre_start"),
        (a.capabilities == b.capabilities, "capabilities"),
        (a.limits.memory == b.limits.memory, "limits.memory"),
        (a.limits.cpu == b.limits.cpu, "limits.cpu"),
        (a.requests == b.requests, "requests"),
        (a.ephemeral_disk == b.ephemeral_disk, "ephemeral_disk"),
        (a.persistent_disk == b.persistent_disk, "persistent_disk"),
        (a.additional_volumes == b.additional_volumes, "additional_volumes"),
        (unsafe_same, "unsafe"),
    ];
    let different = fields.into_iter().filter(|(same, _)| !same);
    different.map(|(_, field)| field).collect()
}

/// `0, 2` or `0, 2, 3, 7 more`.
fn list(instances: &[u32]) -> String {
    const MAX_LISTED_INSTANCES: usize = 3;
    let shown: Vec<String> = instances
        .iter()
        .take(MAX_LISTED_INSTANCES)
        .map(u32::to_string)
        .collect();
    match instances.len() {
        0..=MAX_LISTED_INSTANCES => shown.join(", "),
        more => format!("{}, {} more", shown.join(", "), more - MAX_LISTED_INSTANCES),
    }
}

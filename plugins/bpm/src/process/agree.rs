//! One list of processes for all instances of a job, or errors that say where the instances' bpm.yml files differ.

use super::{Process, decode, merge, rules};
use crate::codes;
use crate::object::object;
use crate::report::{Place, Report};
use crate::request::{BpmCopy, JobFiles};
use boson_document::Tree;
use indexmap::IndexMap;
use std::collections::{HashMap, HashSet};

/// What a job is called in messages.
#[derive(Clone, Copy, Debug)]
pub struct JobPlace<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its place in the manifest.
    pub place: &'a Place,
    /// Names of the variables that `quarks.envs` sets: what bpm.yml says of these reaches no container.
    pub envs: &'a [&'a str],
}

/// The processes of a job, each with the place that describes it; `property` is `quarks.bpm`.
pub fn of_job(
    job: JobPlace<'_>,
    files: &JobFiles,
    property: Option<&Tree>,
    report: &mut Report,
) -> Vec<(Process, Place)> {
    let own = job.place.at("properties").at("quarks").at("bpm");
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
    let given = property
        .map(|property| decode::document(property, &own, report))
        .unwrap_or_default();
    let mut seen = HashSet::new();
    let mut readings: Vec<Reading<'_>> = Vec::new();
    for copy in copies {
        let mut said = Report::default();
        readings.push(read(job, copy, property, &given, &mut said));
        report.absorb(said, &mut seen);
    }
    let Some((first, others)) = readings.split_first() else {
        return Vec::new();
    };
    compare(job, first, others, report);
    let processes = unique(first, report);
    processes
        .iter()
        .for_each(|(process, place)| rules::dropped(process, place, report));
    processes
}

fn read<'a>(
    job: JobPlace<'_>,
    copy: &'a BpmCopy,
    property: Option<&Tree>,
    given: &[(Process, Place)],
    report: &mut Report,
) -> Reading<'a> {
    let rendered = decode::document(&copy.bpm, &Place::new(&copy.document_name, ""), report);
    let processes = merged(copy, property, &rendered, given);
    processes
        .iter()
        .for_each(|(process, place)| rules::check(process, job.name, place, report));
    Reading { copy, processes }
}

/// A copy as read.
struct Reading<'a> {
    copy: &'a BpmCopy,
    processes: Vec<(Process, Place)>,
}

/// The merged processes; the place of each is where its rendered form is, else that of the property.
fn merged(
    copy: &BpmCopy,
    property: Option<&Tree>,
    rendered: &[(Process, Place)],
    given: &[(Process, Place)],
) -> Vec<(Process, Place)> {
    let tree = object! { "processes" => merge::over(&copy.bpm, property) };
    // What it says has been said of both parts, with their places.
    let processes = decode::document(&tree, &Place::new("", ""), &mut Report::default());
    let by_name: HashMap<&str, &Place> = given
        .iter()
        .map(|(process, place)| (process.name.as_str(), place))
        .collect();
    let of = |index: usize, process: &Process| match rendered.get(index) {
        Some((_, place)) => place.clone(),
        None => by_name
            .get(process.name.as_str())
            .map_or_else(Place::default, |place| (*place).clone()),
    };
    let numbered = processes.into_iter().enumerate();
    numbered
        .map(|(index, (process, _))| {
            let place = of(index, &process);
            (process, place)
        })
        .collect()
}

/// BPM takes the first process of a name.
fn unique(reading: &Reading<'_>, report: &mut Report) -> Vec<(Process, Place)> {
    let mut names = HashSet::new();
    let mut out = Vec::new();
    for (process, place) in &reading.processes {
        if names.insert(process.name.clone()) {
            out.push((
                Process {
                    place: place.clone(),
                    ..process.clone()
                },
                place.clone(),
            ));
        } else {
            let text = format!("Process '{}' is given twice: the second has no effect", process.name);
            report.warning(codes::UNKNOWN_BPM_KEY, place, text);
        }
    }
    out
}

/// One error for each field that differs, whatever the number of copies.
fn compare(job: JobPlace<'_>, first: &Reading<'_>, others: &[Reading<'_>], report: &mut Report) {
    let names = |reading: &Reading<'_>| {
        reading
            .processes
            .iter()
            .map(|(process, _)| process.name.clone())
            .collect::<Vec<_>>()
    };
    let (same, different): (Vec<_>, Vec<_>) = others.iter().partition(|other| names(first) == names(other));
    if let Some(other) = different.first() {
        let between = between(first, different.iter().copied());
        let text = format!("Job '{}' has not the same processes in its bpm.yml {between}", job.name);
        report.error(
            codes::INSTANCES_DIFFER,
            &Place::new(&other.copy.document_name, "/processes"),
            text,
        );
    }
    for (index, (process, _)) in first.processes.iter().enumerate() {
        let mut fields: IndexMap<Difference, Vec<&Reading<'_>>> = IndexMap::new();
        for other in &same {
            for difference in differences(process, &other.processes[index].0, job.envs) {
                fields.entry(difference).or_default().push(other);
            }
        }
        for (difference, others) in fields {
            tell(job, first, &others, index, difference, report);
        }
    }
}

fn tell(
    job: JobPlace<'_>,
    first: &Reading<'_>,
    others: &[&Reading<'_>],
    index: usize,
    difference: Difference,
    report: &mut Report,
) {
    let (field, tokens, entry_point) = difference;
    let Some(mut place) = others.first().map(|other| other.processes[index].1.clone()) else {
        return;
    };
    tokens.iter().for_each(|token| place.pointer.push(token));
    let (name, between) = (&first.processes[index].0.name, between(first, others.iter().copied()));
    let text = format!(
        "Job '{}', process '{name}': '{field}' of bpm.yml differs {between}",
        job.name
    );
    let what = match field {
        "env" => variables(
            &first.processes[index].0,
            others.iter().map(|other| &other.processes[index].0),
            job.envs,
        ),
        _ => String::new(),
    };
    report
        .error(codes::INSTANCES_DIFFER, &place, text)
        .help(if field == "env" {
            format!(
                "Set these variables{what} in the job property quarks.envs, which takes Kubernetes' valueFrom for what is another in each pod (labels, name, IP), \
                 or in quarks.bpm where one value suits all instances."
            )
        } else if entry_point {
            format!(
                "Set '{field}' in the job property quarks.bpm, the same for all instances, or run one instance."
            )
        } else {
            "All pods of an instance group are made from one template: make the template independent of the instance."
                .to_string()
        });
}

/// Names of the variables that are not the same everywhere: ` (A, B)`.
fn variables<'a>(first: &'a Process, others: impl Iterator<Item = &'a Process>, envs: &[&str]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for other in others {
        let only = |a: &'a Process, b: &'a Process| a.env.iter().filter(|pair| !b.env.contains(pair));
        names.extend(
            only(first, other)
                .chain(only(other, first))
                .map(|(name, _)| name.as_str()),
        );
    }
    names.retain(|name| !envs.contains(name));
    names.sort_unstable();
    names.dedup();
    format!(" ({})", names.join(", "))
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

/// Field, tokens of its place below the process, and whether the process wrapper will be able to bridge it.
type Difference = (&'static str, &'static [&'static str], bool);

fn differences(a: &Process, b: &Process, envs: &[&str]) -> Vec<Difference> {
    let own = |process: &Process| -> Vec<(String, String)> {
        let pairs = process.env.iter().filter(|(name, _)| !envs.contains(&name.as_str()));
        pairs.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let fields: [(bool, Difference); 17] = [
        (a.executable == b.executable, ("executable", &["executable"], true)),
        (a.args == b.args, ("args", &["args"], true)),
        (own(a) == own(b), ("env", &["env"], true)),
        (a.workdir == b.workdir, ("workdir", &["workdir"], false)),
        (
            a.pre_start == b.pre_start,
            ("hooks.pre_start", &["hooks", "pre_start"], false),
        ),
        (
            a.capabilities == b.capabilities,
            ("capabilities", &["capabilities"], false),
        ),
        (
            a.limits.memory == b.limits.memory,
            ("limits.memory", &["limits", "memory"], false),
        ),
        (a.limits.cpu == b.limits.cpu, ("limits.cpu", &["limits", "cpu"], false)),
        (
            a.limits.open_files == b.limits.open_files,
            ("limits.open_files", &["limits", "open_files"], false),
        ),
        (
            a.limits.processes == b.limits.processes,
            ("limits.processes", &["limits", "processes"], false),
        ),
        (
            a.limits.core_file_size == b.limits.core_file_size,
            ("limits.core_file_size", &["limits", "core_file_size"], false),
        ),
        (a.requests == b.requests, ("requests", &["requests"], false)),
        (
            a.ephemeral_disk == b.ephemeral_disk,
            ("ephemeral_disk", &["ephemeral_disk"], false),
        ),
        (
            a.persistent_disk == b.persistent_disk,
            ("persistent_disk", &["persistent_disk"], false),
        ),
        (
            a.additional_volumes == b.additional_volumes,
            ("additional_volumes", &["additional_volumes"], false),
        ),
        (
            (a.privileged, a.host_pid_namespace, &a.unrestricted_volumes)
                == (b.privileged, b.host_pid_namespace, &b.unrestricted_volumes),
            ("unsafe", &["unsafe"], false),
        ),
        (
            a.shutdown_signal == b.shutdown_signal,
            ("shutdown_signal", &["shutdown_signal"], false),
        ),
    ];
    fields
        .into_iter()
        .filter(|(same, _)| !same)
        .map(|(_, difference)| difference)
        .collect()
}

/// `0, 2` or `0, 2, 3, 7 more`.
fn list(instances: &[u32]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = instances.iter().take(SHOWN).map(u32::to_string).collect();
    match instances.len() {
        0..=SHOWN => shown.join(", "),
        more => format!("{}, {} more", shown.join(", "), more - SHOWN),
    }
}

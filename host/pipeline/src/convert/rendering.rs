//! Rendering a deployment: the bpm templates, whose text shapes the pods, and all others, to find out now rather than in a pod what fails.

use super::alike;
use super::context::{self, POD_IP};
use super::parallel;
use crate::diagnostic::{Diagnostic, Severity};
use crate::release::{Job, Release};
use crate::stage::{BpmCopy, JobFiles, Rendered, ResolvedGroup, StageError, Stages, Template};
use crate::yaml;
use boson_document::Tree;
use std::collections::{BTreeSet, HashMap};

/// Stands for the pod's address where a file is rendered only to see whether it can be: BOSH's own placeholder.
const ANY_IP: &str = "127.0.0.1";

/// What rendering a deployment gave.
pub struct Rendering {
    /// For each group its jobs, in order.
    pub files: Vec<Vec<JobFiles>>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// The rendered bpm files, which later diagnostics may name.
    pub documents: Vec<yaml::Document>,
}

/// A job of a group and its release's files.
struct Work<'a> {
    group: usize,
    group_name: &'a str,
    job: &'a Tree,
    files: &'a Job,
    nth: usize,
    /// The group has no instances: only what shapes its pods is rendered, for the first that it would have.
    hypothetical: bool,
}

/// What one instance of a job gave.
struct Outcome {
    bpm: Option<(u32, Rendered)>,
    diagnostics: Vec<Diagnostic>,
}

/// Renders every job of every group on every instance. `groups`: those of links.resolve, in order; the result has one entry for each: its jobs, in order.
///
/// # Errors
/// All templates that fail, of all groups; of a group those of its first failing instance, as BOSH does.
pub fn render(
    stages: &dyn Stages,
    groups: &[ResolvedGroup],
    releases: &[Release],
    threads: usize,
) -> Result<Rendering, Vec<Diagnostic>> {
    let work = work(groups, releases);
    let outcomes = parallel::map(&work, threads, |one| run(stages, one));
    let mut diagnostics = Vec::new();
    let mut failing: Option<(usize, usize)> = None;
    for (one, outcome) in work.iter().zip(&outcomes) {
        let here = (one.group, one.nth);
        let errors = outcome.diagnostics.iter().any(Diagnostic::is_error);
        // Work is sorted by group and job, and a group reports its first failing instance only.
        if errors && failing.is_none_or(|(group, nth)| group != one.group || nth == one.nth) {
            failing = Some(here);
            diagnostics.extend(outcome.diagnostics.iter().cloned());
        } else if !errors && one.nth == 0 {
            diagnostics.extend(outcome.diagnostics.iter().cloned());
        }
    }
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let (files, documents) = collect(groups, releases, &work, outcomes, &mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    Ok(Rendering {
        files,
        warnings: diagnostics,
        documents,
    })
}

// === impl Work ===

impl Work<'_> {
    fn context(&self, ip: &str) -> Option<Tree> {
        if self.hypothetical {
            context::hypothetical(self.job, ip)
        } else {
            context::context(self.job, self.nth, ip)
        }
    }

    fn index(&self) -> Option<u32> {
        if self.hypothetical {
            Some(0)
        } else {
            context::index(self.job, self.nth)
        }
    }
}

fn work<'a>(groups: &'a [ResolvedGroup], releases: &'a [Release]) -> Vec<Work<'a>> {
    let mut work = Vec::new();
    for (group, resolved) in groups.iter().enumerate() {
        let jobs = jobs(resolved);
        // Instance by instance, so that the first failing instance of the group is met first.
        let most = jobs.iter().map(context::instances).max().unwrap_or(0);
        let hypothetical = most == 0;
        for nth in 0..most.max(1) {
            for job in jobs {
                if let Some(files) = find(releases, job)
                    && (hypothetical || nth < context::instances(job))
                {
                    work.push(Work {
                        group,
                        group_name: &resolved.name,
                        job,
                        files,
                        nth,
                        hypothetical,
                    });
                }
            }
        }
    }
    work
}

/// The jobs of a resolved group.
pub fn jobs(group: &ResolvedGroup) -> &[Tree] {
    group
        .document
        .items("instance_groups")
        .first()
        .map_or(&[], |group| group.items("jobs"))
}

/// The files of a job of a resolved group.
pub fn find<'a>(releases: &'a [Release], job: &Tree) -> Option<&'a Job> {
    let release = releases
        .iter()
        .find(|release| Some(release.name.as_str()) == job.str("release"))?;
    release
        .jobs
        .iter()
        .find(|files| Some(files.name.as_str()) == job.str("name"))
}

fn run(stages: &dyn Stages, work: &Work<'_>) -> Outcome {
    let mut outcome = Outcome {
        bpm: None,
        diagnostics: Vec::new(),
    };
    let names: Vec<String> = work
        .files
        .templates
        .iter()
        .map(|file| work.files.template_name(file))
        .collect();
    let monit = format!("{}/monit", work.files.name);
    let named = work.files.templates.iter().zip(&names);
    let (mut bpm, mut others): (Vec<_>, Vec<_>) = named
        .map(|(file, name)| (file.destination == Job::BPM, Template { name, text: &file.text }))
        .partition(|(is_bpm, _)| *is_bpm);
    if work.hypothetical {
        // Nothing of these is needed, and BOSH renders nothing for no instance.
        others.clear();
    } else if let Some(text) = &work.files.monit {
        others.insert(0, (false, Template { name: &monit, text }));
    }
    // What does not fail on the first instance, and cannot tell on which it is, does not fail on any.
    let first = |template: &Template<'_>| work.nth == 0 || alike::may_differ(template.text);
    others.retain(|(_, template)| alike::is_evaluated(template.text) && first(template));
    bpm.retain(|(_, template)| first(template));
    for (templates, ip) in [(others, ANY_IP), (bpm, POD_IP)] {
        let templates: Vec<Template<'_>> = templates.into_iter().map(|(_, template)| template).collect();
        let Some(context) = work.context(ip) else {
            continue;
        };
        if templates.is_empty() {
            continue;
        }
        match stages.render(&templates, &context) {
            Ok((files, said)) => {
                outcome.diagnostics.extend(said);
                if ip == POD_IP {
                    outcome.bpm = work.index().zip(files.into_iter().next());
                }
            }
            Err(StageError::Input(said)) => outcome
                .diagnostics
                .extend(said.into_iter().map(|one| explain(one, work, ip))),
            Err(StageError::Plugin(said)) => outcome.diagnostics.push(explain(*said, work, ip)),
        }
    }
    if work.hypothetical {
        outcome.diagnostics.iter_mut().for_each(forgive);
    }
    outcome
}

/// Of a group without instances nothing fails in BOSH: what would fail once it has some is a warning.
fn forgive(said: &mut Diagnostic) {
    if said.is_error() {
        said.severity = Severity::Warning;
        said.help = Some("the group has no instances now; this must be mended before it gets some".into());
    }
}

/// Adds what BOSH says around a template's error: job, group, file and line.
fn explain(mut said: Diagnostic, work: &Work<'_>, ip: &str) -> Diagnostic {
    let job = work.job.str("name").unwrap_or_default();
    let prefix = format!("{job}/");
    let file = said
        .place
        .document
        .take()
        .map(|name| name.strip_prefix(&prefix).map_or(name.clone(), str::to_string));
    let inner = match file {
        Some(file) => {
            said.place.document = Some(file_name(work.files, &file));
            let line = said.place.line.map_or("(unknown)".to_string(), |line| line.to_string());
            format!("Error filling in template '{file}' (line {line}: {})", said.message)
        }
        None => said.message.clone(),
    };
    let instance = if work.nth == 0 {
        String::new()
    } else {
        format!(", instance {}", work.nth)
    };
    said.message = format!(
        "Unable to render templates for job '{job}' of instance group '{}'{instance}: {inner}",
        work.group_name
    );
    if ip == POD_IP && said.help.is_none() && mentions_ip(work.files) {
        said.help = Some(
            "bpm.yml is rendered before the pods exist: `spec.ip` is the text `$(POD_IP)` there, which Kubernetes expands in args and env; it cannot be computed with"
                .to_string(),
        );
    }
    said
}

/// The file that a template's short name stands for.
fn file_name(files: &Job, source: &str) -> String {
    if source == "monit" {
        return files.monit_document.clone();
    }
    files
        .templates
        .iter()
        .find(|file| file.source == source)
        .map_or(source.to_string(), |file| file.document_name.clone())
}

fn mentions_ip(files: &Job) -> bool {
    files.templates.iter().any(|file| {
        file.destination == Job::BPM && (file.text.contains("spec.ip") || file.text.contains("spec.networks"))
    })
}

/// Puts the bpm files of all instances together: one copy for each different text, read as YAML.
fn collect(
    groups: &[ResolvedGroup],
    releases: &[Release],
    work: &[Work<'_>],
    outcomes: Vec<Outcome>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Vec<JobFiles>>, Vec<yaml::Document>) {
    let mut rendered: HashMap<*const Tree, Vec<(u32, Rendered)>> = HashMap::new();
    for (one, outcome) in work.iter().zip(outcomes) {
        if let Some(bpm) = outcome.bpm {
            rendered.entry(std::ptr::from_ref(one.job)).or_default().push(bpm);
        }
    }
    let mut documents = Vec::new();
    let mut all = Vec::new();
    for group in groups {
        let mut files = Vec::new();
        for job in jobs(group) {
            let here = rendered.get(&std::ptr::from_ref(job)).map_or(&[][..], Vec::as_slice);
            let here = on_all(here, job);
            let copies = copies(&here, &group.name, &mut documents, diagnostics);
            let found = find(releases, job);
            let destinations: BTreeSet<&str> = found.into_iter().flat_map(Job::destinations).collect();
            files.push(JobFiles {
                job: job.str("name").unwrap_or_default().to_string(),
                release: job.str("release").unwrap_or_default().to_string(),
                templates: destinations.into_iter().map(str::to_string).collect(),
                monitored: found.is_some_and(Job::is_monitored),
                bpm: copies,
            });
        }
        all.push(files);
    }
    (all, documents)
}

/// The file of each instance: one that cannot tell its instance was rendered for the first only.
fn on_all(rendered: &[(u32, Rendered)], job: &Tree) -> Vec<(u32, Rendered)> {
    let [(_, only)] = rendered else {
        return rendered.to_vec();
    };
    let indexes: Vec<u32> = (0..context::instances(job))
        .filter_map(|nth| context::index(job, nth))
        .collect();
    match indexes.is_empty() {
        true => rendered.to_vec(),
        false => indexes.into_iter().map(|index| (index, only.clone())).collect(),
    }
}

fn copies(
    rendered: &[(u32, Rendered)],
    group: &str,
    documents: &mut Vec<yaml::Document>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<BpmCopy> {
    let mut texts: Vec<(&str, &str, Vec<u32>)> = Vec::new();
    for (index, file) in rendered {
        match texts.iter_mut().find(|(_, text, _)| *text == file.content) {
            Some((.., instances)) => instances.push(*index),
            None => texts.push((&file.name, &file.content, vec![*index])),
        }
    }
    let several = texts.len() > 1;
    let mut copies = Vec::new();
    for (name, text, instances) in texts {
        let first = instances.first().copied().unwrap_or(0);
        let instance = if several { format!("/{first}") } else { String::new() };
        let name = format!("{name} (rendered for {group}{instance})");
        match yaml::read(&name, text) {
            Ok(document) => {
                copies.push(BpmCopy {
                    document_name: name,
                    instances,
                    bpm: document.tree.clone(),
                });
                documents.push(document);
            }
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    copies
}

//! Rendering a deployment: the bpm templates, whose text shapes the pods, and all others, to find out now rather than in a pod what fails.

use super::collected::{self, JobErrors};
use super::context::{self, POD_IP};
use super::copies::{self, BpmFiles};
use super::costs;
use super::filling::{self, Filled};
use super::parallel;
use super::selection::{Selection, is_about};
use crate::diagnostic::{Diagnostic, Severity};
use crate::release::{Job, Release};
use crate::scrub::Filter;
use crate::stage::{JobFiles, Rendered, ResolvedGroup, Stages, Template};
use crate::yaml;
use boson_document::Tree;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

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
#[derive(Default)]
struct Outcome {
    bpm: Option<(u32, Rendered)>,
    diagnostics: Vec<Diagnostic>,
    /// Units that its templates used.
    fuel: u64,
}

/// Renders every job of every group on every instance. `groups`: those of links.resolve, in order; the result has one entry for each: its jobs, in order.
/// `filter`: what errors may quote.
///
/// # Errors
/// All templates that fail, of all groups; of a group those of its first failing instance, as BOSH does.
pub fn render(
    stages: &dyn Stages,
    groups: &[ResolvedGroup],
    releases: &[Release],
    filter: Filter<'_>,
    threads: usize,
) -> Result<Rendering, Vec<Diagnostic>> {
    let work = work(groups, releases);
    // No later instance of a group is rendered once one has failed: a template that loops takes its time on each.
    let failing: Vec<AtomicUsize> = groups.iter().map(|_| AtomicUsize::new(usize::MAX)).collect();
    let outcomes = parallel::map(&work, threads, |one| {
        let first = failing.get(one.group);
        if first.is_some_and(|first| first.load(Ordering::Relaxed) < one.nth) {
            return Outcome::default();
        }
        let before = stages.spent_here();
        let mut outcome = run(stages, filter, one);
        outcome.fuel = stages.spent_here().saturating_sub(before);
        if let Some(first) = first.filter(|_| outcome.diagnostics.iter().any(Diagnostic::is_error)) {
            first.fetch_min(one.nth, Ordering::Relaxed);
        }
        outcome
    });
    let failing: Vec<usize> = failing.into_iter().map(AtomicUsize::into_inner).collect();
    let each = work.iter().zip(&outcomes);
    let costs = costs::of(each.map(|(one, outcome)| (one.group_name, one.files.name.as_str(), outcome.fuel)));
    if let Some(error) = costs::exhausted(outcomes.iter().flat_map(|outcome| &outcome.diagnostics), &costs) {
        return Err(vec![error]);
    }
    let mut diagnostics = report(&work, &outcomes, &failing);
    diagnostics.extend(unchecked(&work));
    diagnostics.extend(costs::warnings(&costs));
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let mut rendered = BpmFiles::new();
    for (one, outcome) in work.iter().zip(outcomes) {
        if let Some(bpm) = outcome.bpm {
            rendered.entry(std::ptr::from_ref(one.job)).or_default().push(bpm);
        }
    }
    let (files, documents) = copies::collect(groups, releases, &rendered, &mut diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    Ok(Rendering {
        files,
        warnings: diagnostics,
        documents,
    })
}

/// What to tell: of each group what its first failing instance says, or its first instance where none fails; then all errors as one text.
fn report(work: &[Work<'_>], outcomes: &[Outcome], failing: &[usize]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut failed = Vec::new();
    for (one, outcome) in work.iter().zip(outcomes) {
        let first = failing.get(one.group).copied().filter(|nth| *nth != usize::MAX);
        if one.nth != first.unwrap_or(0) {
            continue;
        }
        diagnostics.extend(outcome.diagnostics.iter().map(|said| attribute(said, one)));
        let errors: Vec<&Diagnostic> = outcome.diagnostics.iter().filter(|said| said.is_error()).collect();
        if !errors.is_empty() {
            failed.push(JobErrors {
                group: one.group_name,
                job: one.files,
                errors,
            });
        }
    }
    if !failed.is_empty() {
        diagnostics.push(collected::of_deployment(&failed));
    }
    diagnostics
}

/// Warnings about jobs whose schemas nobody looks at, each job once.
fn unchecked(work: &[Work<'_>]) -> Vec<Diagnostic> {
    let jobs: BTreeSet<&str> = work
        .iter()
        .filter(|one| one.files.properties_schema.is_some())
        .map(|one| one.files.name.as_str())
        .collect();
    let say = |job: &&str| {
        Diagnostic::warning(
            "release-schema-unchecked",
            format!("Properties of job '{job}' are not checked against its properties_schema.json"),
        )
    };
    jobs.iter().map(say).collect()
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

fn run(stages: &dyn Stages, filter: Filter<'_>, work: &Work<'_>) -> Outcome {
    let names: Vec<String> = work
        .files
        .templates
        .iter()
        .map(|file| work.files.template_name(file))
        .collect();
    let monit = format!("{}/monit", work.files.name);
    let selected = Selection::of(work.files, (&names, &monit), work.nth, work.hypothetical);
    let mut outcome = Outcome::default();
    if let Some(context) = work.context(ANY_IP).filter(|_| !selected.others.is_empty()) {
        let filled = filling::fill(stages, work.files, &selected.others, &context, filter);
        let about_bpm = |said: &Diagnostic| selected.is_about_bpm(said, work.files);
        outcome
            .diagnostics
            .extend(filled.diagnostics.into_iter().filter(|said| !about_bpm(said)));
    }
    if let Some((context, bpm)) = work.context(POD_IP).zip(selected.bpm) {
        let mut filled = bpm_file(stages, filter, work, (&selected.before_bpm, bpm), &context);
        explain_ip(&mut filled.diagnostics, work.files);
        outcome.bpm = work.index().zip(filled.files.into_iter().next());
        outcome.diagnostics.extend(filled.diagnostics);
    }
    if work.hypothetical {
        outcome.diagnostics.iter_mut().for_each(forgive);
    }
    outcome
}

/// The rendered bpm file, behind the templates that may reach it. One of those that fails only where the pod's address is not known is no error.
fn bpm_file(
    stages: &dyn Stages,
    filter: Filter<'_>,
    work: &Work<'_>,
    (before, bpm): (&[Template<'_>], Template<'_>),
    context: &Tree,
) -> Filled {
    let alone = || filling::fill(stages, work.files, std::slice::from_ref(&bpm), context, filter);
    if before.is_empty() {
        return alone();
    }
    let all = [before, std::slice::from_ref(&bpm)].concat();
    let mut filled = filling::fill(stages, work.files, &all, context, filter);
    filled.diagnostics.retain(|said| is_about(said, bpm.name, work.files));
    let file = filled.files.pop().filter(|file| file.name == bpm.name);
    if file.is_none() && !filled.failed() {
        return alone();
    }
    filled.files = file.into_iter().collect();
    filled
}

/// Of a group without instances nothing fails in BOSH: what would fail once it has some is a warning.
fn forgive(said: &mut Diagnostic) {
    if said.is_error() {
        said.severity = Severity::Warning;
        said.help = Some("the group has no instances now; this must be mended before it gets some".into());
    }
}

/// Says which job it was, on which instance of which group.
fn attribute(said: &Diagnostic, work: &Work<'_>) -> Diagnostic {
    let mut said = said.clone();
    if said.is_error() || work.hypothetical {
        let instance = if work.nth == 0 {
            String::new()
        } else {
            format!(", instance {}", work.nth)
        };
        said.message = format!(
            "Unable to render templates for job '{}' of instance group '{}'{instance}: {}",
            work.files.name, work.group_name, said.message
        );
    }
    said
}

fn explain_ip(said: &mut [Diagnostic], files: &Job) {
    for one in said.iter_mut().filter(|one| one.is_error() && one.help.is_none()) {
        if mentions_ip(files) {
            one.help = Some(
                "bpm.yml is rendered before the pods exist: `spec.ip` is the text `$(POD_IP)` there, which Kubernetes expands in args and env; it cannot be computed with"
                    .to_string(),
            );
        }
    }
}

fn mentions_ip(files: &Job) -> bool {
    files.templates.iter().any(|file| {
        file.destination == Job::BPM && (file.text.contains("spec.ip") || file.text.contains("spec.networks"))
    })
}

//! Renders a deployment: the bpm templates, whose text shapes the pods, and all others, so that errors are found now
//! rather than in a pod.

use super::alias_files;
use super::collected::{self, JobErrors};
use super::context::{self, POD_IP};
use super::copies;
use super::costs::{self, Cost};
use super::filling::{self, Filled};
use super::handler_files;
use super::instance_files::{self, FileDigest, InstanceFiles};
use super::job_output::JobOutput;
use super::mentions::MentionsByFile;
use super::needs;
use super::packages;
use super::selection::{self, Selection, is_about};
use crate::convert::parallel;
use crate::diagnostic::{Diagnostic, Severity};
use crate::release::{self, Job, Release, TemplateFile};
use crate::resolved_document::{jobs, quarks};
use crate::scrub::Filter;
use crate::stage::{JobFiles, Rendered, ResolvedGroup, Stages};
use crate::yaml;
use boson_document::{Tree, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Placeholder for the pod's address in files that are rendered only to find errors; it is BOSH's.
const PLACEHOLDER_IP: &str = "127.0.0.1";

/// A job of a group and its release's files.
struct Work<'a> {
    group: usize,
    group_name: &'a str,
    job: &'a Tree,
    /// Among the jobs of the group.
    job_position: usize,
    files: &'a Job,
    nth: usize,
    /// The group has no instances: only the files that shape its pods are rendered, for its first possible instance.
    hypothetical: bool,
}

/// Result of rendering one instance of a job.
#[derive(Default)]
struct Outcome {
    bpm: Option<(u32, Rendered)>,
    aliases: Option<Rendered>,
    diagnostics: Vec<Diagnostic>,
    /// Notes about what its scripts need, of the first instance only: the others run the same scripts.
    needs: Vec<Diagnostic>,
    /// What its files name.
    mentions: MentionsByFile,
    /// What was rendered, by the name of its template.
    digests: BTreeMap<String, FileDigest>,
    fuel: u64,
}

pub struct Rendering {
    /// Each group, in order, or why it cannot be rendered.
    pub groups: Vec<Result<RenderedGroup, RenderError>>,
    /// The rendered BPM configuration, which later diagnostics may name. It may hold secrets.
    pub documents: Vec<yaml::Document>,
}

/// An instance group, rendered.
pub struct RenderedGroup {
    /// Its jobs with their rendered BPM configuration, in order.
    pub jobs: Vec<JobFiles>,
    /// The files of its instances.
    pub instances: Vec<InstanceFiles>,
}

/// An instance group that cannot be rendered.
#[derive(Debug, Default)]
pub struct RenderError {
    diagnostics: Vec<Diagnostic>,
    /// The errors of templates as the director lists them.
    listed: Option<String>,
}

// === impl RenderError ===

impl RenderError {
    /// Errors and warnings, with the director's list of the errors of templates.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics;
        diagnostics.extend(self.listed.as_deref().map(collected::note_of_group));
        diagnostics
    }

    /// The errors and warnings of several groups, with one list for all of them.
    pub fn all(failures: Vec<Self>) -> Vec<Diagnostic> {
        let (mut diagnostics, mut listed) = (Vec::new(), Vec::new());
        for failure in failures {
            diagnostics.extend(failure.diagnostics);
            listed.extend(failure.listed);
        }
        diagnostics.extend((!listed.is_empty()).then(|| collected::note_of_deployment(&listed)));
        diagnostics
    }

    /// Adds errors that the director reports before those of templates.
    pub(super) fn after(self, mut errors: Vec<Diagnostic>) -> Self {
        errors.extend(self.diagnostics);
        Self {
            diagnostics: errors,
            ..self
        }
    }
}

impl From<Vec<Diagnostic>> for RenderError {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        let listed = None;
        Self { diagnostics, listed }
    }
}

/// Renders every job of every group on every instance. `groups`: those of links.resolve, in order; the result has one
/// entry for each. Of a group only the errors of its first failing instance are reported, as in BOSH. `filter`: what
/// errors may quote. Warnings about the groups that can be rendered are added to `reported`.
///
/// # Errors
/// The conversion ran out of fuel.
pub(super) fn render(
    stages: &dyn Stages,
    groups: &[ResolvedGroup],
    releases: &[Release],
    filter: Filter<'_>,
    threads: usize,
    reported: &mut Vec<Diagnostic>,
) -> Result<Rendering, Vec<Diagnostic>> {
    let mut attempt = Attempt::run(stages, work(groups, releases), groups.len(), filter, threads)?;
    let outputs = attempt.outputs(groups);
    let (mut each, mut documents, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    let instances = attempt.files(groups.len());
    for (nth, ((group, instances), outputs)) in groups.iter().zip(instances).zip(outputs).enumerate() {
        let (mut diagnostics, failed) = attempt.report(nth);
        let (packages, notes) = packages::select(group, releases, &outputs);
        let (jobs, read) = copies::collect(group, releases, &outputs, packages, &mut diagnostics);
        if diagnostics.iter().any(Diagnostic::is_error) {
            let listed = (!failed.is_empty()).then(|| collected::group(&group.name, &failed));
            each.push(Err(RenderError { diagnostics, listed }));
        } else {
            each.push(Ok(RenderedGroup { jobs, instances }));
            reported.extend(diagnostics);
            missing.extend(notes);
            documents.extend(read);
        }
    }
    reported.extend(unique_notes(attempt.outcomes.iter().flat_map(|outcome| &outcome.needs)));
    reported.extend(unique_notes(missing.iter()));
    reported.extend(costs::warnings(&attempt.costs()));
    Ok(Rendering {
        groups: each,
        documents,
    })
}

/// All jobs of all groups, with the result of rendering each.
struct Attempt<'a> {
    work: Vec<Work<'a>>,
    outcomes: Vec<Outcome>,
    /// By group its first failing instance; the greatest number if none fails.
    failing: Vec<usize>,
}

// === impl Attempt ===

impl<'a> Attempt<'a> {
    /// Renders all of `work`.
    ///
    /// # Errors
    /// The conversion ran out of fuel.
    fn run(
        stages: &dyn Stages,
        work: Vec<Work<'a>>,
        groups: usize,
        filter: Filter<'_>,
        threads: usize,
    ) -> Result<Self, Vec<Diagnostic>> {
        // Once an instance of a group has failed, no later one is rendered: a template that loops would take its time
        // on each.
        let failing: Vec<AtomicUsize> = (0..groups).map(|_| AtomicUsize::new(usize::MAX)).collect();
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
        let attempt = Self {
            work,
            outcomes,
            failing: failing.into_iter().map(AtomicUsize::into_inner).collect(),
        };
        let diagnostics = attempt.outcomes.iter().flat_map(|outcome| &outcome.diagnostics);
        match costs::out_of_fuel_error(diagnostics, &attempt.costs()) {
            Some(error) => Err(vec![error]),
            None => Ok(attempt),
        }
    }

    fn costs(&self) -> Vec<Cost<'_>> {
        let each = self.work.iter().zip(&self.outcomes);
        costs::by_job(each.map(|(one, outcome)| Cost {
            group: one.group_name,
            job: &one.files.name,
            instances: 1,
            fuel: outcome.fuel,
        }))
    }

    /// The diagnostics of the group's first failing instance, or of its first instance if none fails; and the jobs that
    /// fail.
    fn report(&self, group: usize) -> (Vec<Diagnostic>, Vec<JobErrors<'_>>) {
        let (mut diagnostics, mut failed) = (Vec::new(), Vec::new());
        let each = self.work.iter().zip(&self.outcomes);
        for (one, outcome) in each.filter(|(one, _)| one.group == group) {
            let first = self.failing.get(one.group).copied().filter(|nth| *nth != usize::MAX);
            if one.nth != first.unwrap_or(0) {
                continue;
            }
            diagnostics.extend(outcome.diagnostics.iter().map(|diagnostic| attribute(diagnostic, one)));
            let errors: Vec<_> = outcome.diagnostics.iter().filter(|found| found.is_error()).collect();
            if !errors.is_empty() {
                failed.push(JobErrors { job: one.files, errors });
            }
        }
        (diagnostics, failed)
    }

    /// What the jobs of each group rendered, on all of their instances.
    fn outputs(&mut self, groups: &[ResolvedGroup]) -> Vec<Vec<JobOutput>> {
        let of_group = |group: &ResolvedGroup| jobs(&group.document).iter().map(|_| JobOutput::default()).collect();
        let mut all: Vec<Vec<JobOutput>> = groups.iter().map(of_group).collect();
        for (one, outcome) in self.work.iter().zip(&mut self.outcomes) {
            let Some(output) = all.get_mut(one.group).and_then(|jobs| jobs.get_mut(one.job_position)) else {
                continue;
            };
            output.bpm.extend(outcome.bpm.take());
            output.aliases.extend(outcome.aliases.take());
            for (file, mentions) in std::mem::take(&mut outcome.mentions) {
                output.mentions.entry(file).or_default().extend(mentions);
            }
        }
        all
    }

    /// The files of the instances of each group. What does not depend on the instance was rendered for the first only.
    fn files(&self, groups: usize) -> Vec<Vec<InstanceFiles>> {
        let mut all: Vec<Vec<InstanceFiles>> = vec![Vec::new(); groups];
        let each = self.work.iter().zip(&self.outcomes);
        for (one, outcome) in each.filter(|(one, _)| !one.hypothetical) {
            let Some(instances) = all.get_mut(one.group) else {
                continue;
            };
            if instances.len() <= one.nth {
                instances.resize_with(one.nth + 1, InstanceFiles::default);
            }
            let mut files = BTreeMap::new();
            for file in &one.files.templates {
                let path = instance_files::path(one.files, file);
                let rendered = outcome.digests.get(&one.files.template_name(file)).copied();
                let as_on_first = || instances.first()?.files.get(&path).copied();
                let digest = rendered.or_else(as_on_first);
                let digest = digest.unwrap_or_else(|| instance_files::digest(file, &file.text));
                files.insert(path, digest);
            }
            if let Some(instance) = instances.get_mut(one.nth) {
                instance.index = one.index().unwrap_or_default();
                instance.az = context::az(one.job, one.nth);
                instance.files.extend(files);
            }
        }
        all
    }
}

/// Notes about jobs, each once: a job may be in many groups.
fn unique_notes<'n>(notes: impl Iterator<Item = &'n Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    notes
        .filter(|note| seen.insert(note.message.as_str()))
        .cloned()
        .collect()
}

// === impl Work ===

impl Work<'_> {
    /// Renders these templates of the job.
    fn fill(&self, stages: &dyn Stages, templates: &[&TemplateFile], context: &Tree, filter: Filter<'_>) -> Filled {
        filling::fill(stages, Some(self.group_name), self.files, templates, context, filter)
    }

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
        let jobs = jobs(&resolved.document);
        // Instance by instance, so that the first failing instance of the group is rendered first.
        let most = jobs.iter().map(context::instances).max().unwrap_or(0);
        let hypothetical = most == 0;
        for nth in 0..most.max(1) {
            for (job_position, job) in jobs.iter().enumerate() {
                if let Some(files) = release::find_job(releases, job)
                    && (hypothetical || nth < context::instances(job))
                {
                    work.push(Work {
                        group,
                        group_name: &resolved.name,
                        job,
                        job_position,
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

fn run(stages: &dyn Stages, filter: Filter<'_>, work: &Work<'_>) -> Outcome {
    let monit = selection::monit(work.files);
    let by_monit = selection::by_monit(work.job, work.files);
    let selected = Selection::of(work.files, monit.as_ref(), work.nth, work.hypothetical, by_monit);
    let mut outcome = Outcome::default();
    let mut rendered = Vec::new();
    if let Some(context) = work.context(PLACEHOLDER_IP).filter(|_| !selected.others.is_empty()) {
        let mut filled = work.fill(stages, &selected.others, &context, filter);
        // Only the errors of the bpm file with the pod's address count.
        let is_other = |one: &Diagnostic| !selected.bpm.is_some_and(|bpm| is_about(one, bpm));
        filled.diagnostics.retain(is_other);
        outcome.aliases = alias_files::find(&filled.files, work.files);
        outcome
            .diagnostics
            .extend(handler_files::error(&filled.files, work.files));
        outcome.digests.extend(digests(work.files, &filled.files));
        outcome.diagnostics.extend(filled.diagnostics);
        rendered = filled.files;
    }
    if let Some((context, bpm)) = work.context(POD_IP).zip(selected.bpm) {
        let mut filled = bpm_file(stages, filter, work, &selected.before_bpm, bpm, &context);
        explain_ip(&mut filled.diagnostics, work.files);
        outcome.digests.extend(digests(work.files, &filled.files));
        let file = filled.files.into_iter().next();
        outcome.bpm = work.index().zip(if by_monit { file.map(monit_as_bpm) } else { file });
        outcome.diagnostics.extend(filled.diagnostics);
    }
    let bpm = outcome.bpm.as_ref().map(|(_, file)| file);
    outcome.mentions = packages::of_instance(work.job, work.files, &rendered, bpm, work.nth == 0);
    if work.hypothetical {
        outcome.diagnostics.iter_mut().for_each(downgrade_to_warning);
    } else if work.nth == 0 && !outcome.diagnostics.iter().any(Diagnostic::is_error) {
        outcome.needs = script_notes(work, &rendered, outcome.bpm.as_ref());
    }
    outcome
}

/// Notes about what the scripts of a job need. `bpm`: its rendered bpm file.
fn script_notes(work: &Work<'_>, rendered: &[Rendered], bpm: Option<&(u32, Rendered)>) -> Vec<Diagnostic> {
    let quarks = quarks(work.job);
    let of_manifest = quarks.and_then(|quarks| quarks.get("bpm")).map(json::to_text);
    let bpm = bpm.map(|(_, file)| file.content.as_str());
    let starts: Vec<&str> = bpm.into_iter().chain(of_manifest.as_deref()).collect();
    needs::notes(work.files, quarks, rendered, &starts)
}

/// The digests of rendered files, by the names of their templates.
fn digests(job: &Job, rendered: &[Rendered]) -> Vec<(String, FileDigest)> {
    let digest = |rendered: &Rendered| {
        let mut templates = job.templates.iter();
        let file = templates.find(|file| job.template_name(file) == rendered.name)?;
        Some((rendered.name.clone(), instance_files::digest(file, &rendered.content)))
    };
    rendered.iter().filter_map(digest).collect()
}

/// A rendered monit file, as a document in place of bpm.yml: the bpm stage reads it.
fn monit_as_bpm(file: Rendered) -> Rendered {
    Rendered {
        content: json::to_text(&Tree::object().with("monit", file.content)),
        ..file
    }
}

/// The rendered bpm file, after the templates that may affect it. A failure of those that occurs only because the pod's
/// address is unknown is no error.
fn bpm_file(
    stages: &dyn Stages,
    filter: Filter<'_>,
    work: &Work<'_>,
    before: &[&TemplateFile],
    bpm: &TemplateFile,
    context: &Tree,
) -> Filled {
    let alone = || work.fill(stages, std::slice::from_ref(&bpm), context, filter);
    if before.is_empty() {
        return alone();
    }
    let all = [before, std::slice::from_ref(&bpm)].concat();
    let mut filled = work.fill(stages, &all, context, filter);
    filled.diagnostics.retain(|diagnostic| is_about(diagnostic, bpm));
    let name = work.files.template_name(bpm);
    let file = filled.files.pop().filter(|file| file.name == name);
    if file.is_none() && !filled.failed() {
        return alone();
    }
    filled.files = file.into_iter().collect();
    filled
}

/// In BOSH nothing fails in a group without instances: an error that would occur once it has some becomes a warning.
fn downgrade_to_warning(diagnostic: &mut Diagnostic) {
    if diagnostic.is_error() {
        diagnostic.severity = Severity::Warning;
        diagnostic.help = Some("the group has no instances now; fix this before adding instances".into());
    }
}

/// Adds the job, the instance and the group.
fn attribute(diagnostic: &Diagnostic, work: &Work<'_>) -> Diagnostic {
    let mut diagnostic = diagnostic.clone();
    if diagnostic.is_error() || work.hypothetical {
        let instance = if work.nth == 0 {
            String::new()
        } else {
            format!(", instance {}", work.nth)
        };
        diagnostic.message = format!(
            "Unable to render templates for job '{}' of instance group '{}'{instance}: {}",
            work.files.name, work.group_name, diagnostic.message
        );
    }
    diagnostic
}

fn explain_ip(diagnostics: &mut [Diagnostic], files: &Job) {
    for one in diagnostics
        .iter_mut()
        .filter(|one| one.is_error() && one.help.is_none())
    {
        if mentions_ip(files) {
            one.help = Some(
                "bpm.yml is rendered before the pods exist: `spec.ip` is the text `$(POD_IP)`, so templates cannot compute with it"
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

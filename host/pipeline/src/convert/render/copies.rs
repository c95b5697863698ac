//! Groups the rendered files of each job for the bpm stage: one copy of the bpm file for each different text, with its
//! instances.

use super::alias_files;
use super::context;
use super::job_output::JobOutput;
use crate::diagnostic::Diagnostic;
use crate::release::{self, Job, Release};
use crate::resolved_document::jobs;
use crate::stage::{BpmCopy, JobFiles, ReleasePackage, Rendered, ResolvedGroup};
use crate::yaml::{self, Dialect};
use boson_document::Tree;
use std::collections::BTreeSet;

/// Merges the bpm files of all instances of a group: one copy for each different text, read as YAML. `packages`: of the
/// jobs that releases have. Operations on the resolved document may have added others.
pub(super) fn collect(
    group: &ResolvedGroup,
    releases: &[Release],
    outputs: &[JobOutput],
    packages: Vec<Vec<ReleasePackage>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<JobFiles>, Vec<yaml::Document>) {
    let (mut files, mut documents) = (Vec::new(), Vec::new());
    let mut packages = packages.into_iter();
    for (job, output) in jobs(&group.document).iter().zip(outputs) {
        let here = on_all(&output.bpm, job);
        let copies = copies(&here, &group.name, &mut documents, diagnostics);
        let found = release::find_job(releases, job);
        let destinations: BTreeSet<&str> = found.into_iter().flat_map(Job::destinations).collect();
        files.push(JobFiles {
            job: job.str("name").unwrap_or_default().to_string(),
            release: job.str("release").unwrap_or_default().to_string(),
            templates: destinations.into_iter().map(str::to_string).collect(),
            monitored: found.is_some_and(Job::is_monitored),
            dns_aliases: alias_files::read(&output.aliases, diagnostics),
            start_program: found.filter(|_| copies.is_empty()).and_then(Job::start_program),
            bpm: copies,
            packages: found.and_then(|_| packages.next()).unwrap_or_default(),
        });
    }
    (files, documents)
}

/// The file of each instance: one that does not depend on the instance was rendered for the first only.
fn on_all(rendered: &[(u32, Rendered)], job: &Tree) -> Vec<(u32, Rendered)> {
    let [(_, only)] = rendered else {
        return rendered.to_vec();
    };
    let indexes: Vec<u32> = (0..context::instances(job))
        .filter_map(|nth| context::index(job, nth))
        .collect();
    if indexes.is_empty() {
        rendered.to_vec()
    } else {
        indexes.into_iter().map(|index| (index, only.clone())).collect()
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
        match yaml::read_as(Dialect::Bpm, &name, text) {
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

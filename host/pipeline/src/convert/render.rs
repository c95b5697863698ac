//! The step that renders the templates of all groups, and applies the groups' operations on what was rendered.

use super::instance_files::InstanceFiles;
use super::pre_render_ops;
use super::rendering::{self, RenderError};
use crate::diagnostic::Diagnostic;
use crate::release::Release;
use crate::scrub::Filter;
use crate::stage::{JobFiles, Named, ResolvedGroup, Stages};
use crate::yaml;

/// The manifest that the groups come from, as far as the caller knows it.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    Manifest(Named<'a>),
    /// Only its name. Diagnostics then name the group instead of its index, see [`pre_render_ops::in_manifest`].
    Name(&'a str),
}

/// Rendered groups.
pub struct Rendered {
    /// For each group its jobs with their rendered BPM configuration, in order, or why it cannot be rendered.
    pub groups: Vec<Result<Vec<JobFiles>, RenderError>>,
    /// The files of the instances of each group.
    pub files: Vec<Vec<InstanceFiles>>,
    /// The rendered BPM configuration, which later diagnostics may name. It may hold secrets.
    pub documents: Vec<yaml::Document>,
}

/// Renders every template on every instance of these groups. An error of one group does not affect the others. Warnings
/// are added to `reported`.
///
/// # Errors
/// The conversion ran out of fuel.
pub fn render(
    stages: &dyn Stages,
    manifest: Origin<'_>,
    groups: &[ResolvedGroup],
    releases: &[Release],
    filter: Filter<'_>,
    threads: usize,
    reported: &mut Vec<Diagnostic>,
) -> Result<Rendered, Vec<Diagnostic>> {
    let mut rendering = rendering::render(stages, groups, releases, filter, threads)?;
    reported.append(&mut rendering.warnings);
    for (group, jobs) in groups.iter().zip(&mut rendering.groups) {
        let Ok(files) = jobs else { continue };
        match pre_render_ops::to_bpm(stages, group, files, &mut rendering.documents, manifest.name()) {
            Ok(notes) => reported.extend(manifest.lead(notes)),
            Err(errors) => *jobs = Err(manifest.lead(errors).into()),
        }
    }
    Ok(Rendered {
        groups: rendering.groups,
        files: rendering.files,
        documents: rendering.documents,
    })
}

// === impl Origin ===

impl<'a> Origin<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Manifest(manifest) => manifest.name,
            Self::Name(name) => name,
        }
    }

    fn lead(self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if let Self::Manifest(manifest) = self {
            pre_render_ops::in_manifest(&mut diagnostics, manifest);
        }
        diagnostics
    }
}

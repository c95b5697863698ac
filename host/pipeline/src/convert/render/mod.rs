//! The step that validates the properties of jobs, renders the templates of all groups, and applies the groups'
//! operations on what was rendered.

mod alias_files;
mod alike;
pub mod collected;
pub mod context;
mod copies;
mod costs;
pub mod filling;
mod handler_files;
pub mod instance_files;
mod job_output;
mod job_schemas;
mod mentions;
mod needs;
mod packages;
mod rendering;
pub mod selection;

pub use rendering::{RenderError, RenderedGroup, Rendering};

use super::pre_render_ops;
use crate::diagnostic::Diagnostic;
use crate::release::Release;
use crate::scrub::Filter;
use crate::stage::{Named, ResolvedGroup, Stages};

/// The manifest that the groups come from, as far as the caller knows it.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    Manifest(Named<'a>),
    /// Only its name. Diagnostics then name the group instead of its index, see [`pre_render_ops::in_manifest`].
    Name(&'a str),
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
) -> Result<Rendering, Vec<Diagnostic>> {
    let mut rendering = rendering::render(stages, groups, releases, filter, threads, reported)?;
    for (group, rendered) in groups.iter().zip(&mut rendering.groups) {
        let invalid = manifest.with_manifest_places(job_schemas::errors(stages, group, releases, manifest.name()));
        if !invalid.is_empty() {
            let others = std::mem::replace(rendered, Err(RenderError::default())).err();
            *rendered = Err(others.unwrap_or_default().after(invalid));
        }
        let Ok(one) = rendered else { continue };
        match pre_render_ops::to_bpm(stages, group, &mut one.jobs, &mut rendering.documents, manifest.name()) {
            Ok(notes) => reported.extend(manifest.with_manifest_places(notes)),
            Err(errors) => *rendered = Err(manifest.with_manifest_places(errors).into()),
        }
    }
    Ok(rendering)
}

// === impl Origin ===

impl<'a> Origin<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Manifest(manifest) => manifest.name,
            Self::Name(name) => name,
        }
    }

    fn with_manifest_places(self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if let Self::Manifest(manifest) = self {
            pre_render_ops::in_manifest(&mut diagnostics, manifest);
        }
        diagnostics
    }
}

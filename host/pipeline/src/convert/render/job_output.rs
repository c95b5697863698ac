//! What a job rendered, as far as the bpm stage or other jobs need it.

use super::mentions::MentionsByFile;
use crate::stage::Rendered;

/// What the instances of a job rendered.
#[derive(Default)]
pub(super) struct JobOutput {
    /// `spec.index` of each instance, and its bpm file.
    pub bpm: Vec<(u32, Rendered)>,
    /// The alias files, in the order of the instances.
    pub aliases: Vec<Rendered>,
    /// What the files name.
    pub mentions: MentionsByFile,
}

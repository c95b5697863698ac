//! Which templates of a job are rendered together, and on which instances: as few as possible, with the same result as
//! rendering all of them, in order, on every instance.

use super::alike;
use crate::diagnostic::Diagnostic;
use crate::release::{Job, TemplateFile};
use crate::resolved_document::quarks;
use boson_document::Tree;

/// The templates of a job that are rendered on an instance.
pub(super) struct Selection<'t> {
    /// Rendered only to find errors.
    pub others: Vec<&'t TemplateFile>,
    /// The templates that shape the pods, and those before them whose changes to Ruby's classes may affect them.
    pub bpm: Option<&'t TemplateFile>,
    pub before_bpm: Vec<&'t TemplateFile>,
}

// === impl Selection ===

impl<'t> Selection<'t> {
    /// The selection for instance number `nth`. `monit`: see [`monit`]. `hypothetical`: the group has no instances. For
    /// `by_monit`, see [`by_monit`].
    pub fn of(job: &'t Job, monit: Option<&'t TemplateFile>, nth: usize, hypothetical: bool, by_monit: bool) -> Self {
        let all = in_order(job, monit, by_monit);
        let has_global_effects = all.iter().any(|(_, one)| alike::may_affect_others(&one.text));
        // A template that does not fail on the first instance and does not depend on the instance fails on none, unless
        // a template before it could depend on it.
        let is_needed = |one: &TemplateFile| nth == 0 || has_global_effects || alike::may_differ(&one.text);
        let mut selected = Self {
            others: Vec::new(),
            bpm: None,
            before_bpm: Vec::new(),
        };
        let mut before_bpm = true;
        for (is_bpm, one) in all {
            let is_first_bpm = is_bpm && before_bpm;
            before_bpm &= !is_bpm;
            if before_bpm && alike::may_affect_others(&one.text) {
                selected.before_bpm.push(one);
            }
            // A group without instances needs nothing else, and BOSH renders nothing for it.
            let is_other = !hypothetical && alike::is_evaluated(&one.text) && (!is_first_bpm || has_global_effects);
            if is_other && is_needed(one) {
                selected.others.push(one);
            }
            if is_first_bpm && is_needed(one) {
                selected.bpm = Some(one);
            }
        }
        selected
    }
}

/// Whether the diagnostic is about this template.
pub(super) fn is_about(reported: &Diagnostic, template: &TemplateFile) -> bool {
    reported.place.document.as_ref() == Some(&template.document_name)
}

/// Whether a job of a resolved group runs by its monit file: the user asks for it, and nothing else describes its
/// processes.
pub fn by_monit(job: &Tree, files: &Job) -> bool {
    let quarks = quarks(job);
    let member = |key: &str| {
        quarks
            .and_then(|quarks| quarks.get(key))
            .filter(|value| !value.is_null())
    };
    let asked = member("monit") == Some(&Tree::Bool(true));
    asked && files.template_for(Job::BPM).is_none() && member("bpm").is_none() && files.is_monitored()
}

pub fn monit(job: &Job) -> Option<TemplateFile> {
    Some(TemplateFile {
        source: "monit".into(),
        destination: "monit".into(),
        text: job.monit.clone()?,
        document_name: job.monit_document.clone(),
        executable: false,
    })
}

/// `monit` as a template, if later templates may need its changes to Ruby's classes.
pub fn monit_with_global_effects(job: &Job) -> Option<TemplateFile> {
    monit(job).filter(|file| alike::may_affect_others(&file.text))
}

/// All templates, and whether each is a bpm file. BOSH renders them in one process, `monit` first.
fn in_order<'t>(job: &'t Job, monit: Option<&'t TemplateFile>, by_monit: bool) -> Vec<(bool, &'t TemplateFile)> {
    let monit = monit.map(|file| (by_monit, file));
    let files = job.templates.iter().map(|file| (file.destination == Job::BPM, file));
    monit.into_iter().chain(files).collect()
}

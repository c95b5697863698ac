//! QuarksJob to Job.

use crate::Diagnostic;
use crate::object::{annotations, map, merge, metadata, namespace, new_object, object_error, set_map};
use crate::plain::codes;
use boson_document::Tree;
use boson_manifest::{labels, names};

/// Whether a Job starts on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// At once: an auto-errand.
    Now,
    /// When someone sets `suspend: false`: an errand.
    Later,
}

// === impl Run ===

impl Run {
    /// Reads the trigger of a QuarksJob.
    ///
    /// # Errors
    /// An unknown strategy.
    pub fn of(job: &Tree) -> Result<Self, Diagnostic> {
        match job.find(&["spec", "trigger", "strategy"]).and_then(Tree::as_str) {
            Some("now" | "once") => Ok(Self::Now),
            Some("manual" | "done") => Ok(Self::Later),
            _ => Err(object_error(
                job,
                codes::PLAIN_INVALID_OBJECT,
                "its trigger's strategy is not one of manual, now, once and done",
            )),
        }
    }
}

/// The Job of a QuarksJob, with this name.
pub fn job(job: &Tree, name: &str, run: Run) -> Tree {
    let template = job.find(&["spec", "template"]).unwrap_or(&Tree::Null);
    let name = names::cut(name, "", names::MAX_LABEL_LENGTH);
    let own = Tree::object().with(
        labels::QUARKS_JOB_NAME,
        names::cut(crate::object::name(job), "", names::MAX_LABEL_LENGTH),
    );
    let labels = merge(merge(map(job, "labels"), &map(template, "labels")), &own);
    let annotations = merge(annotations(job), &map(template, "annotations"));
    let mut spec = template.get("spec").cloned().unwrap_or_else(Tree::object);
    let mut pods = spec.get("template").cloned().unwrap_or_else(Tree::object);
    let marked = merge(map(&pods, "labels"), &own);
    set_map(&mut pods, "labels", marked);
    if let Some(pod) = pods.get_mut("spec")
        && pod.get("restartPolicy").is_none_or(Tree::is_null)
    {
        // The default of pods, Always, is refused in a Job. An errand runs once, as in BOSH.
        pod.set("restartPolicy", "Never");
    }
    spec.set("template", pods);
    if run == Run::Later {
        spec.set("suspend", true);
    }
    let metadata = metadata(&name, namespace(job), labels, annotations);
    new_object("batch/v1", "Job", metadata).with("spec", spec)
}

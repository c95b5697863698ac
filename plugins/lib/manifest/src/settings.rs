//! The settings for Kubernetes of a job.

use boson_document::Tree;

/// The settings for Kubernetes of a job of a resolved document: its property `quarks`, or else its key of this name.
pub fn of_job(job: &Tree) -> Option<&Tree> {
    job.find(&["properties", "quarks"]).or_else(|| job.get("quarks"))
}

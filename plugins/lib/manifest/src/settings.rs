//! The settings for Kubernetes of a job.

use boson_document::Tree;

/// The settings for Kubernetes of a job of a resolved document: its property `quarks`, or else its key of this name.
pub fn of_job(job: &Tree) -> Option<&Tree> {
    let property = job.get("properties").and_then(|properties| properties.get("quarks"));
    property.or_else(|| job.get("quarks"))
}

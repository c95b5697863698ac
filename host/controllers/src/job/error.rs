//! Why a Job is not created.

use boson_cluster::client::Error;

/// Why there is no Job.
#[derive(Debug)]
pub(super) enum JobError {
    /// The template, as its user wrote it.
    Template(String),
    Defect(Error),
}

impl From<Error> for JobError {
    fn from(error: Error) -> Self {
        Self::Defect(error)
    }
}

impl From<&str> for JobError {
    fn from(why: &str) -> Self {
        Self::Template(why.into())
    }
}

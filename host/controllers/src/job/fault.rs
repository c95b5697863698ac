//! Why a Job is not created.

use boson_cluster::client::Error;

/// Why there is no Job.
#[derive(Debug)]
pub(super) enum Fault {
    /// The template, as its user wrote it.
    Template(String),
    Defect(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Defect(error)
    }
}

impl From<&str> for Fault {
    fn from(why: &str) -> Self {
        Self::Template(why.into())
    }
}

//! Why a Job is not created.

use boson_cluster::client::Error;

#[derive(Debug, thiserror::Error)]
pub(super) enum JobError {
    /// What it waits for.
    #[error("{0}")]
    Waits(String),
    /// What a user has to fix, such as the template as its user wrote it.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Api(#[from] Error),
}

impl From<&str> for JobError {
    fn from(why: &str) -> Self {
        Self::Refused(why.into())
    }
}

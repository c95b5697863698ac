//! Why a plugin is not loaded.

use boson_cluster::client::Error;
use boson_pipeline::Diagnostic;

/// Why a plugin cannot be loaded, or the component of its image cannot be pulled.
pub(super) enum LoadError {
    /// The plugin was deleted or has changed, for example because the digest of its tag was recorded: an event follows.
    Outdated,
    /// Its component was evicted from the disk before it was loaded.
    Evicted,
    Refused(Diagnostic),
    Api(Error),
}

impl From<Diagnostic> for LoadError {
    fn from(error: Diagnostic) -> Self {
        Self::Refused(error)
    }
}

impl From<Error> for LoadError {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

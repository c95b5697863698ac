//! The lifecycle scripts that a job has.

use crate::request::JobFiles;

/// The scripts that a job has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scripts {
    /// Before the processes start.
    pub pre_start: bool,
    /// After they started.
    pub post_start: bool,
    /// Before anything stops.
    pub pre_stop: bool,
    /// Before the processes stop.
    pub drain: bool,
    /// After they stopped.
    pub post_stop: bool,
    /// After all of the deployment is up.
    pub post_deploy: bool,
}

// === impl Scripts ===

impl Scripts {
    /// Finds the scripts among the destinations of a job's templates.
    pub fn read(files: &JobFiles) -> Self {
        Self {
            pre_start: files.has("bin/pre-start"),
            post_start: files.has("bin/post-start"),
            pre_stop: files.has("bin/pre-stop"),
            drain: files.has("bin/drain"),
            post_stop: files.has("bin/post-stop"),
            post_deploy: files.has("bin/post-deploy"),
        }
    }

    /// Whether a script runs while the processes run.
    pub fn run_beside_processes(self) -> bool {
        self.post_start || self.post_deploy || self.run_at_stop()
    }

    /// Whether a script runs when the pod stops.
    pub fn run_at_stop(self) -> bool {
        self.pre_stop || self.drain || self.post_stop
    }
}

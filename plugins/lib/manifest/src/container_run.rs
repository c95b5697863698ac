//! `container-run` in a pod.

/// Mount path of its volume.
pub const HOME: &str = "/container-run";
pub const VOLUME: &str = "container-run";
/// Its path in its volume.
pub const PROGRAM: &str = "/container-run/bin/container-run";
/// The init container that copies it.
pub const COPIER: &str = "container-run-copier";
/// Its path in the operator's image.
pub const IN_IMAGE: &str = "/usr/bin/container-run";
/// The container that shows the log files of jobs.
pub const LOGS_CONTAINER: &str = "logs";
/// Where it keeps its state, below [`HOME`].
pub const LOGS: &str = "/container-run/logs";
/// In its volume: what scripts find in `/var/vcap/bosh`.
pub const BOSH: &str = "/container-run/bosh";
/// Directory of rendered jobs. It also contains `bpm` for scripts.
pub const JOBS: &str = "/var/vcap/jobs";
/// User and group of BOSH's `vcap`.
pub const VCAP_ID: i64 = 1000;

/// The command that copies it to its volume.
pub fn install() -> [&'static str; 7] {
    [IN_IMAGE, "install", HOME, "--jobs", JOBS, "--bosh", BOSH]
}

//! The process wrapper, `container-run`, in a pod.

/// Where its volume is mounted.
pub const HOME: &str = "/container-run";
/// Its volume.
pub const VOLUME: &str = "container-run";
/// Where its init container copies it to.
pub const PROGRAM: &str = "/container-run/bin/container-run";
/// The init container that copies it.
pub const COPIER: &str = "container-run-copier";
/// Where it is in the operator's image.
pub const IN_IMAGE: &str = "/usr/bin/container-run";
/// In its volume: what scripts find in `/var/vcap/bosh`.
pub const BOSH: &str = "/container-run/bosh";
/// Where templates are rendered to. Scripts find `bpm` there.
pub const JOBS: &str = "/var/vcap/jobs";

/// The command that copies it to its volume.
pub fn install() -> [&'static str; 7] {
    [IN_IMAGE, "install", HOME, "--jobs", JOBS, "--bosh", BOSH]
}

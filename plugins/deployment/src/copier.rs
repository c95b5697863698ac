//! Init containers that copy the job sources of a release image to where those of all releases of a pod are.

/// Where the job sources of all releases are.
pub const RELEASES: &str = "/var/vcap/all-releases";
/// Where a release image has its own.
pub const SOURCE: &str = "/var/vcap/jobs-src";

/// Names need no quoting this way. What is copied is for vcap to read.
const SCRIPT: &str = "mkdir -p \"$1\" && cp -r /var/vcap/jobs-src/. \"$1\" && chown -R 1000:1000 \"$1\"";

/// The directory of a release.
pub fn target(release: &str) -> String {
    format!("{RELEASES}/jobs-src/{release}")
}

/// The command of a container that runs the release image as root. `target`: of [`target`], as a command of Kubernetes writes it.
pub fn command(target: &str) -> [&str; 5] {
    ["/bin/sh", "-c", SCRIPT, "spec-copier", target]
}

//! Init containers that copy the job sources of a release image to where those of all releases of a pod are.

use crate::container_run;
use boson_document::Tree;

/// Directory of the job sources of all releases.
pub const RELEASES: &str = "/var/vcap/all-releases";
/// Directory of the job sources in a release image.
pub const SOURCE: &str = "/var/vcap/jobs-src";

/// The directory of a release.
pub fn target(release: &str) -> String {
    format!("{RELEASES}/jobs-src/{release}")
}

/// The command of a container of the release image. `target`: of [`target`], as a command of Kubernetes writes it. The
/// volume of container-run is mounted, because the image may have no tools.
pub fn command(target: &str) -> [&str; 4] {
    [container_run::PROGRAM, "copy-jobs", SOURCE, target]
}

/// Whether a job of a manifest needs no root: its property `quarks.run.security_context` has `runAsNonRoot: true`. Then
/// its scripts run as vcap, and where all jobs of a release say so, the release's templates are copied as vcap.
pub fn needs_no_root(job: &Tree) -> bool {
    let properties = job.get("properties");
    let quarks = properties.and_then(|all| all.get("quarks").or_else(|| all.get("bosh_containerization")));
    let found = quarks.and_then(|quarks| quarks.find(&["run", "security_context", "runAsNonRoot"]));
    found == Some(&Tree::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn a_job_needs_no_root_where_it_says_so() {
        let of = |text: &str| needs_no_root(&json::parse(text).unwrap_or_default());
        for name in ["quarks", "bosh_containerization"] {
            let with = |value: &str| {
                format!(
                    r#"{{"properties": {{"{name}": {{"run": {{"security_context": {{"runAsNonRoot": {value}}}}}}}}}}}"#
                )
            };
            assert!(
                of(&with("true")) && !of(&with("false")) && !of(&with("\"true\"")),
                "{name}"
            );
        }
        assert!(!of("{}") && !of(r#"{"properties": {"quarks": {}}}"#));
    }
}

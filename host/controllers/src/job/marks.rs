//! Annotations by which this controller knows its Jobs.

/// On the Job: number of the run.
pub(super) const RUN: &str = "quarks.cloudfoundry.org/run";
/// On the Job: digest of what it was made from ([`super::observe::Observed::digest`]).
pub(super) const CONFIG: &str = "quarks.cloudfoundry.org/config-digest";
/// On the Job: it was started. It is made suspended.
pub(super) const STARTED: &str = "quarks.cloudfoundry.org/started";
/// On the QuarksJob: name of the last Job for which a trigger was taken back. A trigger that is set after that is another.
pub(super) const TAKEN: &str = "quarks.cloudfoundry.org/taken-by";
/// On its pods: name of the QuarksJob; the label may have to cut it.
pub(super) const QUARKS_JOB: &str = "quarks.cloudfoundry.org/quarks-job";
/// Label of a pod that goes after a success.
pub(super) const DELETE: (&str, &str) = ("delete", "pod");

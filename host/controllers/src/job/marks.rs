//! Annotations of this controller.

pub(super) use boson_manifest::labels::RUN;

/// On the Job: digest of its configuration ([`super::observe::Config::digest`]).
pub(super) const CONFIG_DIGEST: &str = "quarks.cloudfoundry.org/config-digest";
/// On the Job: it was started. It is created suspended.
pub(super) const STARTED: &str = "quarks.cloudfoundry.org/started";
/// On the QuarksJob: name of the last Job for which the trigger was reset. A trigger that is set later is a new one.
pub(super) const TRIGGER_RESET: &str = "quarks.cloudfoundry.org/trigger-reset-for";
/// On its pods: name of the QuarksJob; the label may be cut.
pub(super) const QUARKS_JOB: &str = "quarks.cloudfoundry.org/quarks-job";
/// Label of a pod that is deleted after a success.
pub(super) const DELETE: &str = "delete";
pub(super) const DELETE_POD: &str = "pod";

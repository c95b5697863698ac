//! The writes of this controller, one per step.

use super::account::{self, Account};
use super::desired::{Setting, desired, name};
use super::error::JobError;
use super::marks::{STARTED, TRIGGER_RESET};
use super::observe::Config;
use boson_api::QuarksJob;
use boson_api::job::Strategy;
use boson_cluster::client::{Cluster, Error, FieldManager, Identity};
use boson_cluster::objects;
use k8s_openapi::api::batch::v1::Job;
use serde_json::json;

/// Who owns the fields that this controller sets.
pub(super) const MANAGER: FieldManager = FieldManager("boson-job");

/// The result of creating a Job.
pub(super) enum Creation {
    /// It exists.
    Made,
    /// It waits for something else.
    Waiting(String),
    /// It cannot be created from this template.
    Refused(String),
}

/// Creates the suspended Job of a run.
///
/// # Errors
/// See [`Error`].
pub(super) async fn create(
    cluster: &Cluster,
    object: &QuarksJob,
    config: &Config,
    number: i64,
    operator_image: &str,
) -> Result<Creation, Error> {
    let Identity { namespace, uid, .. } = Identity::of(object)?;
    let output = object
        .spec
        .output
        .as_ref()
        .is_some_and(|output| !output.output_map.is_empty());
    let account = if output {
        match account::account(cluster, MANAGER, namespace).await? {
            Account::Named(name) => Some(name),
            Account::Missing(name) => {
                return Ok(Creation::Waiting(format!(
                    "waiting for ServiceAccount '{name}', which the namespace names"
                )));
            }
        }
    } else {
        None
    };
    let setting = Setting {
        operator_image,
        account: account.as_deref(),
    };
    let name = name(object, number)?;
    let digest = config.digest.as_deref();
    let digest = digest.ok_or_else(|| Error::flawed("Job", Some(&name), "has no digest of its configuration"))?;
    let wanted = match desired(object, config.template.clone(), number, digest, &setting) {
        Ok(wanted) => wanted,
        Err(JobError::Template(why)) => return Ok(Creation::Refused(why)),
        Err(JobError::Defect(error)) => return Err(error),
    };
    if cluster.create_any(MANAGER, &wanted).await? {
        tracing::info!(run = number, "created a Job");
        return Ok(Creation::Made);
    }
    let found: Option<Job> = cluster.get(namespace, &name).await?;
    match found {
        Some(found) if !objects::has_owner(&found, uid) => Ok(Creation::Refused(format!(
            "there is a Job '{name}' that belongs to another object"
        ))),
        Some(found) if found.metadata.deletion_timestamp.is_some() => {
            Ok(Creation::Waiting(format!("waiting for the end of Job '{name}'")))
        }
        _ => Ok(Creation::Made),
    }
}

/// Resets the trigger.
///
/// # Errors
/// See [`Error`]; a conflict when the QuarksJob has changed.
pub(super) async fn reset_trigger(
    cluster: &Cluster,
    object: &QuarksJob,
    strategy: Strategy,
    number: i64,
) -> Result<(), Error> {
    let annotations = json!({"annotations": {TRIGGER_RESET: name(object, number)?}});
    let members = json!({"metadata": annotations, "spec": {"trigger": {"strategy": strategy}}});
    cluster.merge(MANAGER, object, members).await.map(drop)
}

/// Starts the Job of a run, if the run is still in progress. Read again first: after the end of a run and the deletion
/// of its Job, a slow process may have created this one.
///
/// # Errors
/// See [`Error`]; a conflict when the Job has changed.
pub(super) async fn start(cluster: &Cluster, object: &QuarksJob, job: &Job) -> Result<(), Error> {
    let Identity { namespace, name, .. } = Identity::of(object)?;
    let now: Option<QuarksJob> = cluster.get(namespace, name).await?;
    if now.is_none_or(|now| !is_current(object, &now)) {
        return Ok(());
    }
    let members = json!({"metadata": {"annotations": {STARTED: "true"}}, "spec": {"suspend": false}});
    cluster.merge(MANAGER, job, members).await.map(drop)
}

/// Whether the same run is still in progress.
pub(super) fn is_current(before: &QuarksJob, now: &QuarksJob) -> bool {
    let runs = |object: &QuarksJob| object.status.as_ref().map(|status| (status.runs, status.ended_runs));
    before.metadata.uid == now.metadata.uid && runs(before) == runs(now)
}

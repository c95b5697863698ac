//! Carries out the plan: one write per step.

mod account;
mod garbage;

use super::Context;
use super::observe::{Config, Observed, is_renewed};
use super::plan::Step;
use super::run::{JobError, STARTED, Setting, TRIGGER_RESET, desired_job, job_name, stored_output};
use super::status::State;
use crate::controller::Next;
use account::account;
use boson_api::QuarksJob;
use boson_api::job::{QuarksJobStatus, Strategy};
use boson_cluster::client::{Cluster, Error, ErrorKind, FieldManager, Identity};
use boson_cluster::objects;
use k8s_openapi::api::batch::v1::Job;
use kube::runtime::controller::Action;
use serde_json::json;
use std::time::Duration;

/// Who owns the fields that this controller sets.
pub(super) const MANAGER: FieldManager = FieldManager("boson-job");

/// Requeue interval if no watch event announces a change.
const REQUEUE_INTERVAL: Duration = Duration::from_secs(15);

/// The QuarksJob is in this state.
pub(super) struct Reached {
    pub state: State,
    /// The status before, with the numbers and the configuration of now.
    pub status: QuarksJobStatus,
    pub next: Next<QuarksJob>,
}

/// Carries out a step. None: it wrote something; the status stays.
///
/// # Errors
/// See [`Error`].
pub(super) async fn act(
    context: &Context,
    object: &QuarksJob,
    observed: &Observed,
    step: Step,
) -> Result<Option<Reached>, Error> {
    let cluster = &context.cluster;
    let mut status = object.status.clone().unwrap_or_default();
    let reached = match step {
        Step::Create(number) => begin(context, object, &observed.config, number).await?,
        Step::ResetTrigger(strategy, number) => {
            reset_trigger(cluster, object, strategy, number).await?;
            None
        }
        Step::Begin(number, digest) => {
            status.runs = number;
            status.config_digest = digest;
            Some((State::Running(None), Next::Pass(None)))
        }
        Step::Start(job) => {
            start(cluster, object, &job).await?;
            None
        }
        Step::Skip(generation) => {
            status.skipped_generation = Some(generation);
            Some((State::Idle, Next::Pass(None)))
        }
        Step::End(state) => {
            if state == State::Succeeded {
                collect_garbage(context, object).await;
            }
            status.ended_runs = status.runs;
            Some((state, Next::Pass(None)))
        }
        Step::Delete(job) => {
            cluster.delete(&*job).await?;
            None
        }
        Step::Rest(state) => {
            // The digest that later changes are compared with, if no run has recorded it.
            let is_compared = object.spec.trigger.strategy == Strategy::Done && is_renewed(object);
            if is_compared && status.config_digest.is_none() {
                status.config_digest.clone_from(&observed.config.digest);
            }
            Some((state, Next::Wait(Action::await_change())))
        }
    };
    Ok(reached.map(|(state, next)| Reached { state, status, next }))
}

/// Runs before the end is recorded, so that a crash in between leaves nothing undone.
async fn collect_garbage(context: &Context, object: &QuarksJob) {
    if let Err(error) = garbage::collect(&context.cluster, object, context.keep_versions).await {
        // The run has succeeded anyway, and the next one retries.
        tracing::warn!(%error, "cannot delete old versions of output");
    }
}

/// None: the Job of the run exists.
async fn begin(
    context: &Context,
    object: &QuarksJob,
    config: &Config,
    number: i64,
) -> Result<Option<(State, Next<QuarksJob>)>, Error> {
    Ok(match create(context, object, config, number).await {
        Ok(()) => None,
        Err(JobError::Waits(what)) => Some((State::Waiting(what), Next::Wait(Action::requeue(REQUEUE_INTERVAL)))),
        Err(JobError::Refused(why)) => Some((State::Refused(why), Next::Wait(Action::await_change()))),
        // The cause may be the template, a quota, a policy or the operator's role: retry later.
        Err(JobError::Api(error)) if matches!(error.kind, ErrorKind::Refused(_) | ErrorKind::Forbidden) => {
            Some((State::Refused(error.to_string()), Next::Fail(error)))
        }
        Err(JobError::Api(error)) => return Err(error),
    })
}

/// Creates the suspended Job of a run, unless it exists.
///
/// # Errors
/// Why it cannot be created yet, or from this template.
async fn create(context: &Context, object: &QuarksJob, config: &Config, number: i64) -> Result<(), JobError> {
    let cluster = &context.cluster;
    let Identity { namespace, uid, .. } = Identity::of(object)?;
    let account = match stored_output(object) {
        Some(_) => Some(account(cluster, MANAGER, namespace).await?),
        None => None,
    };
    let setting = Setting {
        operator_image: &context.operator_image,
        account: account.as_deref(),
    };
    let name = job_name(object, number)?;
    let digest = config.digest.as_deref();
    let digest = digest.ok_or_else(|| Error::flawed("Job", Some(&name), "has no digest of its configuration"))?;
    let wanted = desired_job(object, config.template.clone(), number, digest, &setting)?;
    if cluster.create_any(MANAGER, &wanted).await? {
        tracing::info!(run = number, "created a Job");
        return Ok(());
    }
    let found: Option<Job> = cluster.get(namespace, &name).await?;
    match found {
        Some(found) if !objects::has_owner(&found, uid) => Err(JobError::Refused(format!(
            "there is a Job '{name}' that belongs to another object"
        ))),
        Some(found) if found.metadata.deletion_timestamp.is_some() => {
            Err(JobError::Waits(format!("waiting for the end of Job '{name}'")))
        }
        _ => Ok(()),
    }
}

/// Resets the trigger.
///
/// # Errors
/// See [`Error`]; a conflict when the QuarksJob has changed.
async fn reset_trigger(cluster: &Cluster, object: &QuarksJob, strategy: Strategy, number: i64) -> Result<(), Error> {
    let annotations = json!({"annotations": {TRIGGER_RESET: job_name(object, number)?}});
    let members = json!({"metadata": annotations, "spec": {"trigger": {"strategy": strategy}}});
    cluster.merge(MANAGER, object, members).await.map(drop)
}

/// Starts the Job of a run, if the run is still in progress. Read again first: after the end of a run and the deletion
/// of its Job, a slow process may have created this one.
///
/// # Errors
/// See [`Error`]; a conflict when the Job has changed.
async fn start(cluster: &Cluster, object: &QuarksJob, job: &Job) -> Result<(), Error> {
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

//! Plans the next write, if any. Pure.
//!
//! A run has a number. Its Job is created suspended; then the trigger is reset; then the status counts the run; then
//! the Job is started. Every write but the first requires the version of the QuarksJob or of the Job that was read, so
//! of two operators one succeeds, and after a crash at any point the state shows how to continue. A started Job is
//! deleted only after the status records the end of its run. So a Job that a slow process creates from outdated data is
//! recognized as one of an ended run, and deleted before it starts.

mod failure;

pub(crate) use failure::is_alive;

use super::observe::{Observed, is_renewed, recorded_digest};
use super::run::{DELETE, DELETE_POD, STARTED, TRIGGER_RESET, job_name};
use super::status::State;
use boson_api::QuarksJob;
use boson_api::job::{QuarksJobStatus, Strategy};
use boson_cluster::client::Error;
use boson_cluster::objects::label;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;

/// The next write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Create the suspended Job of this run.
    Create(i64),
    /// Reset the trigger to this strategy, for the Job of this run.
    ResetTrigger(Strategy, i64),
    /// Count the run.
    Begin(i64, Option<String>),
    Start(Box<Job>),
    /// Record that nothing has changed since the last run, for the trigger of this generation.
    Skip(i64),
    /// Record the end of the run.
    End(State),
    Delete(Box<Job>),
    /// Only report the state.
    Rest(State),
}

/// How a Job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Complete,
    Failed,
}

/// # Errors
/// See [`job_name`].
pub(super) fn plan(object: &QuarksJob, observed: &Observed) -> Result<Step, Error> {
    let status = object.status.clone().unwrap_or_default();
    if let Some(job) = obsolete_job(observed, &status) {
        return Ok(Step::Delete(Box::new(job.clone())));
    }
    if status.runs > status.ended_runs {
        return Ok(plan_running(object, observed, &status));
    }
    plan_idle(object, observed, &status)
}

/// A Job of an ended run that can be deleted.
fn obsolete_job<'s>(observed: &'s Observed, status: &QuarksJobStatus) -> Option<&'s Job> {
    let over = observed.jobs.iter().filter(|(number, _)| *number <= status.ended_runs);
    let mut obsolete = over.filter(|(number, job)| {
        let newest = *number == status.runs;
        let kept = match ending(job) {
            Some(Ending::Failed) => true,
            Some(Ending::Complete) => !is_deleted_after_success(job),
            // Superseded, or created too late.
            None => false,
        };
        !(newest && kept)
    });
    obsolete.next().map(|(_, job)| job)
}

fn plan_running(object: &QuarksJob, observed: &Observed, status: &QuarksJobStatus) -> Step {
    let Some(job) = observed.job(status.runs) else {
        let message = "its Job was deleted before it ended; set the trigger to run it again".to_string();
        return Step::End(State::Failed("JobGone".into(), message));
    };
    match ending(job) {
        Some(Ending::Complete) => return Step::End(State::Succeeded),
        Some(Ending::Failed) => {
            let (reason, message) = failure::of_job(job, &observed.pods, &observed.operator_image);
            return Step::End(State::Failed(reason, message));
        }
        None => {}
    }
    let digest = observed.config.digest.as_deref();
    if is_renewed(object) && digest.is_some() && digest != recorded_digest(job) {
        return Step::End(State::Superseded);
    }
    let suspended = job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true);
    if suspended && !job.annotations().contains_key(STARTED) {
        return Step::Start(Box::new(job.clone()));
    }
    Step::Rest(State::Running(failure::waiting_reasons(&observed.pods, job)))
}

fn plan_idle(object: &QuarksJob, observed: &Observed, status: &QuarksJobStatus) -> Result<Step, Error> {
    let strategy = object.spec.trigger.strategy;
    let config = &observed.config;
    let digest = config.digest.as_deref();
    let last = status.config_digest.as_deref();
    let renews =
        strategy == Strategy::Done && is_renewed(object) && last.is_some() && digest.is_some() && digest != last;
    let after_reset = match strategy {
        Strategy::Now | Strategy::Changed => Some(Strategy::Manual),
        Strategy::Once => Some(Strategy::Done),
        Strategy::Manual | Strategy::Done => None,
    };
    let next = status.runs + 1;
    if let Some(job) = observed.job(next) {
        // Even if the configuration has changed: if this Job were deleted while another operator resets the trigger,
        // nothing would run.
        let reset = object.annotations().get(TRIGGER_RESET) == Some(&job_name(object, next)?);
        return Ok(match after_reset.filter(|_| !reset) {
            Some(strategy) => Step::ResetTrigger(strategy, next),
            None => Step::Begin(next, recorded_digest(job).map(str::to_string)),
        });
    }
    if let Some(generation) = object.metadata.generation.filter(|_| strategy == Strategy::Changed) {
        // Recorded first, so that who has set the trigger can tell this from a run.
        if status.skipped_generation == Some(generation) {
            return Ok(Step::ResetTrigger(Strategy::Manual, status.runs));
        }
        if status.completed && last.is_some() && digest == last {
            return Ok(Step::Skip(generation));
        }
    }
    if let Some(why) = &config.refused {
        return Ok(Step::Rest(State::Refused(why.clone())));
    }
    if after_reset.is_none() && !renews {
        return Ok(Step::Rest(State::Idle));
    }
    if !config.missing.is_empty() {
        let waiting = format!("waiting for {}", config.missing.join(", "));
        return Ok(Step::Rest(State::Waiting(waiting)));
    }
    // Its containers could write an older output after a newer one.
    if observed.pods.iter().any(is_alive) {
        let waiting = "waiting for the pods of the previous run".into();
        return Ok(Step::Rest(State::Waiting(waiting)));
    }
    Ok(Step::Create(next))
}

pub(crate) fn ending(job: &Job) -> Option<Ending> {
    let conditions = job.status.iter().flat_map(|status| &status.conditions).flatten();
    let mut holding = conditions.filter(|condition| condition.status == "True");
    holding.find_map(|condition| match condition.type_.as_str() {
        "Complete" => Some(Ending::Complete),
        "Failed" => Some(Ending::Failed),
        _ => None,
    })
}

fn is_deleted_after_success(job: &Job) -> bool {
    let template = job.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
    template.and_then(|metadata| label(metadata, DELETE)) == Some(DELETE_POD)
}

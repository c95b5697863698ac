//! Steps of a conversion as jobs in the cluster: each creates a QuarksJob once its input exists, and continues once its
//! output exists.

mod object;
mod plan;
mod pod;
mod pods;
#[cfg(test)]
mod tests;

use crate::codes;
pub use object::{Job, Rendering, Site, gathering, interpolation, rendering};
pub use pod::PodPlugins;

use super::act;
use super::error::{DeployError, DeployProblem};
use super::manifest::Manifest;
use super::observe;
use super::plan::documents::Stored;
use super::reconcile::Reconcile;
use boson_api::QuarksJob;
use boson_cluster::client::Error;
use boson_cluster::objects;
use boson_cluster::objects::versioned::Series;
use boson_manifest::labels;
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::pre_render_ops;
use k8s_openapi::api::batch::v1 as batch;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use plan::Todo;

/// The output of a job with a container for each group.
pub struct GroupOutputs {
    /// By group; none if its container failed.
    pub stored: Vec<Option<Stored>>,
    /// What is wrong with the others.
    pub problem: Option<DeployProblem>,
}

/// The output of a job, once it has ended; creates the job if needed. Adds its warnings to the manifest.
pub async fn output(
    run: &Reconcile<'_>,
    job: &Job,
    series: &[Series],
    manifest: &mut Manifest,
) -> Result<Vec<Stored>, DeployError> {
    let live: Option<QuarksJob> = run.context.cluster.get(run.namespace, &job.name).await?;
    if let Some(live) = &live {
        check_owner(run, live, manifest)?;
    }
    match plan::todo(live.as_ref(), &job.digest) {
        Todo::Done => finished(run, job, live, series, manifest).await,
        Todo::Make => {
            if has_earlier_run(run, job).await? {
                return Err(DeployError::Waiting(format!("an earlier run of {} to end", job.name)));
            }
            act::apply_typed(run, &job.object).await?;
            Err(waiting_error(job))
        }
        Todo::End => {
            if let Some(live) = &live {
                act::delete_typed(run, live).await?;
            }
            Err(DeployError::Waiting(format!("an earlier run of {} to end", job.name)))
        }
        Todo::Wait => Err(unfinished_error(run, job, None, manifest).await?),
        Todo::Failed(why) => Err(unfinished_error(run, job, Some(why), manifest).await?),
    }
}

/// The output of a job that has succeeded.
async fn finished(
    run: &Reconcile<'_>,
    job: &Job,
    live: Option<QuarksJob>,
    series: &[Series],
    manifest: &mut Manifest,
) -> Result<Vec<Stored>, DeployError> {
    let pods = pods(run, job).await?;
    let warnings = pods::newest(&pods, &job.digest).map(pods::warnings);
    let mut warnings = warnings.unwrap_or_default();
    pre_render_ops::in_manifest(&mut warnings, manifest.named());
    manifest.warnings.extend(warnings);
    let stored: Option<Vec<Stored>> = stored_output(run, job, series).await?.into_iter().collect();
    if let Some(stored) = stored {
        return Ok(stored);
    }
    // A Secret of its output was deleted: only another run restores it.
    if let Some(live) = live {
        act::delete_typed(run, &live).await?;
    }
    Err(waiting_error(job))
}

/// The output of a job by group: a container that fails does not affect the other groups.
pub async fn output_by_group(
    run: &Reconcile<'_>,
    job: &Job,
    series: &[Series],
    manifest: &mut Manifest,
) -> Result<GroupOutputs, DeployError> {
    match output(run, job, series, manifest).await {
        Ok(stored) => Ok(GroupOutputs {
            stored: stored.into_iter().map(Some).collect(),
            problem: None,
        }),
        Err(DeployError::Invalid(problem)) => {
            let stored = stored_output(run, job, series).await?;
            if stored.iter().any(Option::is_some) {
                let problem = Some(problem);
                Ok(GroupOutputs { stored, problem })
            } else {
                Err(DeployError::Invalid(problem))
            }
        }
        Err(error) => Err(error),
    }
}

/// The newest version of each series; none if it is not output of this run. Listed after the job has ended, so that
/// nothing is missing.
async fn stored_output(run: &Reconcile<'_>, job: &Job, series: &[Series]) -> Result<Vec<Option<Stored>>, DeployError> {
    let existing = observe::documents(run).await?;
    let mut written = Vec::new();
    for series in series {
        let newest = match series.newest(&existing) {
            Some(name) => observe::secret(run, name).await?,
            None => None,
        };
        let newest = newest.filter(|secret| plan::is_of_run(&secret.metadata, &job.digest));
        written.push(newest.map(|secret| Stored::new(series, secret)).transpose()?);
    }
    Ok(written)
}

/// Why a job has no output: its errors, or that it still runs. `failed`: the message of its condition Failed, if it has
/// given up.
async fn unfinished_error(
    run: &Reconcile<'_>,
    job: &Job,
    failed: Option<String>,
    manifest: &Manifest,
) -> Result<DeployError, Error> {
    let pods = pods(run, job).await?;
    let pod = pods::newest(&pods, &job.digest);
    let mut errors = pod.map(|pod| pods::errors(pod, failed.is_some())).unwrap_or_default();
    if !errors.is_empty() {
        pre_render_ops::in_manifest(&mut errors, manifest.named());
        return Ok(manifest.errors(errors));
    }
    if let Some(why) = failed {
        let message = format!("QuarksJob '{}' has failed: {why}", job.name);
        let error = Diagnostic::error(codes::DEPLOYMENT_JOB_FAILED, message);
        return Ok(manifest.error(error.help("delete the QuarksJob to try again")));
    }
    Ok(match pod.and_then(pods::unschedulable) {
        Some(why) => DeployError::Waiting(format!("{}: no node takes its pod: {why}", job.name)),
        None => waiting_error(job),
    })
}

/// Fails if the QuarksJob is not owned by this deployment.
fn check_owner(run: &Reconcile<'_>, live: &QuarksJob, manifest: &Manifest) -> Result<(), DeployError> {
    if objects::has_owner(live, &run.owner.uid) {
        return Ok(());
    }
    let message = format!("QuarksJob '{}' is not owned by this deployment", live.name_any());
    let error = Diagnostic::error(codes::DEPLOYMENT_JOB_CONFLICT, message);
    Err(manifest.error(error.help("delete it, or give the deployment another name")))
}

async fn pods(run: &Reconcile<'_>, job: &Job) -> Result<Vec<Pod>, Error> {
    run.context.cluster.list(run.namespace, &of_job(job)).await
}

async fn has_earlier_run(run: &Reconcile<'_>, job: &Job) -> Result<bool, Error> {
    let jobs: Vec<batch::Job> = run.context.cluster.list(run.namespace, &of_job(job)).await?;
    Ok(plan::has_earlier_run(&jobs, &pods(run, job).await?, &job.digest))
}

/// Labels of the Jobs and pods of a QuarksJob.
fn of_job(job: &Job) -> String {
    format!("{}={}", labels::QUARKS_JOB_NAME, job.name)
}

fn waiting_error(job: &Job) -> DeployError {
    DeployError::Waiting(format!("the job {}", job.name))
}

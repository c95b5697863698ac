//! Steps of a conversion as jobs in the cluster: each creates a QuarksJob once its input exists, and continues once its output exists.

mod object;
mod plan;
mod pod;
mod pods;

pub(super) use object::{Group, Job, Site, gathering, interpolation, rendering};
pub(super) use pod::PodPlugins;

use super::flow::Flow;
use super::manifest::Manifest;
use super::stop::{Stop, Wrong};
use super::stored::Kept;
use boson_api::QuarksJob;
use boson_cluster::client::{Error, resource};
use boson_cluster::objects;
use boson_cluster::objects::versioned::Series;
use boson_manifest::labels;
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::pre_render_ops;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use plan::Todo;

/// The output of a job with a container for each group.
pub(super) struct Left {
    /// By group; none if its container failed.
    pub kept: Vec<Option<Kept>>,
    /// What is wrong with the others.
    pub wrong: Option<Wrong>,
}

// === impl Flow ===

impl Flow<'_> {
    /// The output of a job, once it has ended; creates the job if needed. Adds its warnings to the manifest.
    pub(super) async fn by_job(
        &self,
        job: &Job,
        series: &[Series],
        manifest: &mut Manifest,
    ) -> Result<Vec<Kept>, Stop> {
        let live: Option<QuarksJob> = self.context.cluster.get(self.namespace, &job.name).await?;
        if let Some(live) = &live {
            self.must_be_ours(live, manifest)?;
        }
        match plan::todo(live.as_ref(), &job.digest) {
            Todo::Done => {}
            Todo::Make => {
                if self.lingers(job).await? {
                    return Err(Stop::Waiting(format!("an earlier run of {} to end", job.name)));
                }
                self.write(&job.object).await?;
                return Err(waiting(job));
            }
            Todo::End => {
                if let Some(live) = &live {
                    self.note_write();
                    self.context.cluster.delete(live).await?;
                }
                return Err(Stop::Waiting(format!("an earlier run of {} to end", job.name)));
            }
            Todo::Wait => return Err(self.unfinished(job, None, manifest).await?),
            Todo::Failed(why) => return Err(self.unfinished(job, Some(why), manifest).await?),
        }
        let pods = self.pods(job).await?;
        let warnings = pods::newest(&pods, &job.digest).map(pods::warnings);
        let mut warnings = warnings.unwrap_or_default();
        pre_render_ops::in_manifest(&mut warnings, manifest.named());
        manifest.warnings.extend(warnings);
        // Listed after the job has ended, so that nothing is missing.
        let existing = self.existing().await?;
        if let Some(kept) = self.newest(series, &existing).await?
            && plan::are_of_run(kept.iter().map(|one| &one.secret), &job.digest)
        {
            return Ok(kept);
        }
        // A Secret of its output was deleted: only another run restores it.
        if let Some(live) = live {
            self.note_write();
            self.context.cluster.delete(&live).await?;
        }
        Err(waiting(job))
    }

    /// The output of a job by group: a container that fails does not affect the other groups.
    pub(super) async fn by_job_each(
        &self,
        job: &Job,
        series: &[Series],
        manifest: &mut Manifest,
    ) -> Result<Left, Stop> {
        let wrong = match self.by_job(job, series, manifest).await {
            Ok(kept) => {
                return Ok(Left {
                    kept: kept.into_iter().map(Some).collect(),
                    wrong: None,
                });
            }
            Err(Stop::Wrong(wrong)) => wrong,
            Err(stop) => return Err(stop),
        };
        let existing = self.existing().await?;
        let mut kept = Vec::new();
        for one in series {
            let newest = self.newest(std::slice::from_ref(one), &existing).await?;
            let newest = newest.and_then(|mut kept| kept.pop());
            kept.push(newest.filter(|kept| plan::are_of_run(std::iter::once(&kept.secret), &job.digest)));
        }
        match kept.iter().any(Option::is_some) {
            true => Ok(Left {
                kept,
                wrong: Some(wrong),
            }),
            false => Err(Stop::Wrong(wrong)),
        }
    }

    /// The newest version of each series; none if one has none.
    async fn newest(&self, series: &[Series], existing: &[ObjectMeta]) -> Result<Option<Vec<Kept>>, Error> {
        let mut kept = Vec::new();
        for series in series {
            let Some(name) = series.newest(existing) else {
                return Ok(None);
            };
            let Some(secret) = self.secret(name).await? else {
                return Ok(None);
            };
            kept.push(Kept::new(series, secret));
        }
        Ok(Some(kept))
    }

    /// Why a job has no output: its errors, or that it still runs. `failed`: the message of its condition Failed, if it has given up.
    async fn unfinished(&self, job: &Job, failed: Option<String>, manifest: &Manifest) -> Result<Stop, Error> {
        let pods = self.pods(job).await?;
        let pod = pods::newest(&pods, &job.digest);
        let mut errors = pod.map(|pod| pods::errors(pod, failed.is_some())).unwrap_or_default();
        if !errors.is_empty() {
            pre_render_ops::in_manifest(&mut errors, manifest.named());
            return Ok(manifest.fail(errors));
        }
        if let Some(why) = failed {
            let message = format!("QuarksJob '{}' has failed: {why}", job.name);
            let error = Diagnostic::error("deployment-job-failed", message);
            return Ok(manifest.one(error.help("delete the QuarksJob to try again")));
        }
        Ok(match pod.and_then(pods::unplaced) {
            Some(why) => Stop::Waiting(format!("{}: no node takes its pod: {why}", job.name)),
            None => waiting(job),
        })
    }

    /// Fails if the QuarksJob is not owned by this deployment.
    fn must_be_ours(&self, live: &QuarksJob, manifest: &Manifest) -> Result<(), Stop> {
        if objects::has_owner(live, &self.owner.uid) {
            return Ok(());
        }
        let message = format!("QuarksJob '{}' is not owned by this deployment", live.name_any());
        let error = Diagnostic::error("deployment-job-taken", message);
        Err(manifest.one(error.help("delete it, or give the deployment another name")))
    }

    async fn pods(&self, job: &Job) -> Result<Vec<Pod>, Error> {
        self.context.cluster.list(self.namespace, &of_job(job)).await
    }

    async fn lingers(&self, job: &Job) -> Result<bool, Error> {
        let jobs = resource("batch/v1", "Job");
        let jobs = self
            .context
            .cluster
            .list_any(&jobs, self.namespace, &of_job(job))
            .await?;
        Ok(plan::lingers(&jobs, &self.pods(job).await?, &job.digest))
    }
}

/// Labels of the Jobs and pods of a QuarksJob.
fn of_job(job: &Job) -> String {
    format!("{}={}", labels::QUARKS_JOB_NAME, job.name)
}

fn waiting(job: &Job) -> Stop {
    Stop::Waiting(format!("the job {}", job.name))
}

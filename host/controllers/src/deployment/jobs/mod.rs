//! Steps of a conversion as jobs in the cluster: each makes a QuarksJob when its input is there, and goes on when its output is.

mod object;
mod plan;
mod pod;
mod pods;

pub(super) use object::{Group, Job, Site, gathering, interpolation, rendering};
pub(super) use pod::PodPlugins;

use super::flow::Flow;
use super::manifest::Manifest;
use super::steps::Kept;
use super::stop::{Stop, Wrong};
use crate::api::QuarksJob;
use crate::client::{Error, resource};
use crate::objects;
use crate::versioned::Series;
use boson_deployment::labels;
use boson_pipeline::Diagnostic;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use plan::Todo;

/// What a job with a container for each group left.
pub(super) struct Left {
    /// By group; none where its container failed.
    pub kept: Vec<Option<Kept>>,
    /// What is wrong with the others.
    pub wrong: Option<Wrong>,
}

// === impl Flow ===

impl Flow<'_> {
    /// What a job leaves, once it has. Its warnings go to the manifest.
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
            Todo::Wait => return Err(self.told(job, None, manifest).await?),
            Todo::Failed(why) => return Err(self.told(job, Some(why), manifest).await?),
        }
        let pods = self.pods(job).await?;
        let warnings = pods::newest(&pods, &job.digest).map(pods::warnings);
        manifest.warnings.extend(warnings.unwrap_or_default());
        // Listed after the job was seen to have ended, so that nothing is missing.
        let existing = self.existing().await?;
        if let Some(kept) = self.newest(series, &existing).await?
            && plan::are_of_run(kept.iter().map(|one| &one.secret), &job.digest)
        {
            return Ok(kept);
        }
        // Somebody deleted a Secret of it: only another run brings it back.
        if let Some(live) = live {
            self.note_write();
            self.context.cluster.delete(&live).await?;
        }
        Err(waiting(job))
    }

    /// What a job leaves for each of its groups: one whose container fails does not affect the others.
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

    /// What keeps a job from its end: what is wrong, or that it takes its time. `failed`: what its condition says, where it has given up.
    async fn told(&self, job: &Job, failed: Option<String>, manifest: &Manifest) -> Result<Stop, Error> {
        let pods = self.pods(job).await?;
        let pod = pods::newest(&pods, &job.digest);
        let errors = pod.map(|pod| pods::errors(pod, failed.is_some())).unwrap_or_default();
        if !errors.is_empty() {
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

    /// An object of somebody else's is not taken over.
    fn must_be_ours(&self, live: &QuarksJob, manifest: &Manifest) -> Result<(), Stop> {
        if objects::has_owner(live, &self.owner.uid) {
            return Ok(());
        }
        let message = format!("QuarksJob '{}' is not this deployment's", live.name_any());
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

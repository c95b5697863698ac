//! Observes the state; reads only. All reads are quorum reads, because a stale one could start a run twice.

mod config;
pub(super) mod references;

pub(super) use config::Config;

use super::run::{CONFIG_DIGEST, QUARKS_JOB};
use boson_api::QuarksJob;
use boson_api::job::Strategy;
use boson_cluster::client::{Cluster, Error, Identity};
use boson_cluster::objects::{self, annotation};
use boson_cluster::reconcile::Interest;
use boson_manifest::labels::{self, RUN};
use boson_manifest::names::{MAX_LABEL_LENGTH, cut};
use config::config;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use references::{references, topic};

#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Its Jobs by the number of the run.
    pub jobs: Vec<(i64, Job)>,
    /// The pods of these Jobs.
    pub pods: Vec<Pod>,
    /// The configuration of the next run; empty if it is not needed.
    pub config: Config,
    /// Messages of containers with this image can be shown.
    pub operator_image: String,
}

// === impl Observed ===

impl Observed {
    pub(super) fn job(&self, number: i64) -> Option<&Job> {
        let found = self.jobs.iter().find(|(run, _)| *run == number);
        found.map(|(_, job)| job)
    }
}

/// The configuration digest of a Job.
pub(super) fn recorded_digest(job: &Job) -> Option<&str> {
    annotation(&job.metadata, CONFIG_DIGEST)
}

/// Reads the state. References are noted in `interest` before they are read, so that no later change is missed.
///
/// # Errors
/// See [`Error`].
pub(super) async fn observe(
    cluster: &Cluster,
    interest: &Interest,
    object: &QuarksJob,
    operator_image: &str,
) -> Result<Observed, Error> {
    let Identity { namespace, name, uid } = Identity::of(object)?;
    let template = object.spec.template.members();
    let references = references(&template);
    let topics = references
        .iter()
        .map(|one| (namespace.to_string(), topic(one.kind, &one.name)));
    interest.note(namespace, name, topics);

    let label = format!("{}={}", labels::QUARKS_JOB_NAME, cut(name, "", MAX_LABEL_LENGTH));
    let jobs: Vec<Job> = cluster.list(namespace, &label).await?;
    let mut observed = Observed {
        jobs: jobs.into_iter().filter_map(|job| numbered_job(job, uid)).collect(),
        operator_image: operator_image.into(),
        ..Observed::default()
    };
    if is_wanted(object) || is_renewed(object) {
        observed.config = config(cluster, object, &template, references).await?;
    }
    if !observed.jobs.is_empty() || may_run(object, &observed) {
        let pods: Vec<Pod> = cluster.list(namespace, &label).await?;
        observed.pods = pods
            .into_iter()
            .filter(|pod| pod.annotations().get(QUARKS_JOB).is_some_and(|job| job == name))
            .collect();
    }
    Ok(observed)
}

/// Whether it reruns when its configuration changes.
pub(super) fn is_renewed(object: &QuarksJob) -> bool {
    let strategy = object.spec.trigger.strategy;
    object.spec.update_on_config_change && matches!(strategy, Strategy::Once | Strategy::Done)
}

fn is_wanted(object: &QuarksJob) -> bool {
    matches!(
        object.spec.trigger.strategy,
        Strategy::Now | Strategy::Changed | Strategy::Once
    )
}

/// Whether its pods matter: a run may be about to begin.
fn may_run(object: &QuarksJob, observed: &Observed) -> bool {
    let digest = observed.config.digest.as_ref();
    let last = object.status.as_ref().and_then(|status| status.config_digest.as_ref());
    is_wanted(object) || digest.is_some() && digest != last
}

fn numbered_job(job: Job, owner: &str) -> Option<(i64, Job)> {
    let ours = objects::has_owner(&job, owner);
    let number = job.annotations().get(RUN)?.parse().ok()?;
    (ours && job.metadata.deletion_timestamp.is_none()).then_some((number, job))
}

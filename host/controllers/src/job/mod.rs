//! The controller of QuarksJobs: a Job for each run, one run at a time, with the result in the status.

mod account;
mod act;
mod desired;
mod error;
mod failure;
mod garbage;
mod marks;
mod observe;
mod output;
mod plan;
mod references;
mod status;
mod template;
mod watch;

#[cfg(test)]
mod made;
#[cfg(test)]
mod tests;

use act::{Creation, MANAGER};
use boson_api::QuarksJob;
use boson_api::job::QuarksJobStatus;
use boson_cluster::client::{Cluster, Error, ErrorKind, Events, Identity};
use boson_cluster::namespaces::Scope;
use boson_cluster::reconcile::Interest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use observe::{Observed, is_renewed, observe};
use plan::{Step, plan};
use status::State;
use std::time::Duration;

pub(crate) use watch::run;

/// Most writes in one reconcile: a run that follows another needs six.
const MAX_WRITES: usize = 12;
/// After a lost race.
const CONFLICT_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Requeue interval if no watch event announces a change.
const REQUEUE_INTERVAL: Duration = Duration::from_secs(15);

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    interest: Interest,
    scope: Scope,
    operator_image: String,
    keep_versions: usize,
}

// === impl Context ===

impl Context {
    /// `instance`: name of this process. `operator_image`: has `host util persist-output`. `keep_versions`: how many
    /// versions of output to retain beside the newest.
    pub fn new(cluster: Cluster, scope: Scope, operator_image: String, keep_versions: usize, instance: &str) -> Self {
        Self {
            events: Events::new(cluster.clone(), MANAGER, instance),
            interest: Interest::default(),
            cluster,
            scope,
            operator_image,
            keep_versions,
        }
    }

    /// Reconciles one object. It comes from a cache, so it is read again first.
    ///
    /// # Errors
    /// A call to the API server that failed; the object is requeued.
    async fn reconcile(&self, cached: &QuarksJob) -> Result<Action, Error> {
        let Identity { namespace, name, .. } = Identity::of(cached)?;
        if cached.metadata.deletion_timestamp.is_some() || !self.scope.holds(namespace) {
            self.interest.forget((namespace, name));
            return Ok(Action::await_change());
        }
        for _ in 0..MAX_WRITES {
            let object: Option<QuarksJob> = self.cluster.get(namespace, name).await?;
            let Some(object) = object.filter(|object| object.metadata.deletion_timestamp.is_none()) else {
                return Ok(Action::await_change());
            };
            match self.step(&object).await {
                Ok(None) => {}
                Ok(Some(action)) => return Ok(action),
                // An object changed after it was read; the next reconcile decides from its new state.
                Err(error) if error.is_race() => return Ok(Action::requeue(CONFLICT_RETRY_DELAY)),
                Err(error) => return Err(error),
            }
        }
        Ok(Action::requeue(CONFLICT_RETRY_DELAY))
    }

    /// One step. None: plan again.
    async fn step(&self, object: &QuarksJob) -> Result<Option<Action>, Error> {
        let observed = observe(&self.cluster, &self.interest, object).await?;
        match plan(object, &observed, &self.operator_image)? {
            Step::Create(number) => return self.create(object, &observed, number).await,
            Step::ResetTrigger(strategy, number) => act::reset_trigger(&self.cluster, object, strategy, number).await?,
            Step::Begin(number, digest) => {
                let count = |status: &mut QuarksJobStatus| {
                    status.runs = number;
                    status.config_digest = digest;
                };
                self.report(object, &State::Running(None), count).await?;
            }
            Step::Start(job) => act::start(&self.cluster, object, &job).await?,
            Step::End(state) => {
                if state == State::Succeeded {
                    self.collect_garbage(object).await;
                }
                let end = |status: &mut QuarksJobStatus| status.ended_runs = status.runs;
                self.report(object, &state, end).await?;
            }
            Step::Delete(job) => self.cluster.delete(&*job).await?,
            Step::Rest(state) => {
                self.report(object, &state, |status| baseline(object, &observed, status))
                    .await?;
                return Ok(Some(Action::await_change()));
            }
        }
        Ok(None)
    }

    /// Runs before the end is recorded, so that a crash in between leaves nothing undone.
    async fn collect_garbage(&self, object: &QuarksJob) {
        if let Err(error) = garbage::collect(&self.cluster, object, self.keep_versions).await {
            // The run has succeeded anyway, and the next one retries.
            tracing::warn!(%error, "cannot delete old versions of output");
        }
    }

    async fn create(&self, object: &QuarksJob, observed: &Observed, number: i64) -> Result<Option<Action>, Error> {
        let Some(config) = &observed.config else {
            return Ok(None);
        };
        let (state, action) = match act::create(&self.cluster, object, config, number, &self.operator_image).await {
            Ok(Creation::Made) => return Ok(None),
            Ok(Creation::Waiting(what)) => (State::Waiting(what), Ok(Some(Action::requeue(REQUEUE_INTERVAL)))),
            Ok(Creation::Refused(why)) => (State::Refused(why), Ok(Some(Action::await_change()))),
            // The cause may be the template, a quota, a policy or the operator's role: retry later.
            Err(error) if matches!(error.kind, ErrorKind::Refused(_) | ErrorKind::Forbidden) => {
                (State::Refused(error.to_string()), Err(error))
            }
            Err(error) => return Err(error),
        };
        self.report(object, &state, |_| {}).await?;
        action
    }

    /// Writes the status if it has changed, and emits events for what is new.
    async fn report(
        &self,
        object: &QuarksJob,
        state: &State,
        change: impl FnOnce(&mut QuarksJobStatus),
    ) -> Result<(), Error> {
        let now = Time(Timestamp::now());
        let Some((status, notices)) = status::status(object, state, change, &now) else {
            return Ok(());
        };
        self.cluster.set_status(MANAGER, object, &status).await?;
        for notice in notices {
            if let Err(error) = self.events.emit(object, &notice).await {
                // A lost event has no effect.
                tracing::warn!(%error, "cannot write an event");
            }
        }
        Ok(())
    }
}

/// Records the digest that later changes are compared with, if no run has.
fn baseline(object: &QuarksJob, observed: &Observed, status: &mut QuarksJobStatus) {
    let digest = observed.config.as_ref().and_then(|config| config.digest.clone());
    let done = object.spec.trigger.strategy == boson_api::job::Strategy::Done;
    if done && is_renewed(object) && status.config_digest.is_none() {
        status.config_digest = digest;
    }
}

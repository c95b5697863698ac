//! The controller of QuarksJobs: a Job for each run, one run at a time, with the result in the status.

#[expect(clippy::disallowed_methods, reason = "it is the part that writes")]
mod act;
mod observe;
mod plan;
mod run;
mod status;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use plan::{ending, is_alive};

use crate::controller::{AnyController, Controller, Next, Planned, Report, Watched};
use act::{MANAGER, Reached};
use boson_api::QuarksJob;
use boson_api::job::QuarksJobStatus;
use boson_cluster::client::{Cluster, Error, Events, Identity};
use boson_cluster::reconcile::Interest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use observe::Observed;
use plan::Step;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

struct Context {
    cluster: Cluster,
    events: Events,
    interest: Interest,
    operator_image: String,
    keep_versions: usize,
}

/// `instance`: name of this process. `operator_image`: has `host util persist-output`. `keep_versions`: how many
/// versions of output to retain beside the newest.
pub(crate) fn controller(
    cluster: Cluster,
    operator_image: String,
    keep_versions: usize,
    instance: &str,
) -> Arc<dyn AnyController> {
    Arc::new(Context {
        events: Events::new(cluster.clone(), MANAGER, instance),
        interest: Interest::default(),
        cluster,
        operator_image,
        keep_versions,
    })
}

// === impl Context ===

/// Each pass writes once.
impl Controller for Context {
    const NAME: &'static str = "quarks-job";
    /// A run that follows another needs six.
    const MAX_PASSES: usize = 12;
    /// A cached state could start a run twice.
    const READS_OBJECT: bool = true;

    type Object = QuarksJob;
    type Observed = Observed;
    type Need = Infallible;
    type Plan = Step;
    type Outcome = Option<Reached>;
    type Status = QuarksJobStatus;

    fn events(&self) -> &Events {
        &self.events
    }

    fn watch(self: &Arc<Self>, namespace: &Option<String>) -> Watched<QuarksJob> {
        watch::watch(self, namespace)
    }

    async fn observe(&self, object: &QuarksJob) -> Result<ControlFlow<Action, Self::Observed>, Error> {
        let observed = observe::observe(&self.cluster, &self.interest, object, &self.operator_image).await?;
        Ok(ControlFlow::Continue(observed))
    }

    fn plan(object: &QuarksJob, observed: &Observed, _: Timestamp) -> Result<Planned<Self>, Error> {
        plan::plan(object, observed).map(Planned::Act)
    }

    async fn act(&self, object: &Arc<QuarksJob>, observed: Observed, step: Step) -> Result<Option<Reached>, Error> {
        act::act(self, object, &observed, step).await
    }

    fn status(object: &QuarksJob, outcome: Option<Reached>, now: Timestamp) -> Report<Self> {
        let Some(Reached { state, status, next }) = outcome else {
            return Report::next(Next::Pass(None));
        };
        let (status, events_after) = status::status(object, &state, status, &Time(now)).unzip();
        Report {
            status,
            events_after: events_after.unwrap_or_default(),
            ..Report::next(next)
        }
    }

    /// What it refers to does not requeue it any more.
    async fn unserved(&self, object: &QuarksJob) -> Result<(), Error> {
        let Identity { namespace, name, .. } = Identity::of(object)?;
        self.interest.forget(namespace, name);
        Ok(())
    }

    fn forget(&self, namespace: &str, name: &str) {
        self.interest.forget(namespace, name);
    }
}

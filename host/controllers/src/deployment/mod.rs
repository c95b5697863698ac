//! The controller of BOSHDeployments: from the manifest and what changes it to the objects of the deployment. Its plan
//! is whether a conversion is due, and to carry it out takes more parts, which `deploy` calls:
//!
//! 1. `inputs` reads the documents, the values of variables and the releases.
//! 2. `conversion` calls the steps of the conversion, in this process or as `jobs` in the cluster. `act` stores the
//!    result of each step in Secrets.
//! 3. `observe` reads the objects of the deployment, `plan` decides what to write, and `act` carries that out.
//!
//! `memory` holds what the process remembers between two reconciles.

#[expect(clippy::disallowed_methods, reason = "it is the part that writes")]
mod act;
mod context;
mod conversion;
mod deploy;
mod error;
mod inputs;
mod jobs;
mod manifest;
mod memory;
mod observe;
mod plan;
mod progress;
mod reconcile;
mod status;
mod watch;

use crate::controller::{Controller, Next, Planned, Report, Watched};
use boson_api::deployment::ConversionMode;
use boson_api::{BoshDeployment, BoshDeploymentStatus};
use boson_cluster::client::{Error, Events, NamespacedName, written};
use boson_pipeline::convert::is_skipped_check;
use boson_plugins::{Pick, PluginProblem};
use deploy::deploy;
use error::DeployError;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use memory::{Due, FALLBACK_INTERVAL};
use observe::plugins::Resolution;
use observe::snapshot::Snapshot;
use progress::Progress;
use reconcile::Reconcile;
use status::{Done, Observed, Outcome};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use context::Context;
pub use context::Conversion;
pub(crate) use conversion::check::Checked;
pub(crate) use inputs::digest_now;
pub(crate) use plan::variables::retention::outlives_deployment;
pub(crate) use plan::variables::variable_of;

/// How long the watch events of our own writes may take.
const EVENT_DELAY: Duration = Duration::from_secs(1);
/// Until the next try for a deployment whose namespace already uses its half of the slots.
const SLOT_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Between two reads of documents on web servers.
const DOCUMENT_REREAD_INTERVAL: Duration = Duration::from_secs(180);

/// What may have changed since the last conversion.
pub struct Changes {
    resolution: Resolution,
    /// None: the cache cannot tell.
    snapshot: Option<Snapshot>,
    due: Due,
}

pub enum Ended {
    /// The deployment has its first status; none: it has changed since it was read.
    New(Option<Arc<BoshDeployment>>),
    /// It is reconciled again after this time.
    Postponed(Duration),
    Observed(Box<Observed>, Action),
}

/// The end of a conversion, or of a reconcile that needed none.
#[derive(Default)]
struct Converted {
    observed: Observed,
    /// When to retry without a watch event.
    retry: Option<Duration>,
    /// What the cache shows once it has the events of our own writes.
    expected: Option<Snapshot>,
}

impl Controller for Context {
    const NAME: &'static str = "deployment";
    /// The first one sets the status of a new deployment.
    const MAX_PASSES: usize = 2;
    const CONFLICT_RETRY_DELAY: Duration = Duration::from_secs(1);

    type Object = BoshDeployment;
    /// None: the deployment is new.
    type Observed = Option<Changes>;
    type Need = Infallible;
    /// Whether to convert.
    type Plan = Due;
    type Outcome = Ended;
    type Status = BoshDeploymentStatus;

    fn events(&self) -> &Events {
        &self.events
    }

    fn watch(self: &Arc<Self>, namespace: &Option<String>) -> Watched<BoshDeployment> {
        watch::watch(self, namespace)
    }

    async fn observe(&self, object: &BoshDeployment) -> Result<ControlFlow<Action, Self::Observed>, Error> {
        if object.status.is_none() {
            return Ok(ControlFlow::Continue(None));
        }
        let key = key(object);
        let (schedule, version) = (&self.memory.schedule, object.metadata.resource_version.as_ref());
        if schedule.is_replaced(&key, version) {
            return Ok(ControlFlow::Break(Action::await_change()));
        }
        let Some(resolution) = observe::plugins::resolve(self, object, &key.0) else {
            // The plugins are not listed yet; their watch event requeues the deployment. A restart alone writes
            // nothing.
            return Ok(ControlFlow::Break(Action::requeue(FALLBACK_INTERVAL)));
        };
        let snapshot = observe::snapshot::snapshot(self, object, &resolution).await;
        let due = |snapshot: &Snapshot| schedule.due(&key, snapshot.digest(), Instant::now());
        let mut due = snapshot.as_ref().map_or(Due::Now, due);
        if due == Due::Nothing && observe::rollouts::has_postponed(self, object, &key).await? {
            due = Due::Now;
        }
        Ok(ControlFlow::Continue(Some(Changes {
            resolution,
            snapshot,
            due,
        })))
    }

    fn plan(_: &BoshDeployment, observed: &Option<Changes>, _: Timestamp) -> Result<Planned<Self>, Error> {
        let due = observed.as_ref().map_or(Due::Now, |changes| changes.due);
        Ok(Planned::Act(due))
    }

    async fn act(&self, object: &Arc<BoshDeployment>, observed: Option<Changes>, due: Due) -> Result<Ended, Error> {
        let key = key(object);
        let Some(changes) = observed else {
            let written = act::status::write_created(self, object).await?;
            return Ok(Ended::New(written.map(Arc::new)));
        };
        if due != Due::Nothing && act::pause::pause_groups(self, object, &key.0).await? {
            // The events of these writes requeue it.
            return Ok(Ended::Postponed(EVENT_DELAY));
        }
        let mut ended = match due {
            Due::Nothing => Converted {
                observed: observe::unchanged_state(self, object, &key, changes.resolution).await?,
                ..Converted::default()
            },
            Due::In(pause) => return Ok(Ended::Postponed(pause)),
            Due::Now => {
                let plugin_problems = changes.resolution.plugin_problems.clone();
                let plugin_problems = self.memory.with_failed(&key, plugin_problems);
                let Some(slot) = self.slots.acquire(&key.0, Instant::now()) else {
                    // It is converted as soon as another one of its namespace is done.
                    return Ok(Ended::Postponed(SLOT_RETRY_DELAY));
                };
                let converted = self.convert(object, &key, changes.snapshot, changes.resolution).await;
                drop(slot);
                if let Err(error) = &converted
                    && !error.is_race()
                {
                    act::status::report_delay(self, object, error, plugin_problems).await;
                }
                converted?
            }
        };
        if let Some(expected) = ended.expected {
            // Else the watch events of our own writes would count as changes.
            self.cache
                .wait_for(&expected.selector, &expected.digests, EVENT_DELAY)
                .await;
        }
        ended.observed.post_deploy = act::post_deploy::start(self, object, &ended.observed, &key.0).await?;
        let next = self.requeue(object, &key, ended.retry);
        Ok(Ended::Observed(Box::new(ended.observed), next))
    }

    fn status(object: &BoshDeployment, ended: Ended, now: Timestamp) -> Report<Self> {
        match ended {
            Ended::New(Some(written)) => Report::next(Next::Pass(Some(written))),
            // It has changed: its watch event requeues it.
            Ended::New(None) => Report::next(Next::Wait(Action::await_change())),
            Ended::Postponed(pause) => Report::next(Next::Wait(Action::requeue(pause))),
            Ended::Observed(observed, next) => {
                let now = Time(now);
                let old = object.status.clone().unwrap_or_else(|| status::created(&now));
                Report {
                    events_before: plan::events::problem_notices(&observed),
                    status: Some(status::after(&old, &observed, &now)),
                    ..Report::next(Next::Wait(next))
                }
            }
        }
    }

    async fn write_status(&self, object: &BoshDeployment, status: &BoshDeploymentStatus) -> Result<(), Error> {
        act::status::write(self, object, status, &key(object)).await
    }

    async fn unserved(&self, object: &BoshDeployment) -> Result<(), Error> {
        act::status::report_unserved(self, object, &key(object).0).await
    }

    fn forget(&self, namespace: &str, name: &str) {
        let key = (namespace.into(), name.into());
        self.memory.forget(&key);
        act::status::count(self, &key, None);
    }
}

// === impl Context ===

impl Context {
    /// When to reconcile again without a watch event. `retry`: when to retry the conversion.
    fn requeue(&self, object: &BoshDeployment, key: &NamespacedName, retry: Option<Duration>) -> Action {
        match (retry, observe::snapshot::on_the_web(&object.spec)) {
            (Some(retry), _) => Action::requeue(retry),
            // No event announces that garbage can be collected, or that a group can roll.
            (None, _) if self.memory.postponed.of(key) || observe::rollouts::has_outdated_groups(self, object) => {
                Action::requeue(FALLBACK_INTERVAL)
            }
            (None, true) => Action::requeue(DOCUMENT_REREAD_INTERVAL),
            (None, false) => Action::await_change(),
        }
    }

    /// Converts, and remembers the snapshot and the outcome.
    async fn convert(
        &self,
        object: &BoshDeployment,
        key: &NamespacedName,
        snapshot: Option<Snapshot>,
        resolution: Resolution,
    ) -> Result<Converted, Error> {
        self.cluster.metrics().conversions.inc();
        let schedule = &self.memory.schedule;
        schedule.record_begin(key);
        let (observed, written) = written::during(self.deploy_and_observe(object, key, resolution)).await;
        let (observed, snapshot) = match (observed, snapshot) {
            (Ok(observed), Some(snapshot)) if is_final(object, &observed.outcome) => {
                (observed, snapshot.after(&written))
            }
            (observed, _) => {
                schedule.forget_outcome(key);
                return observed.map(|observed| Converted {
                    retry: (observed.outcome != Outcome::Applied).then_some(FALLBACK_INTERVAL),
                    observed,
                    expected: None,
                });
            }
        };
        let has_failed = observed.outcome != Outcome::Applied;
        Ok(Converted {
            observed,
            retry: schedule.record_end(key, snapshot.digest(), has_failed, Instant::now()),
            expected: (!written.is_empty()).then_some(snapshot),
        })
    }

    /// Converts the deployment, and observes the result.
    async fn deploy_and_observe(
        &self,
        object: &BoshDeployment,
        key: &NamespacedName,
        resolution: Resolution,
    ) -> Result<Observed, Error> {
        let (progress, namespace) = (Progress::default(), key.0.as_str());
        let active = resolution.active;
        let (plugins, picks) = match &active {
            Ok(active) => (active.resolved.uses.clone(), active.picks.clone()),
            Err(_) => (Vec::new(), Vec::new()),
        };
        let result = async { deploy(&Reconcile::new(self, object, namespace, active?, &progress)?).await };
        let result = result.await;
        self.note_failures(key, &result, &picks);
        let warned = match &result {
            Ok(done) => act::events::warn(self, object, &done.warnings).await,
            Err(_) => object.status.as_ref().and_then(|status| status.warned.clone()),
        };
        let observed = Observed::after(object.meta().generation, result, &progress.known())?;
        let groups = observe::groups(self, object, namespace).await?;
        Ok(Observed {
            wrote: written::any(),
            ready: groups.ready,
            group_problems: groups.group_problems,
            rollouts: groups.rollouts,
            errands: Some(observe::errands(self, object, namespace).await?),
            warned,
            plugins,
            plugin_problems: self.memory.with_failed(key, resolution.plugin_problems),
            loading: resolution.loading,
            ..observed
        })
    }

    /// Remembers which plugins have failed. A conversion that ends for another reason says nothing about them.
    fn note_failures(&self, key: &NamespacedName, result: &Result<Done, DeployError>, picks: &[Pick]) {
        let (skipped, problem) = match result {
            Ok(done) => (done.warnings.as_slice(), done.held_back.as_ref()),
            Err(DeployError::Invalid(problem)) if !problem.failed_plugins.is_empty() => (&[][..], Some(problem)),
            Err(_) => return,
        };
        let skipped = skipped
            .iter()
            .filter(|one| is_skipped_check(one))
            .map(PluginProblem::of_failed);
        let stopped = problem.into_iter().flat_map(|one| one.failed_plugins.iter().cloned());
        let failures: Vec<PluginProblem> = skipped.chain(stopped).collect();
        self.plugins.tried(picks, key, &failures, result.is_ok());
        self.memory.failed.set(key, failures);
    }
}

/// Whether the conversion reached a state that only a change in the cluster can alter. What pods still work on can
/// change without one.
fn is_final(object: &BoshDeployment, outcome: &Outcome) -> bool {
    let mode = object.spec.conversion.as_ref().map(|conversion| conversion.mode);
    match outcome {
        Outcome::Applied => true,
        Outcome::Waiting(_) => false,
        Outcome::Partly(_) | Outcome::Invalid(_) | Outcome::Refused(_) => mode == Some(ConversionMode::InProcess),
    }
}

fn key(object: &BoshDeployment) -> NamespacedName {
    (object.namespace().unwrap_or_default(), object.name_any())
}

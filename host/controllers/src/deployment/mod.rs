//! The controller of BOSHDeployments: from the manifest and what changes it to the objects of the deployment. A
//! reconcile goes through these parts:
//!
//! 1. `watch` requeues the deployments that a change concerns.
//! 2. `observe` reads the state of the cluster; `memory` decides by its digest whether a conversion is due. `deploy`
//!    does the rest, up to `act`:
//! 3. `inputs` reads the documents, the values of variables and the releases.
//! 4. `conversion` calls the steps of the conversion, in this process or as `jobs` in the cluster. Each step stores its
//!    result in Secrets.
//! 5. `plan` decides what to write. It is pure: no client, no clock, nothing to await.
//! 6. `act` carries out the plan: nothing else writes to the cluster.
//! 7. `status` computes the status and its conditions. It is pure, too.

#![allow(
    clippy::result_large_err,
    reason = "errors are diagnostics, as everywhere in the pipeline, and rare"
)]

mod act;
mod context;
mod conversion;
mod deploy;
mod inputs;
mod jobs;
mod manifest;
mod memory;
mod observe;
mod plan;
mod progress;
mod reconcile;
mod status;
mod stop;
mod watch;

#[cfg(test)]
mod parts;

use boson_api::BoshDeployment;
use boson_api::deployment::ConversionMode;
use boson_cluster::client::{Error, written};
use boson_pipeline::convert::is_skipped_check;
use boson_plugins::PluginProblem;
use deploy::deploy;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use memory::{Due, FALLBACK_INTERVAL, Key};
use observe::plugins::Resolution;
use observe::snapshot::Snapshot;
use progress::Progress;
use reconcile::Reconcile;
use status::{Done, Observed, Outcome};
use std::time::{Duration, Instant};
use stop::Stop;

pub(crate) use context::Context;
pub use context::Conversion;
pub(crate) use conversion::check::Checked;
pub(crate) use inputs::digest_now;
pub(crate) use plan::retention::stays;
pub(crate) use plan::variables::variable_of;
pub(crate) use watch::run;

/// How long the watch events of our own writes may take.
const EVENT_DELAY: Duration = Duration::from_secs(1);
/// Until the next try for a deployment whose namespace already uses its half of the places.
const PLACE_RETRY_DELAY: Duration = Duration::from_secs(1);
/// After a lost race.
const CONFLICT_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Between two reads of documents on web servers.
const DOCUMENT_REREAD_INTERVAL: Duration = Duration::from_secs(180);

/// The end of a conversion, or of a reconcile that needed none.
struct Converted {
    observed: Observed,
    /// When to retry without a watch event.
    retry: Option<Duration>,
    /// What the cache shows once it has the events of our own writes.
    expected: Option<Snapshot>,
}

impl From<Observed> for Converted {
    fn from(observed: Observed) -> Self {
        Self {
            observed,
            retry: None,
            expected: None,
        }
    }
}

// === impl Context ===

impl Context {
    /// Reconciles one deployment, and reports its status.
    ///
    /// # Errors
    /// A call to the API server that failed; the object is requeued.
    pub(crate) async fn reconcile(&self, object: &BoshDeployment) -> Result<Action, Error> {
        if object.meta().deletion_timestamp.is_some() {
            // Kubernetes deletes the objects through their owner references.
            return Ok(Action::await_change());
        }
        let namespace = object.namespace().unwrap_or_default();
        if !self.scope.holds(&namespace) {
            act::status::unserved(self, object, &namespace).await?;
            return Ok(Action::await_change());
        }
        let first = act::status::created(self, object).await?;
        let object = first.as_ref().unwrap_or(object);
        let key = (namespace, object.name_any());
        let version = object.meta().resource_version.as_ref();
        if self.memory.schedule.is_replaced(&key, version) {
            return Ok(Action::await_change());
        }
        let Some(resolution) = observe::plugins::resolve(self, object, &key.0) else {
            // The plugins are not listed yet; their watch event requeues the deployment. A restart alone writes
            // nothing.
            return Ok(Action::requeue(FALLBACK_INTERVAL));
        };
        let snapshot = observe::snapshot::snapshot(self, object, &resolution).await;
        let plugin_problems = self.memory.failed.with(&key, resolution.plugin_problems.clone());
        let Converted {
            mut observed,
            retry,
            expected,
        } = match self.due(object, &key, snapshot.as_ref()).await? {
            Due::Nothing => observe::unchanged(self, object, &key.0, resolution).await?.into(),
            Due::In(pause) => return Ok(Action::requeue(pause)),
            Due::Now => match self.in_slot(object, &key, snapshot, resolution).await {
                Ok(Some(converted)) => converted,
                // It is converted as soon as another one of its namespace is done.
                Ok(None) => return Ok(Action::requeue(PLACE_RETRY_DELAY)),
                // A lost race is no error: the next reconcile decides from the state that it reads.
                Err(error) if error.is_race() => return Ok(Action::requeue(CONFLICT_RETRY_DELAY)),
                Err(error) => {
                    act::status::delayed(self, object, &error, plugin_problems).await;
                    return Err(error);
                }
            },
        };
        if let Some(expected) = expected {
            // Else the watch events of our own writes would count as changes.
            self.cache
                .wait_for(&expected.selector, &expected.digests, EVENT_DELAY)
                .await;
        }
        observed.post_deploy = act::post_deploy::start(self, object, &observed, &key.0).await?;
        act::events::emit(self, object, &observed).await;
        act::status::report(self, object, &observed, &key).await?;
        Ok(self.requeue(object, &key, retry))
    }

    /// When to reconcile again without a watch event. `retry`: when to retry the conversion.
    fn requeue(&self, object: &BoshDeployment, key: &Key, retry: Option<Duration>) -> Action {
        match (retry, observe::snapshot::on_the_web(&object.spec)) {
            (Some(retry), _) => Action::requeue(retry),
            (None, _) if self.has_postponed(object, key) => Action::requeue(FALLBACK_INTERVAL),
            (None, true) => Action::requeue(DOCUMENT_REREAD_INTERVAL),
            (None, false) => Action::await_change(),
        }
    }

    /// Whether to convert now. No event announces that garbage can be collected, or that a group can roll: both are
    /// polled.
    async fn due(&self, object: &BoshDeployment, key: &Key, snapshot: Option<&Snapshot>) -> Result<Due, Error> {
        let due = snapshot.map_or(Due::Now, |snapshot| {
            self.memory.schedule.due(key, snapshot.digest(), Instant::now())
        });
        Ok(match due {
            Due::Nothing
                if observe::rollouts::has_free_garbage(self, key).await?
                    || observe::rollouts::can_roll(self, object, key) =>
            {
                Due::Now
            }
            due => due,
        })
    }

    /// Whether something is left to do that no event announces.
    fn has_postponed(&self, object: &BoshDeployment, key: &Key) -> bool {
        self.memory.postponed.holds(key) || observe::rollouts::rolls_later(self, object)
    }

    /// Converts, if its namespace has a free slot.
    async fn in_slot(
        &self,
        object: &BoshDeployment,
        key: &Key,
        snapshot: Option<Snapshot>,
        resolution: Resolution,
    ) -> Result<Option<Converted>, Error> {
        match self.slots.acquire(&key.0, Instant::now()) {
            Some(_slot) => self.converted(object, key, snapshot, resolution).await.map(Some),
            None => Ok(None),
        }
    }

    /// Converts, and remembers the snapshot and the outcome.
    async fn converted(
        &self,
        object: &BoshDeployment,
        key: &Key,
        snapshot: Option<Snapshot>,
        resolution: Resolution,
    ) -> Result<Converted, Error> {
        self.cluster.metrics().conversions.inc();
        let schedule = &self.memory.schedule;
        let (observed, written) = written::during(self.deployed(object, key, resolution)).await;
        let (observed, snapshot) = match (observed, snapshot) {
            (Ok(observed), Some(snapshot)) if ends(object, &observed.outcome) => (observed, snapshot.after(&written)),
            (observed, _) => {
                schedule.open(key);
                return observed.map(|observed| Converted {
                    retry: (observed.outcome != Outcome::Applied).then_some(FALLBACK_INTERVAL),
                    ..observed.into()
                });
            }
        };
        let retry = match observed.outcome {
            Outcome::Applied => {
                schedule.good(key, snapshot.digest(), Instant::now());
                None
            }
            _ => Some(schedule.bad(key, snapshot.digest(), Instant::now())),
        };
        Ok(Converted {
            observed,
            retry,
            expected: (!written.is_empty()).then_some(snapshot),
        })
    }

    /// Converts the deployment, and observes the result.
    async fn deployed(&self, object: &BoshDeployment, key: &Key, resolution: Resolution) -> Result<Observed, Error> {
        let (progress, namespace) = (Progress::default(), key.0.as_str());
        let Resolution {
            plugin_problems,
            loading,
            active,
        } = resolution;
        let plugins = active
            .as_ref()
            .map(|active| active.resolved.uses.clone())
            .unwrap_or_default();
        let result = match active.and_then(|active| Reconcile::new(self, object, namespace, active, &progress)) {
            Ok(run) => deploy(&run).await,
            Err(stop) => Err(stop),
        };
        self.note_failures(key, &result);
        let warned = match &result {
            Ok(done) => act::events::warn(self, object, &done.warnings).await,
            Err(_) => object.status.as_ref().and_then(|status| status.warned.clone()),
        };
        let observed = Observed::after(object.meta().generation, result, &progress)?;
        let groups = observe::groups(self, object, namespace).await?;
        Ok(Observed {
            ready: groups.ready,
            group_problems: groups.group_problems,
            rollouts: groups.rollouts,
            errands: Some(observe::errands(self, object, namespace).await?),
            warned,
            plugins,
            plugin_problems: self.memory.failed.with(key, plugin_problems),
            loading,
            ..observed
        })
    }

    /// Remembers which plugins have failed. A conversion that ends for another reason says nothing about them.
    fn note_failures(&self, key: &Key, result: &Result<Done, Stop>) {
        let (skipped, wrong) = match result {
            Ok(done) => (done.warnings.as_slice(), done.held_back.as_ref()),
            Err(Stop::Wrong(wrong)) if !wrong.failed_plugins.is_empty() => (&[][..], Some(wrong)),
            Err(_) => return,
        };
        let skipped = skipped
            .iter()
            .filter(|one| is_skipped_check(one))
            .map(PluginProblem::of_failed);
        let stopped = wrong.into_iter().flat_map(|wrong| wrong.failed_plugins.iter().cloned());
        self.memory.failed.remember(key, skipped.chain(stopped).collect());
    }
}

/// Whether the conversion reached a state that only a change in the cluster can alter. What pods still work on can
/// change without one.
fn ends(object: &BoshDeployment, outcome: &Outcome) -> bool {
    let mode = object.spec.conversion.as_ref().map(|conversion| conversion.mode);
    match outcome {
        Outcome::Applied => true,
        Outcome::Waiting(_) => false,
        Outcome::Partly(_) | Outcome::Wrong(_) | Outcome::Refused(_) => mode == Some(ConversionMode::InProcess),
    }
}

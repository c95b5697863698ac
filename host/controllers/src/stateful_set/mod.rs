//! The controller of QuarksStatefulSets: versioned StatefulSets, one per zone.

#[expect(clippy::disallowed_methods, reason = "it is the part that writes")]
mod act;
#[expect(clippy::disallowed_methods, reason = "it runs beside the controller")]
mod active;
mod disks;
mod live;
mod memory;
mod observe;
mod plan;
mod resize;
mod rollout;
mod status;
mod versions;
mod watch;

use crate::controller::{AnyController, Controller, Next, Planned, Report, Watched};
use crate::problem::Problem;
use boson_api::{PodProblem, QuarksStatefulSet, QuarksStatefulSetStatus};
use boson_cluster::client::{Cluster, Error, Events, FieldManager, Identity, owner, written};
use boson_cluster::namespaces::Scope;
use boson_cluster::objects::drift::{AddedByOthers, Drifted};
use boson_cluster::reconcile::{self, Interest};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::runtime::controller::Action;
use live::Live;
use memory::rollouts::{Followed, RolloutStep};
use memory::{Key, Labelled};
use observe::Observed;
use plan::{Plan, PlanError, Seen};
use rollout::Rollout;
use rollout::events::rollout_event;
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use versions::Versions;

pub(crate) use status::{is_refusal, is_worth_an_event};

/// Who owns the fields that this controller sets.
const MANAGER: FieldManager = FieldManager("boson-statefulset");

/// Reason: the API server refuses an object.
const REFUSED: &str = "Refused";
/// Reason: a name conflict.
const NAME_CONFLICT: &str = "NameConflict";
/// Reason: an object is being deleted.
const WAITING: &str = "Waiting";
/// Reason: the template is invalid.
const INVALID: &str = "Invalid";
/// Until the next reconcile, if no watch event announces a change.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(30);
/// The same while pods are missing: the StatefulSet controller retries soon, and reports the result in events.
const MISSING_PODS_RECONCILE_INTERVAL: Duration = Duration::from_secs(10);

struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
    /// Image of the operator: messages of its containers may be shown.
    operator_image: String,
    /// Which StatefulSets belong to which QuarksStatefulSet: their pods name the former.
    interest: Interest,
    labelled: Labelled,
    followed: Followed,
    /// Whether the cluster can resize pods, once it was asked.
    resizes: OnceCell<bool>,
}

struct Done {
    written: bool,
    /// Whether all pods of the newest version are ready.
    ready: bool,
    versions: Versions,
    /// Whether to reconcile again without a watch event.
    again: bool,
    /// How claims differ from the desired ones; none: there are no claims.
    disks: Option<Vec<String>>,
    /// Why pods are not ready.
    problems: Vec<PodProblem>,
    /// Whether pods do not even exist: no watch event announces when they can be created.
    missing: bool,
    rollout: Rollout,
    /// Pods that get other resources when their node has them.
    deferred: Vec<String>,
    counts: Counts,
}

struct Outcome {
    done: Result<Done, Problem>,
    /// Whether pods may lack labels still, though none of them may change.
    labelled: Result<bool, Error>,
}

/// What the plan needs, beside what is always observed.
enum Need {
    Pods,
    /// Which of these objects another write would not change.
    DryRuns {
        drifted: Vec<Drifted>,
        additions: Vec<AddedByOthers>,
    },
}

/// Numbers of instances, in all zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    desired: i32,
    updated: i32,
    ready: i32,
}

/// What a reconcile decides from the objects in the cluster, without requests; `make bench` measures it.
#[derive(Debug)]
pub struct Decision {
    /// StatefulSets to apply.
    pub apply: Vec<Value>,
    /// Pods to replace.
    pub replace: Vec<Pod>,
}

/// Decides the next step of a rollout: `live` are the StatefulSets of `set`, as the API server has them.
///
/// # Errors
/// An object that is invalid.
#[expect(clippy::disallowed_methods, reason = "it stands in for the driver")]
pub fn decide(set: &QuarksStatefulSet, live: Vec<Value>, pods: Vec<Pod>) -> Result<Decision, Error> {
    let seen = Seen {
        live: Live::of(live)?,
        pods: Some(pods),
        ..Seen::default()
    };
    match plan::plan(set, &seen, &owner(set)?, Timestamp::now()) {
        Ok(Plan { apply, replace, .. }) => Ok(Decision { apply, replace }),
        Err(PlanError::Api(error)) => Err(error),
        Err(PlanError::Problem(_) | PlanError::NeedsPods) => Err(Error::flawed(
            &QuarksStatefulSet::kind(&()),
            set.meta().name.as_deref(),
            "has no plan",
        )),
    }
}

// === impl Done ===

impl Done {
    /// When to reconcile again, if no watch event announces a change.
    fn reconcile_delay(&self, is_unlabelled: bool) -> Option<Duration> {
        let rollout = self
            .rollout
            .again
            .map(|time| time.try_into().unwrap_or(MISSING_PODS_RECONCILE_INTERVAL));
        let missing = self.missing.then_some(MISSING_PODS_RECONCILE_INTERVAL);
        let waits = (self.again || is_unlabelled).then_some(RECONCILE_INTERVAL);
        [rollout, missing, waits].into_iter().flatten().min()
    }
}

// === impl Counts ===

impl Counts {
    fn of(plan: &Plan, seen: &Seen) -> Self {
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let desired = number(plan.replicas);
        Self {
            desired,
            updated: desired.saturating_sub(number(plan.rollout.left)).max(0),
            ready: live::ready_instances(&seen.live.sets, seen.pods.as_deref()).min(desired),
        }
    }
}

// === impl Problem ===

impl Problem {
    /// What a user has to resolve.
    ///
    /// # Errors
    /// It is anything else.
    fn of(error: Error) -> Result<Self, Error> {
        if error.is_lasting() {
            Ok(Self::new(REFUSED, error.to_string()))
        } else {
            Err(error)
        }
    }
}

/// For this cluster. `instance`: name of this process.
pub(crate) fn controller(
    cluster: Cluster,
    scope: Scope,
    operator_image: String,
    instance: &str,
) -> Arc<dyn AnyController> {
    Arc::new(Context {
        events: Events::new(cluster.clone(), MANAGER, instance),
        cluster,
        scope,
        operator_image,
        interest: Interest::default(),
        labelled: Labelled::default(),
        followed: Followed::default(),
        resizes: OnceCell::new(),
    })
}

// === impl Context ===

impl Controller for Context {
    const NAME: &'static str = "quarks-stateful-set";
    const CONFLICT_RETRY_DELAY: Duration = Duration::from_secs(1);

    type Object = QuarksStatefulSet;
    type Observed = Observed;
    type Need = Need;
    type Plan = Result<Plan, Problem>;
    type Outcome = Outcome;
    type Status = QuarksStatefulSetStatus;

    fn events(&self) -> &Events {
        &self.events
    }

    fn watch(self: &Arc<Self>, namespace: &Option<String>) -> Watched<QuarksStatefulSet> {
        watch::watch(self, namespace)
    }

    async fn observe(&self, object: &QuarksStatefulSet) -> Result<ControlFlow<Action, Self::Observed>, Error> {
        let observed = self.read_state(object).await?;
        Ok(ControlFlow::Continue(observed))
    }

    async fn complete(&self, set: &QuarksStatefulSet, observed: &mut Observed, need: Need) -> Result<(), Error> {
        self.read_needed(set, observed, need).await
    }

    fn plan(set: &QuarksStatefulSet, observed: &Observed, now: Timestamp) -> Result<Planned<Self>, Error> {
        let mut plan = match plan::plan(set, &observed.seen, &observed.owner, now) {
            Ok(plan) => plan,
            Err(PlanError::NeedsPods) => return Ok(Planned::Observe(Need::Pods)),
            Err(PlanError::Problem(problem)) => return Ok(Planned::Act(Err(problem))),
            Err(PlanError::Api(error)) => return Ok(Planned::Act(Err(Problem::of(error)?))),
        };
        match &observed.found_before_dry_runs {
            Some(additions) => plan.additions.clone_from(additions),
            None if plan.drifted.is_empty() => {}
            None => {
                let Plan { drifted, additions, .. } = plan;
                return Ok(Planned::Observe(Need::DryRuns { drifted, additions }));
            }
        }
        Ok(Planned::Act(Ok(plan)))
    }

    async fn act(
        &self,
        set: &Arc<QuarksStatefulSet>,
        observed: Observed,
        plan: Result<Plan, Problem>,
    ) -> Result<Outcome, Error> {
        let key = Key::of(Identity::of(&**set)?);
        let updates = plan.as_ref().is_ok_and(Plan::updates_instances);
        let (outcome, writes) = written::during(self.execute(set, &observed, plan)).await;
        let outcome = outcome?;
        let goes_on = outcome.done.as_ref().is_ok_and(|done| !done.ready);
        let rollout = RolloutStep { updates, goes_on };
        self.followed.record_reconcile(&key, &writes, rollout);
        Ok(outcome)
    }

    fn status(set: &QuarksStatefulSet, outcome: Outcome, now: Timestamp) -> Report<Self> {
        let Outcome { done, labelled } = outcome;
        let (status, events_before) = status::report(set, &done, &Time(now));
        let next = match (labelled, done) {
            (Err(error), _) => Next::Fail(error),
            (Ok(is_unlabelled), Ok(done)) => {
                let again = done.reconcile_delay(is_unlabelled);
                Next::Wait(again.map_or_else(Action::await_change, Action::requeue))
            }
            // The object in conflict is not ours, so no watch event announces its deletion.
            (Ok(_), Err(_)) => Next::Wait(Action::requeue(RECONCILE_INTERVAL)),
        };
        Report {
            events_before,
            status: Some(status),
            ..Report::next(next)
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the driver calls it")]
    async fn write_status(&self, set: &QuarksStatefulSet, status: &QuarksStatefulSetStatus) -> Result<(), Error> {
        let groups = &self.cluster.metrics().groups;
        groups.set(&reconcile::key(set), Some(status.ready));
        if set.status.as_ref() == Some(status) {
            return Ok(());
        }
        match self.cluster.set_status(MANAGER, set, status).await {
            // The watch event of the other change requeues it.
            Err(error) if error.is_race() => Ok(()),
            written => {
                let event = rollout_event(set, status, Timestamp::now());
                written.map(|_| event.into_iter().for_each(|event| self.events.record(set, event)))
            }
        }
    }

    /// Pods may have been looked at without being labelled.
    async fn failed(&self, set: &QuarksStatefulSet, _: &Error) {
        if let Ok(key) = Identity::of(set).map(Key::of) {
            self.labelled.forget(&key);
            self.followed.end(&key);
        }
    }

    fn forget(&self, namespace: &str, name: &str) {
        self.interest.forget(namespace, name);
        let key = Key::new(namespace, name);
        self.labelled.forget(&key);
        self.followed.end(&key);
        let groups = &self.cluster.metrics().groups;
        groups.set(&format!("{namespace}/{name}"), None);
    }
}

fn names(sets: &[StatefulSet]) -> impl Iterator<Item = &str> {
    sets.iter().filter_map(|set| set.metadata.name.as_deref())
}

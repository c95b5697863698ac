//! The controller of QuarksStatefulSets: versioned StatefulSets, one per zone.

mod active;
mod digest;
mod disks;
mod explain;
mod inspect;
mod labelled;
mod plan;
mod resize;
mod resized;
mod rollout;
mod set_back;
mod status;
mod superseded;
mod versions;
mod watch;

use boson_api::{PodProblem, QuarksStatefulSet};
use boson_cluster::client::{AnyObject, Cluster, Error, ErrorKind, Events, FieldManager, Identity, owner, resource};
use boson_cluster::namespaces::Scope;
use boson_cluster::objects::conflicts::Conflicts;
use boson_cluster::objects::drift;
use boson_cluster::reconcile::Interest;
use boson_manifest::labels;
use boson_pipeline::Diagnostic;
use disks::Disks;
use inspect::Live;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use kube::api::ObjectMeta;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use labelled::Labelled;
use plan::{Plan, Seen, Unplanned};
use resize::{RESIZE, Resize};
use rollout::Rollout;
use serde_json::{Value, json};
use set_back::SetBack;
use std::time::Duration;
use tokio::sync::OnceCell;
use versions::Versions;

pub(crate) use status::{is_refusal, is_worth_an_event};
pub(crate) use watch::run;

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

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
    /// Image of the operator: messages of its containers may be shown.
    operator_image: String,
    /// Which StatefulSets belong to which QuarksStatefulSet: their pods name the former.
    interest: Interest,
    labelled: Labelled,
    /// Whether the cluster can resize pods, once it was asked.
    resizes: OnceCell<bool>,
}

/// A problem that a user has to resolve: reason and message.
struct Problem(&'static str, String);

/// The result of a plan.
struct Done {
    /// Whether something was written.
    written: bool,
    /// Whether all pods of the newest version are ready.
    ready: bool,
    /// Versions for the status.
    versions: Versions,
    /// Whether to reconcile again without a watch event.
    again: bool,
    /// How claims differ from the desired ones; none: there are no claims.
    disks: Option<Vec<String>>,
    /// Why pods are not ready.
    problems: Vec<PodProblem>,
    /// Whether pods do not even exist.
    missing: bool,
    /// How far the rollout is.
    rollout: Rollout,
    /// Pods that get other resources when their node has them.
    deferred: Vec<String>,
    counts: Counts,
}

/// Numbers of instances, in all zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    desired: i32,
    /// Not outdated.
    updated: i32,
    ready: i32,
}

/// Why a plan was not carried out.
enum PlanError {
    Api(Error),
    Problem(Problem),
}

impl From<Error> for PlanError {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

impl From<Box<Diagnostic>> for PlanError {
    fn from(error: Box<Diagnostic>) -> Self {
        Self::Problem(Problem(INVALID, error.message))
    }
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
pub fn decide(set: &QuarksStatefulSet, live: Vec<Value>, pods: Vec<Pod>) -> Result<Decision, Error> {
    let seen = Seen {
        live: Live::of(live)?,
        pods: Some(pods),
        ..Seen::default()
    };
    match plan::plan(set, &seen, &owner(set)?, Timestamp::now()) {
        Ok(Plan { apply, replace, .. }) => Ok(Decision { apply, replace }),
        Err(Unplanned::Failed(PlanError::Api(error))) => Err(error),
        Err(Unplanned::Failed(PlanError::Problem(_)) | Unplanned::NeedsPods) => Err(Error::flawed(
            &QuarksStatefulSet::kind(&()),
            set.meta().name.as_deref(),
            "has no plan",
        )),
    }
}

// === impl Done ===

impl Done {
    /// When to reconcile again, if no watch event announces a change.
    fn again(&self, is_unlabelled: bool) -> Option<Duration> {
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
            ready: inspect::ready_instances(&seen.live.sets, seen.pods.as_deref()).min(desired),
        }
    }
}

// === impl PlanError ===

impl PlanError {
    /// What a user has to resolve.
    ///
    /// # Errors
    /// It is anything else.
    fn problem(self) -> Result<Problem, Error> {
        match self {
            Self::Api(error) if error.is_lasting() => Ok(Problem(REFUSED, error.to_string())),
            Self::Api(error) => Err(error),
            Self::Problem(problem) => Ok(problem),
        }
    }
}

// === impl Context ===

impl Context {
    /// For this cluster. `instance`: name of this process.
    pub fn new(cluster: Cluster, scope: Scope, operator_image: String, instance: &str) -> Self {
        Self {
            events: Events::new(cluster.clone(), MANAGER, instance),
            cluster,
            scope,
            operator_image,
            interest: Interest::default(),
            labelled: Labelled::default(),
            resizes: OnceCell::new(),
        }
    }

    /// One reconcile.
    ///
    /// # Errors
    /// A call to the API server that failed.
    async fn reconcile(&self, set: &QuarksStatefulSet) -> Result<Action, Error> {
        let place = Identity::of(set)?;
        if set.metadata.deletion_timestamp.is_some() || !self.scope.holds(place.namespace) {
            return Ok(Action::await_change());
        }
        let live = self.live(set, place).await?;
        self.note(place, &live.sets);
        // Before pods are listed: one that is created afterwards is not missed.
        let key = (place.namespace, place.name);
        let unlabelled = self.labelled.take(key, &names(&live.sets).collect::<Vec<_>>());
        let unlabelled: Vec<String> = unlabelled.into_iter().map(str::to_string).collect();
        let done = self.update(set, place, live, &unlabelled).await;
        if done.is_err() {
            unlabelled.iter().for_each(|name| self.labelled.lacks(key, name));
        }
        done
    }

    async fn update(
        &self,
        set: &QuarksStatefulSet,
        place: Identity<'_>,
        live: Live,
        unlabelled: &[String],
    ) -> Result<Action, Error> {
        let owner = owner(set)?;
        let claims = self.claims(set, &live.sets, place.namespace).await?;
        let mut seen = Seen {
            live,
            claims,
            resizes: self.resizes().await?,
            ..Seen::default()
        };
        let mut plan = self.plan(set, &mut seen, place, &owner).await?;
        if let Ok(first) = &mut plan
            && drift::settle(&self.cluster, MANAGER, &first.drifted, &mut seen.live.objects).await?
        {
            // The sets stay as they were read: pods are compared with the template that they are made from.
            let excess = std::mem::take(&mut first.excess);
            let again = self.plan(set, &mut seen, place, &owner).await?;
            plan = again.map(|plan| Plan { excess, ..plan });
        }
        let of_plan = |plan: &Plan| {
            plan.apply
                .iter()
                .filter_map(|one| one.name().map(str::to_string))
                .collect()
        };
        let written: Vec<String> = plan.as_ref().map(of_plan).unwrap_or_default();
        let done = match plan {
            Ok(plan) => match self.act(set, place, &plan, &seen, &owner).await {
                Ok(done) => Ok(self.explained(done, &plan, &seen, place.namespace).await?),
                Err(failure) => Err(failure.problem()?),
            },
            Err(failure) => Err(failure.problem()?),
        };
        self.report(set, &done).await?;
        let unlabelled = self.label(place, &seen, unlabelled).await?;
        // After the change of their StatefulSet was observed, pods are looked at again.
        for name in &written {
            self.labelled.lacks((place.namespace, place.name), name);
        }
        let again = match &done {
            Ok(done) => done.again(unlabelled),
            // The object in conflict is not ours, so no watch event announces its deletion.
            Err(_) => Some(RECONCILE_INTERVAL),
        };
        Ok(again.map_or_else(Action::await_change, Action::requeue))
    }

    /// Whether the cluster can resize pods. A cluster that learns it later is asked again when the operator starts.
    async fn resizes(&self) -> Result<bool, Error> {
        let ask = || async {
            match self.cluster.has_part(&format!("pods/{RESIZE}")).await {
                // Pods are replaced, as in a cluster that cannot.
                Err(error) if error.is_lasting() => {
                    tracing::warn!(%error, "cannot ask whether the cluster resizes pods");
                    Ok(false)
                }
                answer => answer,
            }
        };
        self.resizes.get_or_try_init(ask).await.copied()
    }

    /// Plans, with the pods if they are needed.
    async fn plan(
        &self,
        set: &QuarksStatefulSet,
        seen: &mut Seen,
        place: Identity<'_>,
        owner: &OwnerReference,
    ) -> Result<Result<Plan, PlanError>, Error> {
        loop {
            match plan::plan(set, seen, owner, Timestamp::now()) {
                Ok(plan) => return Ok(Ok(plan)),
                Err(Unplanned::Failed(failure)) => return Ok(Err(failure)),
                Err(Unplanned::NeedsPods) => {
                    let names: Vec<&str> = names(&seen.live.sets).collect();
                    let selector = format!("{} in ({})", labels::STATEFUL_SET_NAME, names.join(","));
                    seen.pods = Some(self.cluster.list(place.namespace, &selector).await?);
                    seen.before = self.before(set, place.namespace).await?;
                }
            }
        }
    }

    /// Names of the QuarksStatefulSets that are to be updated before this one, and are not done.
    async fn before(&self, set: &QuarksStatefulSet, namespace: &str) -> Result<Vec<String>, Error> {
        let groups = set.annotations().get(labels::UPDATE_AFTER);
        let groups: Vec<String> = groups
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let deployment = set.labels().get(labels::DEPLOYMENT_NAME);
        let Some(deployment) = deployment.filter(|_| !groups.is_empty()) else {
            return Ok(Vec::new());
        };
        let selector = format!("{}={deployment}", labels::DEPLOYMENT_NAME);
        let mut others: Vec<QuarksStatefulSet> = self.cluster.list(namespace, &selector).await?;
        others.retain(|other| {
            let group = other.labels().get(labels::INSTANCE_GROUP_NAME);
            group.is_some_and(|group| groups.contains(group)) && !is_done(other)
        });
        Ok(others.iter().map(ResourceExt::name_any).collect())
    }

    /// Labels the pods of these StatefulSets that lack labels. Whether the next reconcile must look again, though no
    /// pod may change until then.
    async fn label(&self, place: Identity<'_>, seen: &Seen, names: &[String]) -> Result<bool, Error> {
        let mut again = false;
        for name in names {
            let labelled = self.label_pods(place.namespace, seen, name).await?;
            if labelled {
                self.labelled.lacks((place.namespace, place.name), name);
            }
            again |= labelled;
        }
        Ok(again)
    }

    async fn label_pods(&self, namespace: &str, seen: &Seen, name: &str) -> Result<bool, Error> {
        let pods: Vec<ObjectMeta> = match &seen.pods {
            Some(pods) => {
                let of_set = pods.iter().filter(|pod| inspect::is_of(pod, name));
                of_set.map(|pod| pod.metadata.clone()).collect()
            }
            None => {
                let selector = format!("{}={name}", labels::STATEFUL_SET_NAME);
                self.cluster.list_metadata::<Pod>(namespace, &selector).await?
            }
        };
        let mut all = seen.live.sets.iter();
        let Some(set) = all.find(|one| one.metadata.name.as_deref() == Some(name)) else {
            return Ok(false);
        };
        let mut step = labelled::step(set, &pods);
        for one in std::mem::take(&mut step.lacking) {
            let metadata = ObjectMeta {
                labels: Some(one.labels).filter(|labels| !labels.is_empty()),
                annotations: Some(one.annotations).filter(|annotations| !annotations.is_empty()),
                ..ObjectMeta::default()
            };
            let members = json!({ "metadata": metadata });
            match self.cluster.merge(MANAGER, &one.pod, members).await {
                Ok(_) => {}
                // Nothing else depends on these labels.
                Err(error) if error.kind == ErrorKind::Forbidden => tracing::warn!(%error, "pods get no labels"),
                // It was deleted, and is followed by another one.
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(step.again)
    }

    /// Adds why pods of the newest version are not ready.
    async fn explained(&self, done: Done, plan: &Plan, seen: &Seen, namespace: &str) -> Result<Done, Error> {
        if done.ready {
            return Ok(done);
        }
        let is_wanted = |one: &&StatefulSet| plan.wanted.iter().any(|wanted| inspect::is_named(one, wanted));
        let newest: Vec<&StatefulSet> = seen.live.sets.iter().filter(is_wanted).collect();
        let mut explanation = self.explain(&newest, seen.pods.as_deref(), namespace).await?;
        // Those that were just deleted have none any more.
        let is_left = |pod: &PodProblem| {
            plan.replace
                .iter()
                .all(|gone| gone.metadata.name.as_ref() != Some(&pod.pod))
        };
        explanation.problems.retain(is_left);
        Ok(Done {
            problems: explanation.problems,
            missing: explanation.missing,
            ..done
        })
    }

    /// Notes whose pods are its own.
    fn note(&self, set: Identity<'_>, live: &[StatefulSet]) {
        let places = names(live).map(|name| (set.namespace.to_string(), name.to_string()));
        self.interest.note((set.namespace, set.name), places);
    }

    /// The StatefulSets that it owns.
    async fn live(&self, set: &QuarksStatefulSet, place: Identity<'_>) -> Result<Live, Error> {
        let deployment = set.labels().get(labels::DEPLOYMENT_NAME).map_or("", String::as_str);
        let labelled = format!("{}={deployment}", labels::DEPLOYMENT_NAME);
        // Without any, list the whole namespace: they may have another label, and would be created twice.
        for selector in [labelled.as_str(), ""] {
            let mut live = self
                .cluster
                .list_any(&resource("apps/v1", "StatefulSet"), place.namespace, selector)
                .await?;
            live.retain(|object| object.has_owner(place.uid));
            if !live.is_empty() {
                return Live::of(live);
            }
        }
        Ok(Live::default())
    }

    /// Claims of the pods of these StatefulSets; without StatefulSets, all such claims. None while a rollout is
    /// underway and they were as asked when it began: they are not looked at again for each of its pods.
    async fn claims(
        &self,
        set: &QuarksStatefulSet,
        live: &[StatefulSet],
        namespace: &str,
    ) -> Result<Vec<PersistentVolumeClaim>, Error> {
        if !live.is_empty() && (!live.iter().any(inspect::has_claims) || status::has_disks_as_asked(set)) {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = names(live).collect();
        let selector = match names.as_slice() {
            [] => labels::STATEFUL_SET_NAME.to_string(),
            names => format!("{} in ({})", labels::STATEFUL_SET_NAME, names.join(",")),
        };
        self.cluster.list(namespace, &selector).await
    }

    /// Carries out the plan, unless a name conflicts with an object of another owner.
    async fn act(
        &self,
        set: &QuarksStatefulSet,
        place: Identity<'_>,
        plan: &Plan,
        seen: &Seen,
        owner: &OwnerReference,
    ) -> Result<Done, PlanError> {
        let conflicts = Conflicts::find(&self.cluster, place.namespace, plan.new_objects.iter(), owner).await?;
        if let Some(complaint) = conflicts.complaint() {
            return Err(PlanError::Problem(Problem(NAME_CONFLICT, complaint)));
        }
        if !conflicts.leaving.is_empty() {
            let waiting = format!("waiting for {} to be deleted", conflicts.leaving.join(", "));
            return Err(PlanError::Problem(Problem(WAITING, waiting)));
        }
        // Delete first: new pods may need the quota of the deleted ones.
        for object in &plan.delete {
            self.cluster.delete_any(object).await?;
        }
        for one in &plan.resize {
            self.cluster.merge(MANAGER, &one.set, one.members()).await?;
        }
        let disks = self.grow(Disks::of(&plan.wanted, &seen.claims)).await?;
        let removed = drift::remove(&self.events, set, &plan.excess).await?;
        for (old, new) in &plan.renew {
            self.renew(old, new).await?;
        }
        for object in &plan.apply {
            self.cluster.apply_any(MANAGER, object).await?;
        }
        let unresolved = self.resize(&plan.resizes.now).await?;
        let mut is_set_back = false;
        for one in &plan.set_back {
            is_set_back |= self.set_back(one, place).await?;
        }
        for pod in &plan.replace {
            tracing::info!(pod = pod.name_any(), "replaces a pod");
            self.cluster.delete(pod).await?;
        }
        if let Some(error) = unresolved {
            return Err(error.into());
        }
        let written = [&plan.apply, &plan.delete].iter().any(|some| !some.is_empty());
        Ok(Done {
            written: written
                || !plan.resize.is_empty()
                || !plan.renew.is_empty()
                || !plan.replace.is_empty()
                || !plan.resizes.now.is_empty()
                || is_set_back
                || !disks.raise.is_empty()
                || removed,
            // Its pods are about to be replaced.
            ready: plan.ready && !removed,
            versions: plan.versions.clone(),
            again: disks.waits
                || !plan.renew.is_empty()
                || !plan.resizes.now.is_empty()
                || seen.live.sets.iter().any(inspect::is_going),
            disks: plan.wanted.iter().any(disks::wants_claims).then_some(disks.mismatches),
            problems: Vec::new(),
            missing: false,
            rollout: plan.rollout.clone(),
            deferred: plan.resizes.deferred.clone(),
            counts: Counts::of(plan, seen),
        })
    }

    /// Gives pods other resources. Returns what a user has to resolve, if anything, when the others have theirs.
    async fn resize(&self, pods: &[Resize]) -> Result<Option<Error>, Error> {
        let mut unresolved = None;
        for one in pods {
            match self.resize_pod(one).await {
                Ok(()) => {}
                // It has changed or is gone, and the event about that causes another decision.
                Err(error) if error.is_race() => {}
                Err(error) if error.is_lasting() => unresolved = unresolved.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Ok(unresolved)
    }

    async fn resize_pod(&self, one: &Resize) -> Result<(), Error> {
        let pod = one.pod.name_any();
        match self.cluster.merge_part(MANAGER, RESIZE, &one.pod, one.members()).await {
            Ok(resized) => {
                tracing::info!(pod, "resizes a pod");
                self.cluster.merge(MANAGER, &resized, one.done()).await?;
            }
            Err(error) if resize::is_refusal(&error) => {
                tracing::info!(pod, %error, "cannot resize a pod, which is replaced instead");
                self.cluster.merge(MANAGER, &one.pod, one.refused()).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether it was changed. Nothing else depends on it: what is refused is logged.
    async fn set_back(&self, one: &SetBack, place: Identity<'_>) -> Result<bool, Error> {
        let set_back = async {
            let revision = self.cluster.get(place.namespace, &one.revision).await?;
            let Some(object) = revision.and_then(|revision| one.object(&revision)) else {
                return Ok(false);
            };
            self.cluster.apply_any(MANAGER, &object).await.map(|_| true)
        };
        let name = one.live.name_any();
        match set_back.await {
            Ok(is_set_back) => {
                tracing::info!(set = name, revision = one.revision, is_set_back, "sets a template back");
                Ok(is_set_back)
            }
            Err(error) if error.is_lasting() => {
                tracing::warn!(%error, set = name, revision = one.revision, "cannot set a template back");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Enlarges claims; adds those that Kubernetes refuses to the mismatches.
    async fn grow(&self, mut disks: Disks) -> Result<Disks, Error> {
        let mut raised = Vec::new();
        for claim in std::mem::take(&mut disks.raise) {
            match self.cluster.apply(MANAGER, &claim).await {
                Ok(_) => raised.push(claim),
                Err(error) if error.is_lasting() => {
                    // Only the first line: the rest is a long difference of the claims.
                    let text = error.to_string();
                    disks
                        .mismatches
                        .push(text.lines().next().unwrap_or_default().to_string());
                    disks.waits = true;
                }
                Err(error) => return Err(error),
            }
        }
        disks.raise = raised;
        Ok(disks)
    }

    /// Deletes a StatefulSet that will be created again, without its pods and claims.
    async fn renew(&self, old: &StatefulSet, new: &Value) -> Result<(), Error> {
        // First a dry run under a free name: if the new one were refused, its pods would have no controller.
        let (_, _, name) = new.place()?;
        let mut trial = new.clone();
        trial.set_name(&format!("{name}-trial"));
        let tried = self.cluster.try_any(MANAGER, &trial).await;
        tried.map_err(|error| Error {
            name: name.into(),
            ..error
        })?;
        self.cluster.delete_alone(old).await
    }
}

/// Whether all of its pods are ready and run what it says now.
fn is_done(set: &QuarksStatefulSet) -> bool {
    let status = set.status.as_ref();
    status.is_some_and(|status| status.ready && status.observed_generation == set.metadata.generation)
}

fn names(sets: &[StatefulSet]) -> impl Iterator<Item = &str> {
    sets.iter().filter_map(|set| set.metadata.name.as_deref())
}

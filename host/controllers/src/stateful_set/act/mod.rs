//! Carries out the plan, and then looks at what the pods lack.

mod pod_labels;
mod problems;

use super::disks::{self, Disks};
use super::memory::Key;
use super::observe::Observed;
use super::plan::{Plan, Seen};
use super::resize::{self, RESIZE, Resize};
use super::rollout::earlier_template::EarlierTemplate;
use super::rollout::events::instance_events;
use super::{Context, Counts, Done, MANAGER, NAME_CONFLICT, Outcome, Problem, WAITING, live};
use boson_api::QuarksStatefulSet;
use boson_cluster::client::{AnyObject, Error, Identity};
use boson_cluster::objects::conflicts::Conflicts;
use boson_cluster::objects::drift;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

/// Why a plan was not carried out.
enum ActError {
    Api(Error),
    Problem(Problem),
}

/// What was written beside the objects of the plan.
struct Written {
    disks: Disks,
    /// Whether additions by others were removed.
    has_removed: bool,
    /// Whether a template was set back.
    is_set_back: bool,
}

impl From<Error> for ActError {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

// === impl Context ===

impl Context {
    pub(super) async fn execute(
        &self,
        set: &QuarksStatefulSet,
        observed: &Observed,
        plan: Result<Plan, Problem>,
    ) -> Result<Outcome, Error> {
        let (place, seen) = (Identity::of(set)?, &observed.seen);
        let written = plan.iter().flat_map(|plan| &plan.apply).filter_map(|one| one.name());
        let written: Vec<String> = written.map(str::to_string).collect();
        let done = match plan {
            Ok(plan) => match self.carry_out(set, place, &plan, seen, &observed.owner).await {
                Ok(mut done) => {
                    self.explain(set, &mut done, &plan, seen).await?;
                    Ok(done)
                }
                Err(ActError::Problem(problem)) => Err(problem),
                Err(ActError::Api(error)) => Err(Problem::of(error)?),
            },
            Err(problem) => Err(problem),
        };
        let labelled = self.label(place, seen, &observed.unlabelled).await;
        // After the change of their StatefulSet was observed, pods are looked at again.
        for name in &written {
            self.labelled.mark_unlabelled(&Key::of(place), name);
        }
        Ok(Outcome { done, labelled })
    }

    /// Carries out the plan, unless a name conflicts with an object of another owner.
    async fn carry_out(
        &self,
        set: &QuarksStatefulSet,
        place: Identity<'_>,
        plan: &Plan,
        seen: &Seen,
        owner: &OwnerReference,
    ) -> Result<Done, ActError> {
        let conflicts = Conflicts::find(&self.cluster, place.namespace, plan.new_objects.iter(), owner).await?;
        if let Some(message) = conflicts.message() {
            return Err(ActError::Problem(Problem::new(NAME_CONFLICT, message)));
        }
        if !conflicts.leaving.is_empty() {
            let waiting = format!("waiting for {} to be deleted", conflicts.leaving.join(", "));
            return Err(ActError::Problem(Problem::new(WAITING, waiting)));
        }
        // Before the first pod of a new StatefulSet.
        let wanted = plan.wanted.iter().filter_map(|one| one.name());
        self.note(place, super::names(&seen.live.sets).chain(wanted));
        let written = self.write_plan(set, place, plan, seen).await?;
        Ok(done(plan, seen, written))
    }

    /// Writes what is planned, and records which updates begin.
    async fn write_plan(
        &self,
        set: &QuarksStatefulSet,
        place: Identity<'_>,
        plan: &Plan,
        seen: &Seen,
    ) -> Result<Written, Error> {
        // Delete first: new pods may need the quota of the deleted ones.
        for object in &plan.delete {
            self.cluster.delete_any(object).await?;
        }
        for one in &plan.resize {
            self.cluster.merge(MANAGER, &one.set, one.members()).await?;
        }
        let disks = self.grow(Disks::of(&plan.wanted, &seen.claims)).await?;
        let has_removed = drift::remove(&self.events, set, &plan.additions).await?;
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
        for event in instance_events(set, &plan.begun, plan.versions.wanted, Timestamp::now()) {
            self.events.record(set, event);
        }
        match unresolved {
            Some(error) => Err(error),
            None => Ok(Written {
                disks,
                has_removed,
                is_set_back,
            }),
        }
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
                self.cluster.merge(MANAGER, &resized, one.members_when_done()).await?;
            }
            Err(error) if resize::is_refusal(&error) => {
                tracing::info!(pod, %error, "cannot resize a pod, which is replaced instead");
                self.cluster
                    .merge(MANAGER, &one.pod, one.members_when_refused())
                    .await?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether it was changed. Nothing else depends on it: what is refused is logged.
    async fn set_back(&self, one: &EarlierTemplate, place: Identity<'_>) -> Result<bool, Error> {
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
        let name = new.target()?.name;
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

/// The result of a plan that was carried out.
fn done(plan: &Plan, seen: &Seen, written: Written) -> Done {
    let Written { disks, .. } = written;
    Done {
        written: !plan.apply.is_empty()
            || !plan.delete.is_empty()
            || !plan.resize.is_empty()
            || !plan.renew.is_empty()
            || !plan.replace.is_empty()
            || !plan.resizes.now.is_empty()
            || written.is_set_back
            || !disks.raise.is_empty()
            || written.has_removed,
        // Its pods are about to be replaced.
        ready: plan.ready && !written.has_removed,
        versions: plan.versions.clone(),
        again: disks.waits
            || !plan.renew.is_empty()
            || !plan.resizes.now.is_empty()
            || seen.live.sets.iter().any(live::is_being_deleted),
        disks: plan.wanted.iter().any(disks::wants_claims).then_some(disks.mismatches),
        problems: Vec::new(),
        missing: false,
        rollout: plan.rollout.clone(),
        deferred: plan.resizes.deferred.clone(),
        counts: Counts::of(plan, seen),
    }
}

//! Applies the desired objects. Objects that this deployment does not own are left alone, and nothing is written before a dry run of everything.

use super::MANAGER;
use super::flow::Flow;
use super::held_back::HeldBack;
use super::job_sources::JobSources;
use super::manifest::Manifest;
use super::manifest_version;
use super::stop::{Stop, refusal};
use super::trail::Change;
use boson_api::OutdatedGroup;
use boson_api::deployment::ConversionMode;
use boson_api::secret::ReclaimPolicy;
use boson_cluster::client::{Error, resource};
use boson_cluster::objects::drift;
use boson_cluster::objects::taken::{Taken, Whose, whose};
use boson_cluster::objects::{self, Plan};
use boson_pipeline::Diagnostic;
use boson_pipeline::bundle::kinds::KINDS;
use boson_pipeline::report::Sources;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// Dry runs or writes at a time.
const CALLS: usize = 8;
/// Kinds whose objects become pods.
const WORKLOADS: [&str; 6] = [
    "QuarksStatefulSet",
    "QuarksJob",
    "StatefulSet",
    "Deployment",
    "Job",
    "CronJob",
];

// === impl Flow ===

impl Flow<'_> {
    /// Creates, changes and deletes what differs. `desired`: name of the Secret with the desired manifest. Returns all objects, and the groups that
    /// keep an older operator image.
    pub(super) async fn apply(
        &self,
        mut wanted: Vec<Value>,
        manifest: &Manifest,
        desired: &str,
        held_back: &HeldBack,
        sources: &JobSources,
    ) -> Result<(Vec<Value>, Vec<OutdatedGroup>), Stop> {
        let mut live = Vec::new();
        for kind in KINDS {
            live.extend(self.live(&resource(kind.api_version, kind.kind)).await?);
        }
        // In the other mode these jobs are leftovers, to be deleted.
        live.retain(|object| self.mode == ConversionMode::InProcess || !self.is_conversion_job(object));
        let removed = self.retain(&mut wanted, &mut live).await?;
        // Groups that are held back keep their present objects.
        live.retain(|object| !held_back.owns(object));
        manifest_version::keep(&mut wanted, &live);
        let existing = self.existing_job_sources().await?;
        let known: Vec<String> = existing.iter().filter_map(|meta| meta.name.clone()).collect();
        let outdated = self.keep_images(&mut wanted, &live, sources, &known);
        let missing = self.missing_job_sources(sources, &wanted, &existing).await?;
        manifest_version::renew(&mut wanted, &live, desired);
        let plan = self.differences(wanted.clone(), &mut live).await?;
        self.vacant(plan.new_objects()).await?;
        if let Some(leaving) = plan.replace.iter().find(|old| objects::is_going(old)) {
            let name = leaving["metadata"]["name"].as_str().unwrap_or_default();
            return Err(Stop::Waiting(format!("Service '{name}' to be deleted")));
        }
        self.accepted(&plan, manifest).await?;
        self.within_quotas(&plan, missing.len(), manifest).await?;
        self.take_back(&plan).await?;
        self.dns_account(&wanted).await?;
        let change = Change::of(&plan, &live);
        let starts_pods = |object: &&Value| WORKLOADS.iter().any(|kind| object["kind"] == *kind);
        let (workloads, others): (Vec<_>, Vec<_>) = plan.apply.iter().partition(starts_pods);
        // What pods mount must exist before they start.
        let created = self.create_job_sources(&missing).await;
        created.map_err(|stop| stop.or_refused(manifest))?;
        for objects in [others, workloads] {
            let written = self.write_all(&plan, &objects).await.map_err(Stop::from);
            written.map_err(|stop| stop.or_refused(manifest))?;
        }
        for object in &plan.delete {
            self.note_write();
            self.context.cluster.delete_any(object).await?;
        }
        self.follow(&removed, ReclaimPolicy::Delete).await?;
        if let Some(change) = change {
            self.report_change(&change).await;
        }
        Ok((wanted, outdated))
    }

    /// Removes what other writers added to our lists and maps.
    async fn take_back(&self, plan: &Plan) -> Result<(), Error> {
        let removed = drift::remove(&self.context.cluster, MANAGER, &plan.excess).await?;
        if !removed.is_empty() {
            self.note_write();
        }
        let events = &self.context.events;
        events.warn_of(self.object, drift::REMOVED, &removed).await;
        Ok(())
    }

    /// The plan that leads to the desired objects. Objects that only admission changes on every write are left out.
    pub(super) async fn differences(&self, wanted: Vec<Value>, live: &mut [Value]) -> Result<Plan, Error> {
        let plan = objects::plan(wanted.clone(), live);
        if !drift::settle(&self.context.cluster, MANAGER, &plan.drifted, live).await? {
            return Ok(plan);
        }
        Ok(Plan {
            excess: plan.excess,
            ..objects::plan(wanted, live)
        })
    }

    /// Writes several objects at a time. After a failure no further write is started, and running ones are awaited: none may land after the next
    /// reconcile has begun.
    async fn write_all(&self, plan: &Plan, objects: &[&Value]) -> Result<(), Error> {
        let failed = AtomicBool::new(false);
        let writes: Vec<_> = objects
            .iter()
            .map(|&object| {
                let failed = &failed;
                async move {
                    if failed.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    let written = self.write_or_replace(plan, object).await;
                    failed.fetch_or(written.is_err(), Ordering::Relaxed);
                    written
                }
                .boxed()
            })
            .collect();
        let written: Vec<_> = stream::iter(writes).buffered(CALLS).collect().await;
        written.into_iter().collect()
    }

    async fn write_or_replace(&self, plan: &Plan, object: &Value) -> Result<(), Error> {
        // If the process ends here, the next reconcile finds the object missing and creates it.
        if let Some(old) = plan.replaced(object) {
            self.note_write();
            self.context.cluster.delete_any(old).await?;
        }
        self.write(object).await
    }

    /// Fails if an object that is about to be created has a name conflict.
    pub(super) async fn vacant<'o>(&self, objects: impl Iterator<Item = &'o Value>) -> Result<(), Stop> {
        let taken = Taken::find(&self.context.cluster, self.namespace, objects, &self.owner).await?;
        if let Some(complaint) = taken.complaint() {
            return Err(name_taken(complaint));
        }
        match taken.leaving.as_slice() {
            [] => Ok(()),
            leaving => Err(Stop::Waiting(format!("{} to be deleted", leaving.join(", ")))),
        }
    }

    /// A dry run of all objects first: a change that is applied only in part would leave neither the old state nor the new one.
    async fn accepted(&self, plan: &Plan, manifest: &Manifest) -> Result<(), Stop> {
        // The API server would refuse replacements while the old objects exist.
        let asked = plan.apply.iter().filter(|object| plan.replaced(object).is_none());
        let asked: Vec<_> = asked
            .map(|object| self.context.cluster.try_any(MANAGER, object).boxed())
            .collect();
        let answers: Vec<_> = stream::iter(asked).buffered(CALLS).collect().await;
        let mut refusals = Vec::new();
        for error in answers.into_iter().filter_map(Result::err) {
            match error.is_lasting() {
                true => refusals.push(refusal(&error)),
                false => return Err(error.into()),
            }
        }
        match refusals.is_empty() {
            true => Ok(()),
            false => Err(Stop::refused(refusals, manifest)),
        }
    }

    /// Fails if a Secret that is about to be written exists and is not owned by this deployment.
    pub(super) fn not_of_others(&self, secret: Option<&Secret>) -> Result<(), Stop> {
        let Some(secret) = secret else { return Ok(()) };
        let name = secret.metadata.name.as_deref().unwrap_or_default();
        match whose(&secret.metadata, &self.owner, &self.names.deployment()) {
            Whose::Ours => Ok(()),
            Whose::Leaving => Err(Stop::Waiting(format!("Secret '{name}' to be deleted"))),
            Whose::Other(other) => Err(name_taken(format!("there is already Secret '{name}' ({other})"))),
        }
    }
}

fn name_taken(complaint: String) -> Stop {
    let error = Diagnostic::error("deployment-name-taken", complaint)
        .help("delete it, or give the deployment or the instance group another name; the operator retries every 30 s");
    Stop::taken(vec![error], &Sources::default())
}

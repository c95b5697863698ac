//! The observed state of a deployment: the outcome of the conversion, its instance groups and its errands.

use super::Context;
use super::errands::Errands;
use super::outcome::{Observed, Outcome, STEPS};
use super::progress::Progress;
use super::resolved_plugins::Resolution;
use super::stop::{Stop, Wrong};
use boson_api::{BoshDeployment, QuarksJob, QuarksStatefulSet};
use boson_cluster::cache::{Says, Trouble};
use boson_cluster::client::{Error, Kind};
use boson_cluster::objects;
use boson_manifest::labels;
use boson_manifest::names::Names;
use kube::{Resource, ResourceExt};
use serde_json::Value;

// === impl Context ===

impl Context {
    /// The observed state where no input and no object has changed: only readiness can differ.
    pub(super) async fn unchanged(
        &self,
        object: &BoshDeployment,
        namespace: &str,
        resolution: Resolution,
    ) -> Result<Observed, Error> {
        let status = object.status.as_ref();
        let uid = object.uid().unwrap_or_default();
        let (ready, troubles) = ready(self.cache.says("QuarksStatefulSet", &uid));
        let errands = match self.cache.has("QuarksJob", &uid) {
            true => self.errands(object, namespace).await?,
            false => Errands::default(),
        };
        Ok(Observed {
            generation: object.meta().generation,
            outcome: Outcome::Applied,
            wrote: false,
            steps: STEPS,
            errands: Some(errands),
            groups: None,
            ready,
            troubles,
            inputs_digest: None,
            inputs: None,
            outdated: None,
            removed: None,
            post_deploy: None,
            warned: status.and_then(|status| status.warned.clone()),
            plugins: resolution.active.map(|active| active.resolved.uses).unwrap_or_default(),
            faults: resolution.faults,
            loading: resolution.loading,
        })
    }

    /// Converts the deployment, and observes the result.
    pub(super) async fn observe(
        &self,
        object: &BoshDeployment,
        namespace: &str,
        resolution: Resolution,
    ) -> Result<Observed, Error> {
        let progress = Progress::default();
        let Resolution {
            faults,
            loading,
            active,
        } = resolution;
        let plugins = active
            .as_ref()
            .map(|active| active.resolved.uses.clone())
            .unwrap_or_default();
        let result = match active.and_then(|active| self.flow(object, namespace, active, &progress)) {
            Ok(flow) => flow.run().await,
            Err(stop) => Err(stop),
        };
        let (mut removed, mut outdated) = (None, None);
        let mut warned = object.status.as_ref().and_then(|status| status.warned.clone());
        let mut groups = progress.groups();
        let mut inputs = None;
        let outcome = match result {
            Ok(done) => {
                inputs = Some(progress.inputs());
                // Groups that are held back count, too.
                groups = match done.held_back {
                    Some(_) => groups,
                    None => Some(count(&done.objects)),
                };
                removed = Some(done.removed);
                outdated = Some(done.outdated);
                warned = self.warn(object, &done.warnings).await;
                done.held_back.map_or(Outcome::Applied, Outcome::Partly)
            }
            Err(Stop::Waiting(what)) => Outcome::Waiting(what),
            Err(Stop::Wrong(wrong)) => Outcome::Wrong(wrong),
            Err(Stop::Refused(wrong)) => Outcome::Refused(wrong),
            Err(Stop::Api(error)) if error.is_lasting() => Outcome::Refused(Wrong::refused(&error)),
            Err(Stop::Api(error)) => return Err(error),
        };
        let (ready, troubles) = self.ready(object, namespace).await?;
        Ok(Observed {
            generation: object.meta().generation,
            steps: match outcome {
                Outcome::Applied | Outcome::Partly(_) => STEPS,
                _ => progress.steps(),
            },
            outcome,
            wrote: progress.has_written(),
            errands: Some(self.errands(object, namespace).await?),
            groups,
            ready,
            troubles,
            inputs_digest: progress.inputs_digest(),
            inputs,
            outdated,
            removed,
            post_deploy: None,
            warned,
            plugins,
            faults,
            loading,
        })
    }

    /// How many groups are ready, and what is wrong with the others.
    async fn ready(&self, object: &BoshDeployment, namespace: &str) -> Result<Readiness, Error> {
        let sets: Vec<QuarksStatefulSet> = self.owned(object, namespace).await?;
        Ok(ready(sets.iter().map(|set| (set.name_any(), Says::of(set)))))
    }

    /// Its errands: all of its QuarksJobs except those of the conversion.
    async fn errands(&self, object: &BoshDeployment, namespace: &str) -> Result<Errands, Error> {
        let Ok(names) = Names::new(&object.name_any(), namespace, &self.conversion.cluster_domain) else {
            return Ok(Errands::default());
        };
        let jobs: Vec<QuarksJob> = self.owned(object, namespace).await?;
        let errands = jobs.iter().filter(|job| !names.is_conversion(&job.name_any()));
        Ok(Errands::of(errands))
    }

    /// The objects of one kind that the deployment owns.
    async fn owned<K: Kind>(&self, object: &BoshDeployment, namespace: &str) -> Result<Vec<K>, Error> {
        // A deployment whose name is invalid has no objects.
        let Ok(names) = Names::new(&object.name_any(), namespace, &self.conversion.cluster_domain) else {
            return Ok(Vec::new());
        };
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, names.deployment());
        let mut found: Vec<K> = self.cluster.list(namespace, &labels).await?;
        let uid = object.meta().uid.as_deref().unwrap_or_default();
        found.retain(|one| objects::has_owner(one, uid));
        Ok(found)
    }
}

/// How many instance groups are ready, and what is wrong with the others, by name.
type Readiness = (i32, Vec<(String, Trouble)>);

fn ready(says: impl IntoIterator<Item = (String, Says)>) -> Readiness {
    let (mut ready, mut troubles) = (0_i32, Vec::new());
    for (name, says) in says {
        ready = ready.saturating_add(says.ready.into());
        troubles.extend(says.trouble.map(|trouble| (name, trouble)));
    }
    troubles.sort_by(|(one, _), (other, _)| one.cmp(other));
    (ready, troubles)
}

/// How many instance groups are services.
fn count(objects: &[Value]) -> i32 {
    let sets = objects.iter().filter(|object| object["kind"] == "QuarksStatefulSet");
    i32::try_from(sets.count()).unwrap_or(i32::MAX)
}

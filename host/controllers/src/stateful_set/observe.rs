//! Reads what the plan depends on. Pods are read only if the plan needs them.

use super::live::{self, Live};
use super::memory::Key;
use super::memory::rollouts::State;
use super::plan::Seen;
use super::resize::RESIZE;
use super::{Context, MANAGER, Need, names, status};
use boson_api::QuarksStatefulSet;
use boson_cluster::client::{AnyObject, Error, Identity, owner, resource};
use boson_cluster::objects::drift::{self, AddedByOthers};
use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use serde_json::Value;

pub(super) struct Observed {
    pub seen: Seen,
    /// The reference to the QuarksStatefulSet.
    pub owner: OwnerReference,
    /// The StatefulSets whose pods may lack labels.
    pub unlabelled: Vec<String>,
    /// After dry runs: the additions by others that were found before. Objects that count as written since show none.
    pub found_before_dry_runs: Option<Vec<AddedByOthers>>,
}

// === impl Context ===

impl Context {
    pub(super) async fn read_state(&self, set: &QuarksStatefulSet) -> Result<Observed, Error> {
        let place = Identity::of(set)?;
        let key = Key::of(place);
        let followed = self.followed.state(&key, place.uid);
        let (sets, pods) = match followed {
            Some(State { sets, pods }) => (sets, Some(pods)),
            None => {
                self.followed.begin(&key, place.uid);
                (self.followed.add_listed_sets(&key, self.sets(set, place).await?), None)
            }
        };
        let live = Live::of(sets)?;
        self.note(place, names(&live.sets));
        // Before pods are listed: one that is created afterwards is not missed.
        let unlabelled = self.labelled.take(&key, names(&live.sets));
        let owner = owner(set)?;
        let claims = self.claims(set, &live.sets, place.namespace).await?;
        let before = match &pods {
            Some(_) => self.groups_before(set, place.namespace).await?,
            None => Vec::new(),
        };
        let seen = Seen {
            live,
            claims,
            pods,
            before,
            resizes: self.resizes().await?,
        };
        Ok(Observed {
            seen,
            owner,
            unlabelled,
            found_before_dry_runs: None,
        })
    }

    pub(super) async fn read_needed(
        &self,
        set: &QuarksStatefulSet,
        observed: &mut Observed,
        need: Need,
    ) -> Result<(), Error> {
        let seen = &mut observed.seen;
        match need {
            Need::Pods => {
                let place = Identity::of(set)?;
                let names: Vec<&str> = names(&seen.live.sets).collect();
                let selector = format!("{} in ({})", labels::STATEFUL_SET_NAME, names.join(","));
                let pods = self.cluster.list(place.namespace, &selector).await?;
                seen.pods = Some(self.followed.add_listed_pods(&Key::of(place), pods));
                seen.before = self.groups_before(set, place.namespace).await?;
            }
            Need::DryRuns { drifted, additions } => {
                // The sets stay as they were read: pods are compared with the template that they are made from.
                drift::skip_unchangeable(&self.cluster, MANAGER, &drifted, &mut seen.live.objects).await?;
                observed.found_before_dry_runs = Some(additions);
            }
        }
        Ok(())
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

    /// Names of the QuarksStatefulSets that are to be updated before this one, and are not done.
    async fn groups_before(&self, set: &QuarksStatefulSet, namespace: &str) -> Result<Vec<String>, Error> {
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

    /// Notes the StatefulSets whose pods are its own.
    pub(super) fn note<'n>(&self, set: Identity<'_>, names: impl Iterator<Item = &'n str>) {
        let places = names.map(|name| (set.namespace.to_string(), name.to_string()));
        self.interest.note(set.namespace, set.name, places);
    }

    async fn sets(&self, set: &QuarksStatefulSet, place: Identity<'_>) -> Result<Vec<Value>, Error> {
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
                return Ok(live);
            }
        }
        Ok(Vec::new())
    }

    /// Claims of the pods of these StatefulSets; without StatefulSets, all such claims. None while a rollout is
    /// underway and they were as asked when it began: they are not looked at again for each of its pods.
    async fn claims(
        &self,
        set: &QuarksStatefulSet,
        live: &[StatefulSet],
        namespace: &str,
    ) -> Result<Vec<PersistentVolumeClaim>, Error> {
        if !live.is_empty() && (!live.iter().any(live::has_claims) || status::has_disks_as_asked(set)) {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = names(live).collect();
        let selector = match names.as_slice() {
            [] => labels::STATEFUL_SET_NAME.to_string(),
            names => format!("{} in ({})", labels::STATEFUL_SET_NAME, names.join(",")),
        };
        self.cluster.list(namespace, &selector).await
    }
}

/// Whether all of its pods are ready and run what it says now.
fn is_done(set: &QuarksStatefulSet) -> bool {
    let status = set.status.as_ref();
    status.is_some_and(|status| status.ready && status.observed_generation == set.metadata.generation)
}

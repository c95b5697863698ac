//! The instances of a deployment, and their pods.

use crate::access::{Access, Found};
use boson_api::{BoshDeployment, BoshDeploymentSpec, QuarksStatefulSet};
use boson_manifest::instances::Spread;
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Pod;
use kube::{Resource, ResourceExt};
use std::collections::BTreeSet;
use std::fmt;

/// An instance, or one of the pods that it has during a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    pub group: String,
    /// None if the group does not exist any more.
    pub index: Option<usize>,
    pub az: String,
    pub pod: Option<Pod>,
}

pub(crate) struct Group<'o> {
    pub(crate) name: &'o str,
    azs: &'o [String],
    /// Instances of each zone.
    replicas: Vec<usize>,
    spread: Spread,
}

// === impl Instance ===

impl Instance {
    /// All instances of a deployment, sorted: those that its groups have, and pods of others that are not deleted yet.
    ///
    /// # Errors
    /// The groups or the pods cannot be listed.
    pub async fn all(access: &Access, found: &Found) -> anyhow::Result<Vec<Self>> {
        let groups: Vec<QuarksStatefulSet> = access.list(&found.selector).await?;
        let pods = access.list(&pods(&found.selector)).await?;
        Ok(Self::among(&found.deployment, &groups, pods))
    }

    /// Of the groups and pods of a deployment that were read.
    pub fn among<'g>(
        deployment: &BoshDeployment,
        groups: impl IntoIterator<Item = &'g QuarksStatefulSet>,
        pods: Vec<Pod>,
    ) -> Vec<Self> {
        let spread = spread(deployment);
        let groups: Vec<Group<'_>> = groups.into_iter().map(|one| Group::of(one, spread)).collect();
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        for pod in pods {
            let number = |key: &str| label(&pod, key).parse().ok();
            let name = label(&pod, labels::INSTANCE_GROUP_NAME).to_string();
            let group = groups.iter().find(|group| group.name == name);
            let zone = number(labels::AZ_INDEX).unwrap_or(0);
            // Kubernetes 1.28 and later set the label; the name ends in the ordinal in any case.
            let of_name = || pod.metadata.name.as_deref()?.rsplit_once('-')?.1.parse().ok();
            let ordinal = number(labels::KUBERNETES_POD_INDEX).or_else(of_name).unwrap_or(0);
            seen.insert((name.clone(), zone, ordinal));
            all.push(Self {
                group: name,
                index: group.map(|group| group.index(zone, ordinal)),
                az: label(&pod, labels::AZ_NAME).to_string(),
                pod: Some(pod),
            });
        }
        for group in groups {
            for (zone, count) in group.replicas.iter().enumerate() {
                let is_missing = |ordinal: &usize| !seen.contains(&(group.name.to_string(), zone, *ordinal));
                all.extend((0..*count).filter(is_missing).map(|ordinal| Self {
                    group: group.name.to_string(),
                    index: Some(group.index(zone, ordinal)),
                    az: group.azs.get(zone).cloned().unwrap_or_default(),
                    pod: None,
                }));
            }
        }
        all.sort_by(|a, b| a.place().cmp(&b.place()));
        all
    }

    fn place(&self) -> (&str, Option<usize>, Option<&str>) {
        let pod = self.pod.as_ref().and_then(|pod| pod.metadata.name.as_deref());
        (&self.group, self.index, pod)
    }

    /// Whether it, or its group, is to be stopped.
    pub fn is_stopped(&self, spec: &BoshDeploymentSpec) -> bool {
        spec.is_stopped(&self.group) || spec.is_stopped(&self.to_string())
    }

    /// The name of its pod, or nothing.
    pub fn pod_name(&self) -> String {
        self.pod.as_ref().map(ResourceExt::name_any).unwrap_or_default()
    }
}

/// Its name: `GROUP/INDEX`.
impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}/{index}", self.group),
            None => write!(f, "{}/?", self.group),
        }
    }
}

// === impl Group ===

impl<'o> Group<'o> {
    pub(crate) fn of(set: &'o QuarksStatefulSet, spread: Spread) -> Self {
        Self {
            name: label(set, labels::INSTANCE_GROUP_NAME),
            azs: &set.spec.zones,
            replicas: set.spec.replicas_by_zone(),
            spread,
        }
    }

    /// `spec.index` of an instance: see `boson_manifest::instances`.
    fn index(&self, zone: usize, ordinal: usize) -> usize {
        match self.spread {
            Spread::Total => ordinal * self.replicas.len() + zone,
            Spread::PerZone => self.replicas.iter().take(zone).sum::<usize>() + ordinal,
        }
    }

    /// As [`Group::index`], also of an instance that was removed. None: its index was another one, or is another's.
    pub(crate) fn index_of_any(&self, zone: usize, ordinal: usize) -> Option<usize> {
        let is_known = self.has(zone, ordinal) || self.spread == Spread::Total && zone < self.replicas.len();
        is_known.then(|| self.index(zone, ordinal))
    }

    /// Whether it has this instance.
    pub(crate) fn has(&self, zone: usize, ordinal: usize) -> bool {
        self.replicas.get(zone).is_some_and(|count| ordinal < *count)
    }

    /// Name of a zone; empty without zones.
    pub(crate) fn az(&self, zone: usize) -> &str {
        self.azs.get(zone).map_or("", String::as_str)
    }
}

/// The zone and the number of an instance in it.
pub fn place(set: &QuarksStatefulSet, deployment: &BoshDeployment, index: usize) -> Option<(usize, usize)> {
    let group = Group::of(set, spread(deployment));
    let replicas = group.replicas.iter().enumerate();
    let mut all = replicas.flat_map(|(zone, count)| (0..*count).map(move |ordinal| (zone, ordinal)));
    all.find(|(zone, ordinal)| group.index(*zone, *ordinal) == index)
}

/// The selector of the pods of services: only they have the label of the zone.
pub fn pods(selector: &str) -> String {
    format!("{selector},{}", labels::AZ_INDEX)
}

/// What `instances` of a group means in a deployment.
pub(crate) fn spread(deployment: &BoshDeployment) -> Spread {
    let conversion = deployment.spec.conversion.as_ref();
    conversion.map_or_else(Spread::default, |conversion| conversion.instances.into())
}

pub(crate) fn label<'o>(object: &'o impl Resource, key: &str) -> &'o str {
    let labels = object.meta().labels.as_ref();
    labels.and_then(|labels| labels.get(key)).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_manifest::instances::Layout;
    use serde_json::json;

    #[test]
    fn indexes_are_those_of_the_manifest() {
        let azs = ["a", "b", "c"].map(String::from);
        for (spread, instances, each) in [(Spread::Total, 7, 3), (Spread::PerZone, 4, 4)] {
            let set = json!({
                "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet", "metadata": {},
                "spec": {"template": {"spec": {"replicas": each}}, "zones": azs},
            });
            let set = serde_json::from_value(set).unwrap();
            let group = Group::of(&set, spread);
            let layout = Layout {
                group: "g",
                azs: &azs,
                instances,
                spread,
            };
            for pod in layout.pods() {
                let found = group.index(pod.zone as usize, pod.ordinal as usize);
                assert_eq!(found, pod.index as usize, "{spread:?}");
            }
        }
    }
}

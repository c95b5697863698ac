//! What to delete because no workload needs it any more: versions of Secrets, copies of plugins and job sources. Pure.

use boson_cluster::objects::{label, versioned};
use boson_manifest::labels;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeSet;

pub struct Candidates<'a> {
    /// Versions of documents of the conversion: see [`documents`].
    pub versions: Vec<ObjectMeta>,
    /// ConfigMaps that no wanted object mounts.
    pub maps: Vec<ConfigMap>,
    /// UID of the deployment.
    pub owner: &'a str,
    /// Names of the series that the deployment uses.
    pub series: &'a BTreeSet<String>,
    /// How many unused versions to retain beside the newest.
    pub keep: usize,
}

#[derive(Debug, Default)]
pub struct Garbage<'a> {
    pub secrets: Vec<&'a ObjectMeta>,
    pub maps: Vec<&'a ConfigMap>,
}

// === impl Candidates ===

impl Candidates<'_> {
    /// Names of what would be deleted if no workload needed it.
    pub fn names(&self) -> Vec<&str> {
        let unused = self.garbage(false, |_| false);
        let secrets = unused.secrets.into_iter().filter_map(|meta| meta.name.as_deref());
        let maps = self.maps.iter().filter_map(|map| map.metadata.name.as_deref());
        secrets.chain(maps).collect()
    }

    /// What to delete. `rolls`: whether pods of an older revision may still start; `is_used`: whether a workload refers
    /// to this name.
    pub fn garbage(&self, rolls: bool, is_used: impl Fn(&str) -> bool) -> Garbage<'_> {
        let mut secrets = versioned::garbage(&self.versions, self.owner, self.series, self.keep, &is_used);
        secrets.retain(|meta| !rolls || is_never_mounted_by_sets(meta));
        let maps = self.maps.iter().filter(|_| !rolls);
        let maps = maps.filter(|map| !map.metadata.name.as_deref().is_some_and(&is_used));
        Garbage {
            secrets,
            maps: maps.collect(),
        }
    }
}

/// The versions that are documents of the conversion, not the output of an errand.
pub fn documents(mut versions: Vec<ObjectMeta>) -> Vec<ObjectMeta> {
    versions.retain(|meta| label(meta, labels::SECRET_TYPE).is_some());
    versions
}

/// Deleted even during a rollout: else a stuck rollout would retain every manifest from then on.
fn is_never_mounted_by_sets(meta: &ObjectMeta) -> bool {
    label(meta, labels::SECRET_TYPE) == Some(labels::secret_type::DESIRED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_manifest::labels::{secret_kind, secret_type};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    fn version(name: &str, kind: Option<&str>) -> ObjectMeta {
        let owner = OwnerReference {
            uid: "u".into(),
            ..OwnerReference::default()
        };
        let kind = kind.map(|kind| (labels::SECRET_TYPE, kind));
        let labels = [(labels::SECRET_KIND, secret_kind::VERSIONED)].into_iter().chain(kind);
        ObjectMeta {
            name: Some(name.into()),
            labels: Some(labels.map(|(key, value)| (key.into(), value.into())).collect()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn old_versions_and_unmounted_maps_are_deleted_unless_a_workload_needs_them_or_pods_roll() {
        let map = ConfigMap {
            metadata: version("m", None),
            ..ConfigMap::default()
        };
        let series = BTreeSet::from(["d.desired-manifest".to_string(), "d.ig-resolved.a".to_string()]);
        let candidates = Candidates {
            versions: documents(vec![
                version("d.desired-manifest-v1", Some(secret_type::DESIRED)),
                version("d.desired-manifest-v2", Some(secret_type::DESIRED)),
                version("d.ig-resolved.a-v1", Some(secret_type::RESOLVED)),
                version("d.ig-resolved.a-v2", Some(secret_type::RESOLVED)),
                version("d.ig-resolved.gone-v1", Some(secret_type::RESOLVED)),
                version("output-of-an-errand-v1", None),
            ]),
            maps: vec![map],
            owner: "u",
            series: &series,
            keep: 0,
        };
        let unused = ["d.desired-manifest-v1", "d.ig-resolved.a-v1", "d.ig-resolved.gone-v1"];
        assert_eq!(candidates.names(), [&unused[..], &["m"]].concat());
        let deleted = |rolls, used: &str| {
            let garbage = candidates.garbage(rolls, |name| name == used);
            let secrets = garbage.secrets.iter().filter_map(|meta| meta.name.clone());
            (secrets.collect::<Vec<_>>(), garbage.maps.len())
        };
        assert_eq!(deleted(false, ""), (unused.map(String::from).to_vec(), 1));
        assert_eq!(deleted(false, "m").1, 0);
        assert_eq!(deleted(false, "d.ig-resolved.a-v1").0, [unused[0], unused[2]]);
        assert_eq!(
            deleted(true, ""),
            (vec![unused[0].to_string()], 0),
            "pods may still start"
        );
    }
}

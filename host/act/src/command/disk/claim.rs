//! The claims that disks get when they are orphaned or attached. Pure.

use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;
use kube::api::ObjectMeta;

/// Kubernetes' limit for names.
const MAX_NAME_LENGTH: usize = 253;
/// Enough of a UID to tell the disks that an instance had.
const UID_DIGITS: usize = 8;
/// Annotations of Kubernetes' volume controllers: they are about a binding.
const BINDING_ANNOTATIONS: [&str; 3] = [
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
];

/// The claim of a disk after it was orphaned; none if its name would be too long.
pub fn orphaned_claim(claim: &PersistentVolumeClaim) -> Option<PersistentVolumeClaim> {
    let from = claim.name_any();
    let uid: String = claim
        .uid()?
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(UID_DIGITS)
        .collect();
    let name = format!("{from}-orphaned-{uid}");
    if name.len() > MAX_NAME_LENGTH {
        return None;
    }
    let mut orphan = copy_claim(claim, &name);
    let annotations = orphan.metadata.annotations.get_or_insert_default();
    annotations.insert(labels::ORPHANED_FROM.into(), from);
    Some(orphan)
}

/// The claim with which an instance gets a volume. `present`: that of the disk that it has now; `set`: its StatefulSet.
/// `copies`: with the properties of that disk, not of the volume.
pub fn attached_claim(
    name: &str,
    present: Option<&PersistentVolumeClaim>,
    set: &StatefulSet,
    volume: &PersistentVolume,
    copies: bool,
) -> Option<PersistentVolumeClaim> {
    let mut claim = match present {
        Some(present) => copy_claim(present, name),
        None => claim_of_template(name, set)?,
    };
    let of_volume = volume.spec.as_ref()?;
    let spec = claim.spec.get_or_insert_default();
    spec.volume_name = volume.metadata.name.clone();
    if !copies {
        spec.storage_class_name = Some(of_volume.storage_class_name.clone().unwrap_or_default());
        let capacity = of_volume.capacity.as_ref().and_then(|capacity| capacity.get("storage"));
        spec.resources = capacity.map(storage_request);
    }
    Some(claim)
}

fn storage_request(size: &Quantity) -> VolumeResourceRequirements {
    VolumeResourceRequirements {
        requests: Some([("storage".to_string(), size.clone())].into()),
        ..VolumeResourceRequirements::default()
    }
}

/// A claim with the labels and the specification of another one.
fn copy_claim(claim: &PersistentVolumeClaim, name: &str) -> PersistentVolumeClaim {
    let is_kept =
        |key: &String| BINDING_ANNOTATIONS.iter().all(|start| !key.starts_with(start)) && key != labels::ORPHANED_FROM;
    let annotations = claim.metadata.annotations.clone().unwrap_or_default();
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: claim.metadata.namespace.clone(),
            labels: claim.metadata.labels.clone(),
            annotations: Some(annotations.into_iter().filter(|(key, _)| is_kept(key)).collect()),
            ..ObjectMeta::default()
        },
        spec: claim.spec.clone(),
        status: None,
    }
}

/// As its StatefulSet would create it.
fn claim_of_template(name: &str, set: &StatefulSet) -> Option<PersistentVolumeClaim> {
    let template = template(set, name)?;
    let mut labels = template.metadata.labels.clone().unwrap_or_default();
    labels.extend(set.spec.as_ref()?.selector.match_labels.clone().unwrap_or_default());
    Some(PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: set.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: template.metadata.annotations.clone(),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            volume_name: None,
            ..template.spec.clone()?
        }),
        status: None,
    })
}

/// The template of a claim of this name.
fn template<'s>(set: &'s StatefulSet, name: &str) -> Option<&'s PersistentVolumeClaim> {
    let (start, _) = name.rsplit_once('-')?;
    let of = start.strip_suffix(set.metadata.name.as_deref()?)?.strip_suffix('-')?;
    let mut templates = set.spec.iter().flat_map(|spec| &spec.volume_claim_templates).flatten();
    templates.find(|one| one.metadata.name.as_deref() == Some(of))
}

/// The name of the claim of an instance's disk: that of the manifest's `persistent_disk`, or of its only one.
///
/// # Errors
/// It has none, or several.
pub fn name(set: &StatefulSet, group: &str, ordinal: usize) -> Result<String, String> {
    let templates = set.spec.iter().flat_map(|spec| &spec.volume_claim_templates).flatten();
    let names: Vec<String> = templates.map(ResourceExt::name_any).collect();
    let managed = format!("{group}-pvc");
    let template = match names.as_slice() {
        [] => return Err("the instance group has no persistent disk".into()),
        [only] => only,
        several => several.iter().find(|name| **name == managed).ok_or_else(|| {
            format!(
                "the instance group has several disks, none of them '{managed}': {}",
                several.join(", ")
            )
        })?,
    };
    Ok(format!("{template}-{}-{ordinal}", set.name_any()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    fn set() -> StatefulSet {
        from_value(json!({
            "metadata": {"name": "d-db-v1", "namespace": "n"},
            "spec": {"selector": {"matchLabels": {"own": "db"}}, "serviceName": "s", "template": {}, "volumeClaimTemplates": [
                {"metadata": {"name": "db-pvc", "labels": {"a": "b"}},
                    "spec": {"storageClassName": "slow", "resources": {"requests": {"storage": "1Gi"}}}},
                {"metadata": {"name": "extra"}},
            ]},
        }))
        .unwrap()
    }

    fn claim() -> PersistentVolumeClaim {
        from_value(json!({
            "metadata": {"name": "db-pvc-d-db-v1-0", "namespace": "n", "uid": "12345678-90", "labels": {"a": "b"},
                "annotations": {"pv.kubernetes.io/bind-completed": "yes", "mine": "kept"}},
            "spec": {"volumeName": "old", "storageClassName": "slow", "resources": {"requests": {"storage": "1Gi"}}},
        }))
        .unwrap()
    }

    fn volume() -> PersistentVolume {
        from_value(
            json!({"metadata": {"name": "pv"}, "spec": {"storageClassName": "fast", "capacity": {"storage": "5Gi"}}}),
        )
        .unwrap()
    }

    #[test]
    fn an_orphan_says_whose_disk_it_was() {
        let orphan = json!(orphaned_claim(&claim()).unwrap());
        let name = "db-pvc-d-db-v1-0-orphaned-12345678";
        assert_eq!(
            orphan["metadata"],
            json!({
                "name": name, "namespace": "n", "labels": {"a": "b"},
                "annotations": {"mine": "kept", labels::ORPHANED_FROM: "db-pvc-d-db-v1-0"},
            })
        );
        assert_eq!(orphan["spec"]["volumeName"], "old");
        let mut long = claim();
        long.metadata.name = Some("x".repeat(240));
        assert!(orphaned_claim(&long).is_none());
    }

    #[test]
    fn an_attached_disk_has_the_properties_of_its_volume_or_of_the_disk_before() {
        let name = name(&set(), "db", 0).unwrap();
        assert_eq!(name, "db-pvc-d-db-v1-0");
        let spec = |present: Option<&PersistentVolumeClaim>, copies| {
            let claim = json!(attached_claim(&name, present, &set(), &volume(), copies).unwrap());
            assert_eq!(claim["metadata"]["labels"]["a"], "b");
            let spec = &claim["spec"];
            assert_eq!(spec["volumeName"], "pv");
            (
                spec["storageClassName"].clone(),
                spec["resources"]["requests"]["storage"].clone(),
            )
        };
        assert_eq!(spec(Some(&claim()), false), (json!("fast"), json!("5Gi")));
        assert_eq!(spec(Some(&claim()), true), (json!("slow"), json!("1Gi")));
        assert_eq!(spec(None, false), (json!("fast"), json!("5Gi")));
        let made = json!(attached_claim(&name, None, &set(), &volume(), false).unwrap());
        assert_eq!(made["metadata"]["labels"]["own"], "db");
    }

    #[test]
    fn a_group_without_a_disk_gets_none() {
        let mut set = set();
        set.spec.as_mut().unwrap().volume_claim_templates = None;
        assert!(name(&set, "db", 0).is_err());
    }
}

//! Claims: the persistent disk, an ephemeral disk that is one, extra disks.

use super::{ephemeral_name, persistent_name};
use crate::group::settings::ExtraDisk;
use crate::group::{Group, Lifecycle};
use crate::object::{compact, object};
use boson_document::Tree;
use boson_processes::bytes::{mebibytes, quantity};
use indexmap::IndexMap;

/// Templates of the claims of a service's pods.
pub fn claim_templates(group: &Group) -> Vec<Tree> {
    if group.lifecycle != Lifecycle::Service {
        return Vec::new();
    }
    // Not the labels of the user: templates of claims cannot be changed, and labels are.
    let (labels, annotations) = (group.selector(), group.metadata.annotations.clone());
    let metadata =
        compact(object! { "name" => persistent_name(group), "labels" => labels, "annotations" => annotations });
    let own = group
        .disks
        .persistent
        .map(|size| object! { "metadata" => metadata, "spec" => claim(group, size) });
    own.into_iter().chain(extra(group).into_values().cloned()).collect()
}

/// Claims of extra disks by name: the same may be given again for other containers.
fn extra(group: &Group) -> IndexMap<&str, &Tree> {
    group
        .settings
        .disks
        .iter()
        .filter_map(|disk| Some((claim_name(disk)?, disk.claim.as_ref()?)))
        .collect()
}

/// Claims of an errand's pod.
pub fn claims(group: &Group) -> Vec<Tree> {
    if group.lifecycle == Lifecycle::Service {
        return Vec::new();
    }
    let object = |name: &str, spec: Tree| {
        let metadata = group.metadata.named(name);
        object! { "apiVersion" => "v1", "kind" => "PersistentVolumeClaim", "metadata" => metadata, "spec" => spec }
    };
    let own = errand_claim(group)
        .zip(group.disks.persistent)
        .map(|(name, size)| object(&name, claim(group, size)));
    let extra = extra(group).into_iter().map(|(name, claim)| {
        object(
            &extra_claim(group, name),
            claim.get("spec").cloned().unwrap_or_default(),
        )
    });
    own.into_iter().chain(extra).collect()
}

fn claim(group: &Group, size: u64) -> Tree {
    let requests = object! { "storage" => quantity(mebibytes(size)) };
    let spec = object! { "accessModes" => vec!["ReadWriteOnce"], "resources" => object! { "requests" => requests } };
    spec.with_some("storageClassName", group.disks.class.as_deref())
}

/// Default size of an ephemeral claim in MiB: that of the predecessor.
const EPHEMERAL_CLAIM_MIB: u64 = 10_240;

/// The volume of ephemeral data.
pub fn ephemeral(group: &Group) -> Tree {
    let name = ephemeral_name(group);
    if group.settings.ephemeral_claim {
        let size = group
            .disks
            .ephemeral
            .or(group.disks.persistent)
            .unwrap_or(EPHEMERAL_CLAIM_MIB);
        let metadata = compact(object! { "annotations" => group.metadata.annotations.clone() });
        let template = compact(object! { "metadata" => metadata, "spec" => claim(group, size) });
        return object! { "name" => name, "ephemeral" => object! { "volumeClaimTemplate" => template } };
    }
    let limit = group
        .disks
        .ephemeral
        .map(|size| object! { "sizeLimit" => quantity(mebibytes(size)) });
    object! { "name" => name, "emptyDir" => limit.unwrap_or_else(Tree::object) }
}

/// Name of the claim of an errand with a persistent disk.
pub fn errand_claim(group: &Group) -> Option<String> {
    let wanted = group.lifecycle != Lifecycle::Service && group.disks.persistent.is_some();
    wanted.then(|| group.names.group(&group.name).ok()).flatten()
}

/// Name of the claim of an extra disk.
pub fn claim_name(disk: &ExtraDisk) -> Option<&str> {
    disk.claim.as_ref()?.get("metadata")?.str("name")
}

/// Name of the claim object of an errand's extra disk.
pub fn extra_claim(group: &Group, claim: &str) -> String {
    group
        .names
        .group(&format!("{}-{claim}", group.name))
        .unwrap_or_default()
}

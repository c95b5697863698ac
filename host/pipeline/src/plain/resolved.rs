//! The Secrets with the resolved documents of instance groups, which init containers render templates from.

use super::FIRST_VERSION;
use crate::digest::sha256;
use crate::object::{metadata, new_object, remove};
use crate::plain::codes;
use crate::resolved_document;
use crate::stage::ResolvedGroup;
use crate::{Diagnostic, yaml};
use boson_document::Tree;
use boson_manifest::labels::{self, secret_kind, secret_type};
use boson_manifest::names::{NameError, Names, label_value};
use std::collections::HashMap;
use std::slice;

/// Key of the document in the Secret.
pub const KEY: &str = "properties.yaml";
/// Key of the number of instances in the largest zone, the variable REPLICAS of containers. They read it from here, so
/// that scaling changes nothing in the pod template but the Secret's version.
pub const REPLICAS: &str = "replicas";
/// Annotation of a pod template: digest of the data that its pods render. A change restarts them; a changed number of
/// instances does not count.
pub const DIGEST: &str = "quarks.cloudfoundry.org/resolved-digest";

/// The Secret of a group, at the first version.
///
/// Its document is compressed if it is large. It is not marked as immutable: the next conversion replaces it.
///
/// # Errors
/// A group without a valid Kubernetes name, or more text than a Secret holds.
pub fn resolved_secret(names: &Names, group: &ResolvedGroup) -> Result<Tree, Diagnostic> {
    let name = secret_name(names, group)?;
    let label = label_value(&group.name);
    let labels = Tree::object()
        .with(labels::DEPLOYMENT_NAME, names.deployment())
        .with(labels::INSTANCE_GROUP_NAME, label)
        .with(labels::SECRET_TYPE, secret_type::RESOLVED)
        .with(labels::SECRET_KIND, secret_kind::VERSIONED)
        .with(labels::SECRET_VERSION, FIRST_VERSION.to_string());
    let tags: Tree = super::tags(&group.document, Some(&group.name)).into_iter().collect();
    let secret = new_object("v1", "Secret", metadata(&name, None, labels, tags)).with("type", "Opaque");
    super::secret::with_packed_data(secret, entries(group)).map_err(|error| {
        let help = "it holds every instance of the group and of the groups that its links lead to: have fewer of them, or several smaller groups";
        error.help(help)
    })
}

/// The content of a group's Secret, as texts.
pub fn entries(group: &ResolvedGroup) -> Vec<(String, String)> {
    // Members keep their order: templates that iterate over a hash give the same text here and in the pod.
    let mut entries = vec![(KEY.into(), yaml::write_manifest(slice::from_ref(&group.document)))];
    let replicas = resolved_document::replicas(&group.document);
    entries.extend(replicas.map(|replicas| (REPLICAS.into(), replicas.to_string())));
    entries
}

/// Annotates the pods of StatefulSets that mount the Secret of one of these groups with the digest of the data that
/// they render.
///
/// Pods of Jobs are not annotated: a Job's template cannot be changed.
///
/// # Errors
/// A group without a valid Kubernetes name.
pub fn mark_pods(objects: &mut [Tree], names: &Names, groups: &[ResolvedGroup]) -> Result<(), Diagnostic> {
    let digest = |group| Ok((secret_name(names, group)?, Rendered::of(group)));
    let digests = groups.iter().map(digest).collect::<Result<_, Diagnostic>>()?;
    let is_set = |object: &&mut Tree| object.str("kind") == Some("StatefulSet");
    objects.iter_mut().filter(is_set).for_each(|set| mark(set, &digests));
    Ok(())
}

fn secret_name(names: &Names, group: &ResolvedGroup) -> Result<String, Diagnostic> {
    let no_name = |error: NameError| Diagnostic::error(codes::PLAIN_NO_NAME, error.to_string());
    names.resolved(&group.name, Some(FIRST_VERSION)).map_err(no_name)
}

fn mark(set: &mut Tree, digests: &HashMap<String, Rendered>) {
    let zone = crate::object::map(set, "labels");
    let zone = zone.str(labels::AZ_INDEX).and_then(|index| index.parse().ok());
    let Some(pods) = set.get_mut("spec").and_then(|spec| spec.get_mut("template")) else {
        return;
    };
    let volumes = pods.get("spec").map(|pod| pod.items("volumes")).unwrap_or_default();
    let mounted = volumes
        .iter()
        .filter_map(|volume| volume.get("secret")?.str("secretName"));
    let Some(rendered) = mounted.filter_map(|name| digests.get(name)).next() else {
        return;
    };
    let digest = rendered.digest(zone.unwrap_or(0));
    let annotations = crate::object::map(pods, "annotations").with(DIGEST, digest);
    if let Some(metadata) = pods.get_mut("metadata") {
        metadata.set("annotations", annotations);
    }
}

/// The data from which the files of a group's pods are rendered.
struct Rendered {
    /// The document, without the number of instances and the data of each instance.
    document: String,
    /// `spec.index` of the first pod of each zone that has pods.
    first_indexes: Vec<u32>,
}

// === impl Rendered ===

impl Rendered {
    /// A pod gets only its own instance, so more instances in its group restart no pod. Links hold the instances of
    /// their groups, so those changes do.
    fn of(group: &ResolvedGroup) -> Self {
        let first = |zone| resolved_document::index(&group.document, zone, 0);
        let first_indexes = (0..).map_while(first).collect();
        let mut document = group.document.clone();
        for group in document.items_mut("instance_groups") {
            remove(group, "instances");
            for job in group.items_mut("jobs") {
                if let Some(quarks) = job.get_mut("properties").and_then(|all| all.get_mut("quarks")) {
                    remove(quarks, "instances");
                    remove(quarks, "hypothetical");
                }
            }
        }
        Self {
            document: yaml::write_manifest(&[document]),
            first_indexes,
        }
    }

    /// Digest of the document for the zone number `zone`, from 0. If `instances` is the number in each zone, it moves
    /// the indexes of the later zones.
    fn digest(&self, zone: usize) -> String {
        let first = self.first_indexes.get(zone).unwrap_or(&0);
        sha256(format!("{first}\n{}", self.document))
    }
}

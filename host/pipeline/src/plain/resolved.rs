//! The Secrets with the resolved documents of instance groups, which init containers render templates from.

use crate::object::metadata;
use crate::stage::ResolvedGroup;
use crate::{Diagnostic, yaml};
use boson_deployment::labels::{self, secret_kind, secret_type};
use boson_deployment::names::{LABEL_LIMIT, NameError, Names, cut, label};
use boson_document::{Pointer, Tree, go};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::slice;

/// Key of the document in the Secret.
pub const KEY: &str = "properties.yaml";
/// Key of the number of instances in a zone: pods take it from here, so that scaling does not change their template.
pub const REPLICAS: &str = "replicas";
/// Annotation of a pod template: digest of the document that its pods render. A changed document restarts them.
pub const DIGEST: &str = "quarks.cloudfoundry.org/resolved-digest";

/// The Secret of a group at one version.
///
/// It is not marked as immutable: who keeps several versions does that.
///
/// # Errors
/// A group without a name that Kubernetes takes, more text than a Secret holds.
pub fn resolved_secret(names: &Names, group: &ResolvedGroup, version: u32) -> Result<Tree, Box<Diagnostic>> {
    let unnamed = |error: NameError| Box::new(Diagnostic::error("plain-no-name", error.to_string()));
    let name = names.resolved(&group.name, Some(version)).map_err(unnamed)?;
    let label = cut(&label(&group.name), "", LABEL_LIMIT);
    let labels = Tree::object()
        .with(labels::DEPLOYMENT_NAME, names.deployment())
        .with(labels::INSTANCE_GROUP_NAME, label)
        .with(labels::SECRET_TYPE, secret_type::RESOLVED)
        .with(labels::SECRET_KIND, secret_kind::VERSIONED)
        .with(labels::SECRET_VERSION, version.to_string());
    let secret = Tree::object()
        .with("apiVersion", "v1")
        .with("kind", "Secret")
        .with("metadata", metadata(&name, None, labels, tags(&group.document)))
        .with("type", "Opaque");
    // Members in their order: templates that walk over a hash give the same text here and in the pod.
    let mut entries = vec![(KEY.into(), yaml::write_manifest(slice::from_ref(&group.document)))];
    let instances = Pointer::from(["instance_groups", "0", "instances"].map(String::from).to_vec());
    let instances = instances.find(&group.document).and_then(Tree::as_i64);
    entries.extend(instances.map(|instances| (REPLICAS.into(), instances.to_string())));
    super::secret::with_data(secret, &entries)
}

/// Tags of the deployment and the group: annotations, as on every object. The bpm stage has checked them.
fn tags(document: &Tree) -> Tree {
    let group = document.items("instance_groups").first();
    let tags = [document.get("tags"), group.and_then(|group| group.get("tags"))];
    let members = tags.into_iter().flatten().filter_map(Tree::as_map).flatten();
    members
        .filter_map(|(name, value)| Some((name.clone(), go::text(value)?)))
        .collect()
}

/// Marks the pods of StatefulSets that mount one of these Secrets with the digest of its document.
///
/// Not those of Jobs: their templates cannot be changed.
pub fn mark_pods(objects: &mut [Tree], secrets: &[Tree]) {
    let digest = |secret: &Tree| {
        let document = secret.get("data").and_then(|data| data.str(KEY)).unwrap_or_default();
        Sha256::digest(document)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let digests: HashMap<&str, String> = secrets
        .iter()
        .map(|one| (crate::object::name(one), digest(one)))
        .collect();
    for object in objects
        .iter_mut()
        .filter(|object| object.str("kind") == Some("StatefulSet"))
    {
        let Some(pods) = object.get_mut("spec").and_then(|spec| spec.get_mut("template")) else {
            continue;
        };
        let volumes = pods.get("spec").map(|pod| pod.items("volumes")).unwrap_or_default();
        let mounted = volumes
            .iter()
            .filter_map(|volume| volume.get("secret")?.str("secretName"));
        let Some(digest) = mounted.filter_map(|name| digests.get(name)).next() else {
            continue;
        };
        let annotations = crate::object::map(pods, "annotations").with(DIGEST, digest.as_str());
        if let Some(metadata) = pods.get_mut("metadata") {
            metadata.set("annotations", annotations);
        }
    }
}

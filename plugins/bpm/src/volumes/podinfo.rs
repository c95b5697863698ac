//! The volume with the pod's own annotations, for the scripts that wait for one.

use crate::group::Group;
use crate::object::object;
use boson_document::Tree;
use boson_manifest::labels;

/// Where it is mounted.
pub const DIRECTORY: &str = "/etc/podinfo";
pub const VOLUME: &str = "podinfo";
/// Its file with the annotation that the operator writes when the whole deployment is ready.
pub const FILE: &str = "post-deploy";

/// The volume, where a script waits for an annotation.
pub fn volume(group: &Group) -> Option<Tree> {
    group.jobs_with_sidecar().find(|job| job.scripts.post_deploy)?;
    let field = object! { "fieldPath" => format!("metadata.annotations['{}']", labels::POST_DEPLOY) };
    let item = object! { "path" => FILE, "fieldRef" => field };
    Some(object! { "name" => VOLUME, "downwardAPI" => object! { "items" => vec![item] } })
}

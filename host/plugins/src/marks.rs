//! Labels and keys of ConfigMaps with plugins, and their limits.

use crate::codes;
use boson_document::Code;
use boson_pipeline::Stage;

/// Label: the stage of the plugin in a ConfigMap.
pub const PLUGIN: &str = "quarks.cloudfoundry.org/plugin";
/// Annotation of a ConfigMap with further parts of a plugin: the name of the one with its `plugin.yaml`.
pub const PART_OF: &str = "quarks.cloudfoundry.org/plugin-part-of";
/// Annotation of a ConfigMap whose `plugin.yaml` names an image by its tag: the image with the digest that the tag was
/// resolved to.
pub const IMAGE: &str = "quarks.cloudfoundry.org/plugin-image";
/// Annotation of a ConfigMap with a canary that was stopped: the digest of its content, and why.
pub const STOPPED: &str = "quarks.cloudfoundry.org/plugin-canary-stopped";
/// Label of a copy that pods mount: `"true"`.
pub const COPY: &str = "quarks.cloudfoundry.org/plugin-copy";
/// Label of the ConfigMap with the record of a plugin's versions: `"true"`.
pub const HISTORY: &str = "quarks.cloudfoundry.org/plugin-history";
/// Label of a copy of a version of a plugin: `"true"`.
pub const KEPT: &str = "quarks.cloudfoundry.org/plugin-revision";
/// Annotation of such a copy: the name of the ConfigMap that it is a copy of.
pub const CONTENT_OF: &str = "quarks.cloudfoundry.org/plugin-content-of";
/// Key of the description.
pub const DOCUMENT: &str = "plugin.yaml";
/// Key of a signature of the component, in base64.
pub const SIGNATURE: &str = "plugin.wasm.sig";
/// Key of an attestation of the component: an envelope or a bundle, JSON.
pub const ATTESTATION: &str = "plugin.wasm.att";
/// Diagnostic code of a plugin without enough memory for its machine code.
pub const NO_MEMORY: &Code = codes::PLUGIN_NO_MEMORY;
/// Most plugins of one namespace: limits what one team makes the operator compile and hold.
pub const MAX_PLUGINS_PER_NAMESPACE: usize = 16;
/// Most plugins of all namespaces.
pub const MAX_PLUGINS: usize = 128;
/// Longest name of a ConfigMap.
pub const MAX_NAME_LENGTH: usize = 253;
/// Stages that pods may run: all of them in a conversion in pods, and the last in the pods of every deployment.
pub const IN_PODS: [Stage; 3] = [Stage::Variables, Stage::Links, Stage::Render];

/// The name of a ConfigMap that belongs to a plugin or a deployment: the name of that, cut where necessary, with a
/// suffix.
pub fn with_suffix(name: &str, suffix: &str) -> String {
    let cut = MAX_NAME_LENGTH.saturating_sub(suffix.len()).min(name.len());
    let name = name.get(..cut).unwrap_or_default().trim_end_matches(['.', '-']);
    format!("{name}{suffix}")
}

//! How ConfigMaps say that they hold a plugin, and the limits of that.

use boson_pipeline::Stage;

/// Label: the stage of the plugin that a ConfigMap holds, or a part of.
pub const PLUGIN: &str = "quarks.cloudfoundry.org/plugin";
/// Annotation of a ConfigMap that holds more parts of a plugin: the name of the one with its `plugin.yaml`.
pub const PART_OF: &str = "quarks.cloudfoundry.org/plugin-part-of";
/// Label of a copy that pods mount: `"true"`.
pub const COPY: &str = "quarks.cloudfoundry.org/plugin-copy";
/// Key of the description.
pub const DOCUMENT: &str = "plugin.yaml";
/// Code of a plugin for whose machine code there is no memory left.
pub const NO_MEMORY: &str = "plugin-no-memory";
/// Plugins of one namespace: what one team may have the operator compile and hold.
pub const MAX_IN_NAMESPACE: usize = 16;
/// Plugins of all namespaces.
pub const MAX_PLUGINS: usize = 128;
/// Stages that pods may run: those of a conversion in pods, and the last in the pods of every deployment.
pub const IN_PODS: [Stage; 3] = [Stage::Variables, Stage::Links, Stage::Render];

//! Tables of every key of a manifest and its effect: used, warned about or refused.
//!
//! Tables hold the paths below one root: the [manifest](MANIFEST), an [instance group](GROUP) of the resolved document, a [job](JOB), the job
//! property [`quarks`](QUARKS). A path's tokens are member names, `[]` for the items of a list, `*` for any name. Values below a key without deeper
//! paths are not checked. Unknown keys are warned about.

mod walk;

pub use walk::{features, walk, walk_answered, walk_properties};

use crate::value::Kind;

/// How a key is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has its effect, here or in another stage.
    Used,
    /// It has no effect; why.
    Warned(&'static str),
    /// It is refused, with BOSH's message or ours.
    Refused(&'static str),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Path below the table's root.
    pub path: &'static str,
    /// Type.
    pub kind: Kind,
    /// BOSH, or our use of it, requires it.
    pub required: bool,
    /// How it is handled.
    pub fate: Fate,
}

const fn used(path: &'static str, kind: Kind) -> Key {
    Key {
        path,
        kind,
        required: false,
        fate: Fate::Used,
    }
}

const fn needed(path: &'static str, kind: Kind) -> Key {
    Key {
        path,
        kind,
        required: true,
        fate: Fate::Used,
    }
}

const fn warned(path: &'static str, kind: Kind, why: &'static str) -> Key {
    Key {
        path,
        kind,
        required: false,
        fate: Fate::Warned(why),
    }
}

const fn refused(path: &'static str, text: &'static str) -> Key {
    Key {
        path,
        kind: Kind::Any,
        required: false,
        fate: Fate::Refused(text),
    }
}

const FEATURE: &str = "the director feature does not exist in Kubernetes";
const AGENT: &str = "there is no BOSH agent in a container";
const NO_VM: &str = "there are no virtual machines in Kubernetes";
/// Why `properties` of manifests and groups are refused.
pub const PROPERTIES: &str = "Key 'properties' is not supported here: move the properties to the jobs that use them";

/// The manifest, but for its instance groups.
pub const MANIFEST: &[Key] = &[
    used("name", Kind::String),
    warned("director_uuid", Kind::String, "there is no director"),
    used("features", Kind::Hash),
    used("features.converge_variables", Kind::Any),
    used("features.use_dns_addresses", Kind::Any),
    warned("features.use_short_dns_addresses", Kind::Any, FEATURE),
    warned("features.use_link_dns_names", Kind::Any, FEATURE),
    warned("features.randomize_az_placement", Kind::Any, FEATURE),
    warned("features.use_tmpfs_config", Kind::Any, FEATURE),
    needed("releases", Kind::Array),
    needed("releases[].name", Kind::String),
    needed("releases[].version", Kind::String),
    used("releases[].url", Kind::String),
    warned("releases[].sha1", Kind::String, "the registry vouches for its images"),
    used("releases[].stemcell", Kind::Hash),
    needed("releases[].stemcell.os", Kind::String),
    needed("releases[].stemcell.version", Kind::String),
    warned(
        "releases[].exported_from",
        Kind::Array,
        "the release's 'stemcell' determines its image",
    ),
    used("releases[].credentials", Kind::Hash),
    needed("releases[].credentials.username", Kind::String),
    needed("releases[].credentials.password", Kind::String),
    used("stemcells", Kind::Array),
    needed("stemcells[].alias", Kind::String),
    used("stemcells[].os", Kind::String),
    warned(
        "stemcells[].name",
        Kind::String,
        "images are named by a stemcell's 'os'",
    ),
    needed("stemcells[].version", Kind::String),
    used("update", Kind::Hash),
    used("update.canaries", Kind::String),
    used("update.max_in_flight", Kind::String),
    used("update.canary_watch_time", Kind::String),
    used("update.update_watch_time", Kind::String),
    used("update.serial", Kind::Boolean),
    warned("update.vm_strategy", Kind::String, NO_VM),
    warned(
        "update.initial_deploy_az_update_strategy",
        Kind::String,
        "zones are deployed at the same time",
    ),
    used("instance_groups", Kind::Array),
    used("addons", Kind::Array),
    needed("addons[].name", Kind::String),
    used("addons[].jobs", Kind::Array),
    used("addons[].properties", Kind::Hash),
    used("addons[].include", Kind::Hash),
    used("addons[].exclude", Kind::Hash),
    used("addons[].include.deployments", Kind::Any),
    used("addons[].include.instance_groups", Kind::Any),
    used("addons[].include.jobs", Kind::Any),
    used("addons[].include.stemcell", Kind::Any),
    used("addons[].include.networks", Kind::Any),
    used("addons[].include.azs", Kind::Any),
    used("addons[].include.lifecycle", Kind::Any),
    used("addons[].include.teams", Kind::Any),
    used("addons[].exclude.deployments", Kind::Any),
    used("addons[].exclude.instance_groups", Kind::Any),
    used("addons[].exclude.jobs", Kind::Any),
    used("addons[].exclude.stemcell", Kind::Any),
    used("addons[].exclude.networks", Kind::Any),
    used("addons[].exclude.azs", Kind::Any),
    used("addons[].exclude.lifecycle", Kind::Any),
    used("addons[].exclude.teams", Kind::Any),
    used("variables", Kind::Array),
    used("variables[].name", Kind::Any),
    used("variables[].type", Kind::Any),
    used("variables[].options", Kind::Any),
    used("variables[].update_mode", Kind::Any),
    used("variables[].consumes", Kind::Any),
    warned(
        "variables[].update",
        Kind::Any,
        "values do not follow the stemcell; 'update_mode' says when another one is made",
    ),
    used("tags", Kind::Hash),
    // The host adds it: see `boson_manifest::cloud`.
    used("cloud_config", Kind::Hash),
    refused("properties", PROPERTIES),
    refused(
        "vm_types",
        "Deployment manifest contains 'vm_types' section, but this can only be set in a cloud-config.",
    ),
    refused(
        "azs",
        "Deployment manifest contains 'azs' section, but this can only be set in a cloud-config.",
    ),
    refused(
        "disk_types",
        "Deployment manifest contains 'disk_types' section, but this can only be set in a cloud-config.",
    ),
    refused(
        "compilation",
        "Deployment manifest contains 'compilation' section, but this can only be set in a cloud-config.",
    ),
    refused(
        "networks",
        "Deployment 'networks' are no longer supported. Network definitions must now be provided in a cloud-config.",
    ),
    refused(
        "disk_pools",
        "disk_pools is no longer supported. Disk definitions must now be provided as disk_types in a cloud-config",
    ),
    refused(
        "jobs",
        "Jobs are no longer supported, please use instance groups instead",
    ),
    refused(
        "resource_pools",
        "resource_pools is no longer supported. You must now define resources in a cloud-config",
    ),
];

/// An instance group of the resolved document. Its jobs are checked [at their places in the manifest](JOB).
pub const GROUP: &[Key] = &[
    needed("name", Kind::String),
    needed("instances", Kind::Integer),
    used("jobs", Kind::Array),
    used("azs", Kind::Array),
    used("lifecycle", Kind::String),
    used("stemcell", Kind::String),
    warned(
        "vm_type",
        Kind::String,
        "there are no virtual machines in Kubernetes: 'vm_resources' sets the size",
    ),
    used("vm_resources", Kind::Hash),
    needed("vm_resources.cpu", Kind::Integer),
    needed("vm_resources.ram", Kind::Integer),
    needed("vm_resources.ephemeral_disk_size", Kind::Integer),
    warned("vm_extensions", Kind::Array, NO_VM),
    used("persistent_disk", Kind::Integer),
    used("persistent_disk_type", Kind::String),
    refused(
        "persistent_disks",
        "Key 'persistent_disks' is not supported: use 'persistent_disk' and 'persistent_disk_type'",
    ),
    warned(
        "networks",
        Kind::Array,
        "all instances are in the network of the cluster",
    ),
    used("networks[].name", Kind::String),
    used("networks[].default", Kind::Array),
    used("networks[].nic_group", Kind::String),
    warned(
        "networks[].static_ips",
        Kind::Any,
        "instances have DNS names, and addresses that the cluster chooses",
    ),
    used("update", Kind::Hash),
    used("update.canaries", Kind::String),
    used("update.max_in_flight", Kind::String),
    used("update.canary_watch_time", Kind::String),
    used("update.update_watch_time", Kind::String),
    used("update.serial", Kind::Boolean),
    warned("update.vm_strategy", Kind::String, NO_VM),
    warned(
        "update.initial_deploy_az_update_strategy",
        Kind::String,
        "zones are deployed at the same time",
    ),
    warned(
        "migrated_from",
        Kind::Array,
        "instances of another group are not taken over",
    ),
    used("env", Kind::Hash),
    warned(
        "env.persistent_disk_fs",
        Kind::Any,
        "the StorageClass decides on the file system",
    ),
    warned(
        "env.persistent_disk_mount_options",
        Kind::Any,
        "the StorageClass decides on the mount options",
    ),
    used("env.bosh", Kind::Hash),
    used("env.bosh.agent", Kind::Hash),
    used("env.bosh.agent.settings", Kind::Hash),
    used("env.bosh.agent.settings.affinity", Kind::Hash),
    used("env.bosh.agent.settings.labels", Kind::Hash),
    used("env.bosh.agent.settings.annotations", Kind::Hash),
    used("env.bosh.agent.settings.tolerations", Kind::Array),
    used("env.bosh.agent.settings.imagePullSecrets", Kind::Array),
    used("env.bosh.agent.settings.serviceAccountName", Kind::String),
    used("env.bosh.agent.settings.automountServiceAccountToken", Kind::Boolean),
    used("env.bosh.agent.settings.disable_log_sidecar", Kind::Boolean),
    used("env.bosh.agent.settings.ephemeralAsPVC", Kind::Boolean),
    used("env.bosh.agent.settings.disks", Kind::Array),
    used("env.bosh.agent.settings.jobBackoffLimit", Kind::Integer),
    used("env.bosh.agent.settings.preRenderOps", Kind::Hash),
    used("env.bosh.agent.settings.preRenderOps.bpm", Kind::Array),
    used("env.bosh.agent.settings.preRenderOps.instanceGroup", Kind::Array),
    used("env.bosh.agent.settings.injectReplicasEnv", Kind::Boolean),
    used("env.bosh.agent.settings.terminationGracePeriodSeconds", Kind::Integer),
    used("env.bosh.agent.settings.dns", Kind::String),
    warned("env.bosh.agent.*", Kind::Any, AGENT),
    warned("env.bosh.*", Kind::Any, AGENT),
    used("tags", Kind::Hash),
    warned("state", Kind::Any, "instances are started and stopped by Kubernetes"),
    warned(
        "instance_states",
        Kind::Any,
        "instances are started and stopped by Kubernetes",
    ),
    refused("properties", PROPERTIES),
    refused(
        "template",
        "Instance group '{name}' specifies template or templates. This is no longer supported, please use jobs instead",
    ),
    refused(
        "templates",
        "Instance group '{name}' specifies template or templates. This is no longer supported, please use jobs instead",
    ),
    refused(
        "resource_pool",
        "Instance groups no longer support resource_pool, please use 'vm_type' or 'vm_resources' keys",
    ),
    refused(
        "persistent_disk_pool",
        "`persistent_disk_pool` is not supported as an `instance_groups` key. Please use `persistent_disk_type` instead.",
    ),
];

/// Keys of an instance group that have an effect only with a cloud config.
pub const ANSWERED_BY_CLOUD_CONFIG: &[&str] = &["vm_type", "vm_extensions", "networks"];

/// A job of an instance group or an addon.
pub const JOB: &[Key] = &[
    needed("name", Kind::String),
    needed("release", Kind::String),
    used("properties", Kind::Hash),
    used("consumes", Kind::Any),
    used("provides", Kind::Any),
    used("custom_provider_definitions", Kind::Array),
];

/// The job property `quarks`, older name `bosh_containerization`.
pub const QUARKS: &[Key] = &[
    used("ports", Kind::Array),
    needed("ports[].name", Kind::String),
    used("ports[].protocol", Kind::String),
    needed("ports[].internal", Kind::Integer),
    used("run", Kind::Hash),
    warned(
        "run.scaling",
        Kind::Any,
        "the number of instances is the instance group's",
    ),
    used("run.capabilities", Kind::Array),
    used("run.memory", Kind::Integer),
    used("run.virtual-cpus", Kind::Number),
    used("run.healthcheck", Kind::Hash),
    used("run.healthcheck.*", Kind::Hash),
    used("run.healthcheck.*.readiness", Kind::Hash),
    used("run.healthcheck.*.liveness", Kind::Hash),
    used("run.healthcheck.*.startup", Kind::Hash),
    used("run.security_context", Kind::Hash),
    used("bpm", Kind::Hash),
    used("bpm.processes", Kind::Array),
    used("monit", Kind::Boolean),
    used("monit_http", Kind::Boolean),
    used("envs", Kind::Array),
    used("pre_render_scripts", Kind::Hash),
    used("pre_render_scripts.bpm", Kind::Array),
    used("pre_render_scripts.ig_resolver", Kind::Array),
    used("pre_render_scripts.jobs", Kind::Array),
    used("post_start", Kind::Hash),
    used("post_start.condition", Kind::Hash),
    used("activePassiveProbes", Kind::Hash),
    used("debug", Kind::Boolean),
    used("consumes", Kind::Any),
    used("instances", Kind::Any),
    used("release", Kind::Any),
    used("is_addon", Kind::Any),
];

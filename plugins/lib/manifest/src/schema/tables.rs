//! The tables: the manifest, an instance group, a job, the job property `quarks`.

use super::{Fate, Key};
use crate::types::Type;

const fn used(path: &'static str, kind: Type) -> Key {
    Key {
        path,
        kind,
        required: false,
        fate: Fate::Used,
        read: false,
    }
}

const fn needed(path: &'static str, kind: Type) -> Key {
    Key {
        required: true,
        ..used(path, kind)
    }
}

const fn warned(path: &'static str, kind: Type, why: &'static str) -> Key {
    Key {
        fate: Fate::Warned(why),
        ..used(path, kind)
    }
}

const fn refused(path: &'static str, text: &'static str) -> Key {
    Key {
        fate: Fate::Refused(text),
        ..used(path, Type::Any)
    }
}

/// A key that a reader checks: [`crate::release`], [`crate::group`], [`crate::job`] or [`crate::addons`].
const fn read(key: Key) -> Key {
    Key { read: true, ..key }
}

const FEATURE: &str = "the director feature does not exist in Kubernetes";
const AGENT: &str = "there is no BOSH agent in a container";
const NO_VM: &str = "there are no virtual machines in Kubernetes";
const ONE_PHASE: &str = "zones are deployed at the same time";
const OF_CLOUD_CONFIG: &str =
    "Deployment manifest contains '{key}' section, but this can only be set in a cloud-config.";
const TEMPLATES: &str =
    "Instance group '{name}' specifies template or templates. This is no longer supported, please use jobs instead";
/// Why `properties` of manifests and groups are refused.
pub const PROPERTIES: &str = "Key 'properties' is not supported here: move the properties to the jobs that use them";

/// The manifest, but for its instance groups.
pub const MANIFEST: &[Key] = &[
    used("name", Type::String),
    warned("director_uuid", Type::String, "there is no director"),
    used("features", Type::Hash),
    used("features.converge_variables", Type::Any),
    used("features.use_dns_addresses", Type::Any),
    warned("features.use_short_dns_addresses", Type::Any, FEATURE),
    warned("features.use_link_dns_names", Type::Any, FEATURE),
    warned("features.randomize_az_placement", Type::Any, FEATURE),
    warned("features.use_tmpfs_config", Type::Any, FEATURE),
    read(needed("releases", Type::Array)),
    read(needed("releases[].name", Type::String)),
    read(needed("releases[].version", Type::String)),
    used("releases[].url", Type::String),
    warned("releases[].sha1", Type::String, "releases come from a registry"),
    used("releases[].stemcell", Type::Hash),
    needed("releases[].stemcell.os", Type::String),
    needed("releases[].stemcell.version", Type::String),
    warned(
        "releases[].exported_from",
        Type::Array,
        "the release's 'stemcell' determines its image",
    ),
    used("releases[].credentials", Type::Hash),
    needed("releases[].credentials.username", Type::String),
    needed("releases[].credentials.password", Type::String),
    used("stemcells", Type::Array),
    needed("stemcells[].alias", Type::String),
    used("stemcells[].os", Type::String),
    warned(
        "stemcells[].name",
        Type::String,
        "names of images contain the 'os' of a stemcell",
    ),
    needed("stemcells[].version", Type::String),
    used("update", Type::Hash),
    used("update.canaries", Type::String),
    used("update.max_in_flight", Type::String),
    used("update.canary_watch_time", Type::String),
    used("update.update_watch_time", Type::String),
    used("update.serial", Type::Boolean),
    used("update.vm_strategy", Type::String),
    warned("update.initial_deploy_az_update_strategy", Type::String, ONE_PHASE),
    read(used("instance_groups", Type::Array)),
    read(used("addons", Type::Array)),
    read(needed("addons[].name", Type::String)),
    read(used("addons[].jobs", Type::Array)),
    read(used("addons[].properties", Type::Hash)),
    read(used("addons[].include", Type::Hash)),
    read(used("addons[].exclude", Type::Hash)),
    used("addons[].include.deployments", Type::Any),
    used("addons[].include.instance_groups", Type::Any),
    used("addons[].include.jobs", Type::Any),
    used("addons[].include.stemcell", Type::Any),
    used("addons[].include.networks", Type::Any),
    used("addons[].include.azs", Type::Any),
    used("addons[].include.lifecycle", Type::Any),
    used("addons[].include.teams", Type::Any),
    used("addons[].exclude.deployments", Type::Any),
    used("addons[].exclude.instance_groups", Type::Any),
    used("addons[].exclude.jobs", Type::Any),
    used("addons[].exclude.stemcell", Type::Any),
    used("addons[].exclude.networks", Type::Any),
    used("addons[].exclude.azs", Type::Any),
    used("addons[].exclude.lifecycle", Type::Any),
    used("addons[].exclude.teams", Type::Any),
    used("variables", Type::Array),
    used("variables[].name", Type::Any),
    used("variables[].type", Type::Any),
    used("variables[].options", Type::Any),
    used("variables[].update_mode", Type::Any),
    used("variables[].consumes", Type::Any),
    warned(
        "variables[].update",
        Type::Any,
        "values do not depend on the stemcell; 'update_mode' determines when they are regenerated",
    ),
    used("tags", Type::Hash),
    // The host adds it: see `cloud`.
    used("cloud_config", Type::Hash),
    // The host adds it: see `addons`.
    used("runtime_config", Type::Hash),
    refused("properties", PROPERTIES),
    refused("vm_types", OF_CLOUD_CONFIG),
    refused("azs", OF_CLOUD_CONFIG),
    refused("disk_types", OF_CLOUD_CONFIG),
    refused("compilation", OF_CLOUD_CONFIG),
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
    read(needed("name", Type::String)),
    read(needed("instances", Type::Integer)),
    read(used("jobs", Type::Array)),
    read(used("azs", Type::Array)),
    read(used("lifecycle", Type::String)),
    used("stemcell", Type::String),
    warned(
        "vm_type",
        Type::String,
        "there are no virtual machines in Kubernetes: 'vm_resources' sets the size",
    ),
    used("vm_resources", Type::Hash),
    needed("vm_resources.cpu", Type::Integer),
    needed("vm_resources.ram", Type::Integer),
    needed("vm_resources.ephemeral_disk_size", Type::Integer),
    warned("vm_extensions", Type::Array, NO_VM),
    used("persistent_disk", Type::Integer),
    used("persistent_disk_type", Type::String),
    refused(
        "persistent_disks",
        "Key 'persistent_disks' is not supported: use 'persistent_disk' and 'persistent_disk_type'",
    ),
    used("networks", Type::Array),
    used("networks[].name", Type::String),
    used("networks[].default", Type::Array),
    used("networks[].nic_group", Type::String),
    warned(
        "networks[].static_ips",
        Type::Any,
        "the cluster assigns the addresses of instances; use their DNS names",
    ),
    used("update", Type::Hash),
    used("update.canaries", Type::String),
    used("update.max_in_flight", Type::String),
    used("update.canary_watch_time", Type::String),
    used("update.update_watch_time", Type::String),
    used("update.serial", Type::Boolean),
    used("update.vm_strategy", Type::String),
    warned("update.initial_deploy_az_update_strategy", Type::String, ONE_PHASE),
    warned(
        "migrated_from",
        Type::Array,
        "instances of other groups are not migrated",
    ),
    used("env", Type::Hash),
    warned(
        "env.persistent_disk_fs",
        Type::Any,
        "the StorageClass determines the file system",
    ),
    warned(
        "env.persistent_disk_mount_options",
        Type::Any,
        "the StorageClass determines the mount options",
    ),
    used("env.bosh", Type::Hash),
    used("env.bosh.agent", Type::Hash),
    used("env.bosh.agent.settings", Type::Hash),
    used("env.bosh.agent.settings.affinity", Type::Hash),
    used("env.bosh.agent.settings.labels", Type::Hash),
    used("env.bosh.agent.settings.annotations", Type::Hash),
    used("env.bosh.agent.settings.tolerations", Type::Array),
    used("env.bosh.agent.settings.imagePullSecrets", Type::Array),
    used("env.bosh.agent.settings.serviceAccountName", Type::String),
    used("env.bosh.agent.settings.automountServiceAccountToken", Type::Boolean),
    used("env.bosh.agent.settings.disable_log_sidecar", Type::Boolean),
    used("env.bosh.agent.settings.ephemeralAsPVC", Type::Boolean),
    used("env.bosh.agent.settings.disks", Type::Array),
    used("env.bosh.agent.settings.jobBackoffLimit", Type::Integer),
    used("env.bosh.agent.settings.preRenderOps", Type::Hash),
    used("env.bosh.agent.settings.preRenderOps.bpm", Type::Array),
    used("env.bosh.agent.settings.preRenderOps.instanceGroup", Type::Array),
    used("env.bosh.agent.settings.injectReplicasEnv", Type::Boolean),
    used("env.bosh.agent.settings.terminationGracePeriodSeconds", Type::Integer),
    used("env.bosh.agent.settings.dns", Type::String),
    used("env.bosh.agent.settings.sharePackages", Type::Any),
    warned("env.bosh.agent.*", Type::Any, AGENT),
    warned("env.bosh.*", Type::Any, AGENT),
    used("tags", Type::Hash),
    warned("state", Type::Any, "Kubernetes starts and stops instances"),
    warned("instance_states", Type::Any, "Kubernetes starts and stops instances"),
    refused("properties", PROPERTIES),
    refused("template", TEMPLATES),
    refused("templates", TEMPLATES),
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
pub const ANSWERED_BY_CLOUD_CONFIG: &[&str] = &["vm_type", "vm_extensions"];

/// A job of an instance group or an addon.
pub const JOB: &[Key] = &[
    read(needed("name", Type::String)),
    read(needed("release", Type::String)),
    read(used("properties", Type::Hash)),
    used("consumes", Type::Any),
    used("provides", Type::Any),
    read(used("custom_provider_definitions", Type::Array)),
];

/// The job property `quarks`, older name `bosh_containerization`.
pub const QUARKS: &[Key] = &[
    used("ports", Type::Array),
    needed("ports[].name", Type::String),
    used("ports[].protocol", Type::String),
    needed("ports[].internal", Type::Integer),
    used("run", Type::Hash),
    warned(
        "run.scaling",
        Type::Any,
        "the instance group sets the number of instances",
    ),
    used("run.capabilities", Type::Array),
    used("run.memory", Type::Integer),
    used("run.virtual-cpus", Type::Number),
    used("run.healthcheck", Type::Hash),
    used("run.healthcheck.*", Type::Hash),
    used("run.healthcheck.*.readiness", Type::Hash),
    used("run.healthcheck.*.liveness", Type::Hash),
    used("run.healthcheck.*.startup", Type::Hash),
    used("run.security_context", Type::Hash),
    used("run.sysctls", Type::Hash),
    used("run.pre_start", Type::String),
    used("run.writable_packages", Type::Array),
    used("bpm", Type::Hash),
    used("bpm.processes", Type::Array),
    used("monit", Type::Boolean),
    used("monit_http", Type::Boolean),
    used("link_local_dns", Type::Boolean),
    used("envs", Type::Array),
    used("pre_render_scripts", Type::Hash),
    used("pre_render_scripts.bpm", Type::Array),
    used("pre_render_scripts.ig_resolver", Type::Array),
    used("pre_render_scripts.jobs", Type::Array),
    used("post_start", Type::Hash),
    used("post_start.condition", Type::Hash),
    used("activePassiveProbes", Type::Hash),
    used("debug", Type::Boolean),
    used("sharePackages", Type::Any),
    used("consumes", Type::Any),
    used("instances", Type::Any),
    used("release", Type::Any),
    used("is_addon", Type::Any),
];

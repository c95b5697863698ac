//! Explanations of the diagnostics of merging runtime configs.

use boson_manifest::{addons, members};

boson_document::codes! {
    RUNTIME_CONFIG_CONFLICT = "runtime-config-conflict", "A runtime config conflicts with the manifest or with another",
        "Several runtime configs are merged as the director merges them: after the manifest, in their order. A release that two of them \
         have, or one and the manifest, must have the same version, and only one runtime config may have `tags`.";
    RUNTIME_CONFIG_FILTER = "runtime-config-filter", "An addon's include or exclude is invalid",
        "`include` and `exclude` are maps. `jobs` lists maps with `name` and `release`, `stemcell` maps with `os`; `deployments`, \
         `instance_groups`, `networks`, `azs` and `teams` list names, and `lifecycle` is one name.";
    RUNTIME_CONFIG_MALFORMED = "runtime-config-malformed", "A runtime config does not have the shape of one",
        "A runtime config is a YAML map with the lists `releases`, `addons` and `variables` and the map `tags`, as `bosh \
         update-runtime-config` takes it. A release needs `name` and `version`, an addon needs `name`, and each of its jobs `name` and `release`.";
    RUNTIME_CONFIG_RELEASE = "runtime-config-release", "A release of a runtime config is missing or has no exact version",
        "Each release of an addon's jobs needs an entry in the list `releases` of the same runtime config, with an exact version: the \
         director refuses `latest` there.";
    RUNTIME_CONFIG_UNUSED_KEY = "runtime-config-unused-key", "A key has no effect",
        "The director ignores keys of a runtime config that it does not know, and so do we. The filter `teams` matches no deployment, \
         because deployments have no teams here.";
    RUNTIME_CONFIG_VM_JOB = "runtime-config-vm-job", "A job of a runtime config is left out",
        "The releases `os-conf`, `syslog`, `node-exporter` and `datadog-agent` change or watch the VM that their jobs are on. An addon of a \
         runtime config would add them to every pod, where they do not work, so these jobs are left out, and their releases are not \
         needed. The warning names what to use instead. Jobs that a manifest has itself are not left out.";
}

/// The codes of types and required keys.
pub const MEMBERS: &members::Codes = &members::Codes {
    wrong_type: RUNTIME_CONFIG_MALFORMED,
    missing_key: RUNTIME_CONFIG_MALFORMED,
};

pub const ADDONS: &addons::Codes = &addons::Codes {
    members: MEMBERS,
    filter: RUNTIME_CONFIG_FILTER,
    unused_key: RUNTIME_CONFIG_UNUSED_KEY,
};

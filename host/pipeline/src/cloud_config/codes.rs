//! Explanations of the diagnostics of merging cloud configs.

boson_document::codes! {
    CLOUD_CONFIG_CONFLICT = "cloud-config-conflict", "Two cloud configs define what only one may",
        "Several cloud configs are merged as the director merges them: their lists (`azs`, `vm_types`, `vm_extensions`, `disk_types`, `networks`) \
         are put together, and only one of them may have `compilation`.";
    CLOUD_CONFIG_MALFORMED = "cloud-config-malformed", "A cloud config does not have the shape of one",
        "A cloud config is a YAML map with lists such as `azs`, `vm_types` and `disk_types`, as `bosh update-cloud-config` takes it.";
    CLOUD_CONFIG_IN_MANIFEST = "cloud-config-in-manifest", "The manifest has a key `cloud_config`",
        "The director ignores this key, and so do we: a cloud config is given with `--cloud-config`, or in `spec.cloudConfig` of a \
         BOSHDeployment. The key is left out of the manifest, because the stages find the real cloud config under this name.";
}

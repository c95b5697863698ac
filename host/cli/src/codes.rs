//! Diagnostics of the command line itself, explained for `host explain`.

boson_pipeline::codes::codes! {
    CONFIG_UNKNOWN_KEY = "config-unknown-key", "Unknown key in boson.yaml",
        "A `boson.yaml` beside a manifest contains options of `host convert`: `registry`, `name`, `namespace`, \
         `cluster-domain`, `vars-store`, and the lists `cloud-config`, `runtime-config`, `release`, `ops-file` \
         and `vars-file`. An unknown key is an error, because a misspelt key would otherwise have no effect.";
    CONFIG_USED = "config-used", "Options from boson.yaml are in use",
        "`host convert` found a `boson.yaml` beside the manifest. Options on the command line override its single \
         values and are appended to its lists. Paths in the file are relative to its directory. `--no-config` \
         ignores the file.";
    CONFIG_WRONG_TYPE = "config-wrong-type", "A value in boson.yaml has the wrong type",
        "`registry`, `name`, `namespace`, `cluster-domain` and `vars-store` are strings; `cloud-config`, `runtime-config`, \
         `release`, `ops-file` and `vars-file` are lists of strings, or a single string. Quote values that YAML reads as \
         numbers.";
    CONVERT_RENDER_IN_PODS = "convert-render-in-pods", "Pods do not render with the given plugin",
        "Templates are rendered a second time in each pod, with the plugin in the image of its init container. `host \
         convert` cannot pass a plugin or settings for the stage `render` to pods. The operator does so for plugins \
         from ConfigMaps.";
    CONVERT_STRICT = "convert-strict", "The conversion has warnings, and --strict is set",
        "With `--strict`, a conversion with warnings prints nothing and exits with code 1. Fix the causes of the \
         warnings, or omit `--strict`.";
    PLUGIN_DIFF_INPUT = "plugin-diff-input", "`host plugin diff` cannot read standard input",
        "The deployment is converted twice, once with each version of the plugin, so all inputs have to be files.";
    POD_CONTRACT = "pod-contract", "A pod needs another version of `host`",
        "The pod contract is a number for the commands, variables and documents that operator and pods exchange. An \
         image supports its own version of the contract and some older ones, which docs/upgrade.md lists. Set \
         `--operator-image` to the version of the operator, or to a newer one.";
    POD_DNS = "pod-dns", "A pod cannot find the DNS servers of its deployment",
        "If a deployment has its own DNS servers, the init container `template-render` resolves their Service \
         through the cluster's DNS and writes its address to `/etc/resolv.conf`. It waits up to a minute for the \
         Service, and up to a minute for the servers. Check with `kubectl get service,pods` that `<deployment>-dns` \
         exists and that its pods are ready. See also docs/dns.md.";
    RELEASE_NO_JOB = "release-no-job", "The release has no such job",
        "The names of jobs are the names of the directories in `jobs` of the release.";
    RELEASE_NO_TEMPLATE = "release-no-template", "The job has no such template",
        "`--template` takes the source (`config/app.yml.erb`) or the destination (`config/app.yml`) of a template in \
         the job's spec.";
    RELEASE_TWICE = "release-twice", "A release was given twice",
        "Two `--release` options name releases with the same name. Remove one, or rename one: `--release NAME=PATH`.";
    VARIABLES_NOT_KEPT = "variables-not-kept", "Generated values are not stored",
        "The command generated passwords, keys or certificates without a `--vars-store`, so the next conversion \
         generates other values. Applying both results to a cluster replaces every Secret. Use `--vars-store FILE` \
         to store the values.";
    VARS_STORE_BUSY = "vars-store-busy", "Another program keeps changing the vars store",
        "`host` stores values only if the file has not changed since it was read; otherwise those changes would be \
         lost. Runs of `host` wait for each other, but another program, such as `bosh` or an editor, has changed the \
         file five times. Try again when that program has finished.";
    WAIT_TIMEOUT = "wait-timeout", "A condition was not met in time",
        "`host util wait` resolves the names until they have an address; with a port, it also connects. A headless \
         Service resolves when one of its pods is ready. `--timeout` sets how long it waits.";
}

//! Diagnostics of the command line itself, explained for `host explain`.

use boson_pipeline::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "config-unknown-key",
        title: "boson.yaml has a key that it does not know",
        explanation: "The `boson.yaml` beside a manifest holds options of `host convert` under their names: `registry`, `name`, `namespace`, `cluster-domain`, \
                      `vars-store`, and the lists `cloud-config`, `release`, `ops-file` and `vars-file`. A misspelt key would otherwise be ignored.",
    },
    Code {
        name: "config-used",
        title: "Options are taken from boson.yaml",
        explanation: "There is a `boson.yaml` beside the manifest. Its lists come before those of the command line, its other values are overridden \
                      by it; `--no-config` leaves it out. Paths in it are relative to its own directory.",
    },
    Code {
        name: "config-wrong-type",
        title: "A value in boson.yaml is invalid",
        explanation: "`registry`, `name`, `namespace`, `cluster-domain` and `vars-store` are strings; `cloud-config`, `release`, `ops-file` and `vars-file` \
                      are lists of strings, or one string. Quote what YAML would read as a number.",
    },
    Code {
        name: "convert-render-in-pods",
        title: "Pods do not render by the plugin that was given",
        explanation: "`host convert` prints objects, and templates are rendered a second time in each pod, by the rule that is in the image of its init container. A plugin \
                      or settings for the stage `render` do not get there; the operator gives them to pods where the plugin comes from a ConfigMap.",
    },
    Code {
        name: "convert-strict",
        title: "There are warnings, and --strict was given",
        explanation: "With `--strict` a conversion that has warnings prints nothing and exits with 1. Fix what the warnings name, or leave \
                      `--strict` out.",
    },
    Code {
        name: "input-damaged",
        title: "A compressed file cannot be unpacked",
        explanation: "Large documents in Secrets are compressed with gzip, and pods unpack what they mount. This one is cut off, or unpacks to \
                      more than 32 MiB.",
    },
    Code {
        name: "input-is-directory",
        title: "A file was expected and a directory is there",
        explanation: "Manifests, ops files and variable files are files. Only releases may be directories.",
    },
    Code {
        name: "input-missing",
        title: "An input file does not exist",
        explanation: "Paths are relative to the directory in which the command runs.",
    },
    Code {
        name: "input-too-large",
        title: "An input file is larger than 32 MiB",
        explanation: "No manifest, ops file or variable file is that large; the bound keeps a wrong path from exhausting the machine.",
    },
    Code {
        name: "input-total-too-large",
        title: "The files that are given are too large together",
        explanation: "The manifest, ops files, variable files and cloud configs of a command are held in memory until it ends, and each value takes more there than on \
                      the disk. Together they may take about a fifth of the memory that the command may have, which is what its container has, or half of the machine's; \
                      `--max-memory` says otherwise. A file that is given twice counts twice.",
    },
    Code {
        name: "input-unreadable",
        title: "An input file cannot be read",
        explanation: "The message quotes the operating system's error, most often a missing permission.",
    },
    Code {
        name: "output-unwritable",
        title: "A file cannot be written",
        explanation: "Files are written under a temporary name beside their own, synced, and renamed, so the directory has to be writable. \
                      What was there before stays as it was. `--out` of `host render` is not left through links: remove the link that the message \
                      names, or write to the directory that it leads to.",
    },
    Code {
        name: "plugin-arguments",
        title: "The input of `run-plugin` does not fit the function",
        explanation: "It is one JSON object with a member for each parameter, as `wit/` documents them; records are objects, lists are lists, \
                      options are null or the value.",
    },
    Code {
        name: "plugin-digest",
        title: "A plugin's component is not the one that its description names",
        explanation: "`digest` in `plugin.yaml` is the sha256 of the component as it is unpacked: `sha256sum plugin.wasm`. While parts of a new version arrive one after \
                      the other they do not fit, either; the last good version stays in use meanwhile.",
    },
    Code {
        name: "plugin-function-needed",
        title: "`run-plugin` needs the name of a function",
        explanation: "The stage has several functions besides `describe`; name one with `--call`.",
    },
    Code {
        name: "plugin-many-diagnostics",
        title: "A plugin gave more diagnostics than are shown",
        explanation: "Of one call 500 diagnostics are kept, so that a plugin cannot flood the terminal.",
    },
    Code {
        name: "plugin-other-stage",
        title: "A plugin was given for another stage than it is of",
        explanation: "A component exports one stage of the contract, and can stand in for the built-in rule of that stage only.",
    },
    Code {
        name: "plugin-parts-unreadable",
        title: "The parts of a component cannot be read",
        explanation: "A directory with a component holds `plugin.wasm`, or `plugin.wasm.zst`, or numbered parts of one of them from `.0` on, and the zstd stream is whole.",
    },
    Code {
        name: "plugin-settings-twice",
        title: "A plugin is given settings twice",
        explanation: "One file has the settings of a plugin. `--plugin-settings STAGE=FILE` is for the plugins of a stage that have none of their own, \
                      `--plugin-settings STAGE:NAME=FILE` for one plugin.",
    },
    Code {
        name: "plugin-settings-unused",
        title: "Settings are given that no plugin gets",
        explanation: "`--plugin-settings STAGE:NAME=FILE` takes the name that `--plugin STAGE:NAME=FILE` gave, that of the component's file without `.wasm`, or \
                      the one that the plugin gives itself (`host plugin list`). There is no plugin of `resources` unless `--plugin` gives one.",
    },
    Code {
        name: "plugin-too-large",
        title: "A plugin's component is too large",
        explanation: "A component has at most 96 MiB, and 32 MiB as it is packed: operators, pods and the API server have to carry it.",
    },
    Code {
        name: "plugins-missing",
        title: "The built-in plugins were not found",
        explanation: "They are files beside the program: `../plugins`, `../share/boson/plugins` or `/usr/share/boson/plugins`. `make build` \
                      makes them; `--plugins-dir` names another directory.",
    },
    Code {
        name: "pod-contract",
        title: "A pod was made for another version of `host`",
        explanation: "Operator and pods agree on commands, variables and documents by a number, the pod contract. An image serves its own version and some \
                      before; docs/operator.md lists them. `--operator-image` has to be of the operator's version or newer.",
    },
    Code {
        name: "pod-dns",
        title: "A pod does not find the DNS of its deployment",
        explanation: "If a deployment has its own DNS servers, the init container `template-render` looks up their Service through the cluster's DNS, and \
                      writes it into the `/etc/resolv.conf` of the pod's containers. It waits a minute for either. `kubectl get service,pods` shows whether \
                      `<deployment>-dns` is there and its pods are ready; docs/dns.md says how to find out more.",
    },
    Code {
        name: "release-no-job",
        title: "A release has no job of that name",
        explanation: "Job names are the names of the directories below the release's `jobs`.",
    },
    Code {
        name: "release-no-template",
        title: "A job has no template of that name",
        explanation: "`--template` takes the source (`config/app.yml.erb`) or the destination (`config/app.yml`) of a template in the job's spec.",
    },
    Code {
        name: "release-twice",
        title: "A release was given twice",
        explanation: "Two `--release` options lead to releases of the same name. Leave one out, or give one another name: `--release NAME=PATH`.",
    },
    Code {
        name: "variables-not-kept",
        title: "Generated values are not kept",
        explanation: "Passwords, keys and certificates were generated and there is no `--vars-store`, so the next conversion generates others. \
                      Applying both to a cluster replaces every secret. Give a store to keep them.",
    },
    Code {
        name: "vars-store-busy",
        title: "Another program keeps changing the vars store",
        explanation: "Values are stored only if the file has not changed since it was read; otherwise those changes would be lost. Runs of `host` \
                      wait for each other. Another program, such as `bosh` or an editor, has changed the file five times while values were made: try \
                      again when it has finished.",
    },
    Code {
        name: "vars-store-special",
        title: "The vars store is not a regular file",
        explanation: "`--vars-store` takes the path of a file, of a link to one, or of a new file. Values cannot be stored in a device such \
                      as `/dev/null`, or in a named pipe. Without `--vars-store`, `host convert` makes values for one run only.",
    },
    Code {
        name: "wait-timeout",
        title: "A condition was not met in time",
        explanation: "`host util wait` looks names up until they resolve; with a port it tries to connect, too. A headless Service resolves when one of its pods \
                      is ready. `--timeout` says how long to wait.",
    },
];

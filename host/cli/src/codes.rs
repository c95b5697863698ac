//! Diagnostics of the command line itself, explained for `host explain`.

use boson_pipeline::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "convert-render-in-pods",
        title: "Pods do not render by the plugin that was given",
        explanation: "`host convert` prints objects, and templates are rendered a second time in each pod, by the rule that is in the image of its init container. A plugin \
                      or settings for the stage `render` do not get there; the operator gives them to pods where the plugin comes from a ConfigMap.",
    },
    Code {
        name: "convert-strict",
        title: "There are warnings, and --strict was given",
        explanation: "With `--strict` a conversion that has warnings prints nothing and exits with 1. Mend what the warnings name, or leave \
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
        name: "input-unreadable",
        title: "An input file cannot be read",
        explanation: "The message says what the operating system answered: most often missing permission.",
    },
    Code {
        name: "output-unwritable",
        title: "A file cannot be written",
        explanation: "Files are written under a temporary name beside their own, synced, and renamed, so the directory has to be writable. \
                      What was there before stays as it was.",
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
        title: "`run-plugin` has to be told which function to call",
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
        name: "wait-timeout",
        title: "What was waited for did not come in time",
        explanation: "`host util wait` looks names up until they resolve; with a port it tries to connect, too. A headless Service resolves when one of its pods \
                      is ready. `--timeout` says how long to wait.",
    },
];

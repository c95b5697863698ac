//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    PLUGIN_ARGUMENTS = "plugin-arguments", "The input of `run-plugin` does not match the function",
        "The input is one JSON object with a member for each parameter, as documented in `wit/`: records are \
         objects, lists are lists, and options are null or the value.";
    PLUGIN_CASE = "plugin-case", "A case of `host plugin test` cannot be used",
        "A case is a directory with `call.json`: one JSON object with the stage, the function, and a member for each \
         parameter of the function. `reply.json` beside it is the expected reply: an object with the member `ok`, \
         `err` or `failure`. `host convert --record DIR` writes cases, and `host plugin test --update` replies.";
    PLUGIN_CASE_FAILED = "plugin-case-failed", "A plugin does not pass a case that is packed with it",
        "`host plugin pack --cases DIR` packs cases with a plugin. The operator calls a new version with them before it \
         uses it, in the sandbox and with the limits of a conversion, each case twice. It rejects a version whose reply \
         is not exactly the expected one, and continues to use the last good version. All cases together may use 10^10 \
         units of fuel and 120 s. `host plugin test` shows how the replies differ.";
    PLUGIN_CASES = "plugin-cases", "The cases that are packed with a plugin cannot be read",
        "`cases.json.zst` in the `binaryData` of the ConfigMap with `plugin.yaml` is a compressed JSON list of cases: \
         objects with `name`, `call` and `reply`. A plugin may have 64 cases, 4 MiB together, and 512 KiB packed. `host \
         plugin pack --cases DIR` writes them.";
    PLUGIN_DIGEST = "plugin-digest", "The component of a plugin does not match its digest",
        "`digest` in `plugin.yaml`, or `--expect-digest` of `host plugin inspect`, is the SHA-256 of the unpacked component: \
         `sha256sum plugin.wasm`. While the \
         parts of a new version are being applied one after the other, they do not match either; the operator then \
         continues to use the last good version.";
    PLUGIN_EVICTED = "plugin-evicted", "A component was removed from the cache while it was read",
        "Other processes of the same user read many components at the same time. Run the command again.";
    PLUGIN_EXISTS = "plugin-exists", "The directory of a new plugin already exists",
        "`host plugin new NAME` creates the directory `NAME`, and never changes one that exists. Choose another name, or \
         another directory with `--out`. A plugin in Rust cannot have the name of a crate that it uses, either.";
    KINDS_CONFLICT = "kinds-conflict", "Two additional kinds have the same name",
        "Events, metrics and messages name an object by its kind and name, without the API group. So of two kinds with \
         one name, such as two versions of a custom resource, `--allow-kind` accepts only one.";
    PLUGIN_FUNCTION_NEEDED = "plugin-function-needed", "`run-plugin` needs the name of a function",
        "The stage has several functions besides `describe`. Select one with `--call`.";
    PLUGIN_CORE_MODULE = "plugin-core-module", "No component can be made of a core module",
        "Compilers for WebAssembly make core modules. Where a command expects a plugin, it makes a component of such a \
         module: it answers the functions of WASI inside the module, and adds the types of the plugin interface. The \
         message names what does not fit, most often an import that a plugin cannot have.";
    PLUGIN_GROUPS_UNUSED = "plugin-groups-unused", "`--plugin-instance-groups` has no effect",
        "The manifest has no instance group with the name, or no wrapper matches. \
         Only a wrapper of `render` or `bpm` can be restricted to instance groups: the rule serves all of them, and a \
         wrapper need not call it. NAME in `STAGE:NAME=GROUP` is the NAME of `--plugin STAGE:NAME=FILE`, or the file \
         name of the component without `.wasm`.";
    PLUGIN_OPTION = "plugin-option", "An option of `host plugin pack` is not for this plugin",
        "Some members of `plugin.yaml` are only for plugins of some stages, or for wrappers: `order`, `enforce`, \
         `onFailure: skip`, and `instanceGroups` of the selector. The operator would reject the ConfigMap.";
    PLUGIN_OTHER_STAGE = "plugin-other-stage", "A plugin was given for a stage that it does not implement",
        "A component exports one stage of the plugin interface, and can replace the built-in rule of that stage \
         only.";
    PLUGIN_PARTS_UNREADABLE = "plugin-parts-unreadable", "The parts of a component cannot be read",
        "A directory with a component contains `plugin.wasm`, or `plugin.wasm.zst`, or numbered parts of one of them \
         (`.0`, `.1`, ...). Check that no part is missing and that the zstd stream is complete.";
    PLUGIN_REGISTRY_OPTIONS = "plugin-registry-options", "The options for registries cannot be used",
        "`BOSON_REGISTRY_CA` names PEM files with certificates, and `BOSON_REGISTRY_WITHOUT_TLS` registries \
         (`HOST:PORT`), both separated by commas. Components that were pulled are cached in `boson/components` in the user's \
         cache directory.";
    PLUGIN_SETTINGS_TWICE = "plugin-settings-twice", "A plugin has two files of settings",
        "Give the settings of a plugin in one file. `--plugin-settings STAGE=FILE` applies to all plugins of a stage \
         that have no settings of their own; `--plugin-settings STAGE:NAME=FILE` applies to one plugin.";
    PLUGIN_SETTINGS_UNUSED = "plugin-settings-unused", "Settings match no plugin",
        "NAME in `--plugin-settings STAGE:NAME=FILE` is the NAME of `--plugin STAGE:NAME=FILE`, the file name of the \
         component without `.wasm`, or the name in the plugin's description (`host plugin list`). The stage \
         `resources` has no built-in plugin.";
    PLUGINS_MISSING = "plugins-missing", "The built-in plugins were not found",
        "The built-in plugins are files beside the program, in `../plugins`, `../share/boson/plugins` or \
         `/usr/share/boson/plugins`. `make build` creates them. `--plugins-dir` names another directory.";
    RECORD_NOT_EMPTY = "record-not-empty", "Calls are recorded to a new or empty directory only",
        "`host convert --record DIR` writes one directory for each call. With those of an earlier run beside them, it \
         would not be clear which calls belong together.";
}

//! Every code of this room, explained.

use boson_pipeline::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "deployment-malformed-object",
        title: "A plugin made an object that is no JSON",
        explanation: "It holds a number that JSON has not, such as an infinity. The plugin of the stage `bpm` or `resources` is at fault.",
    },
    Code {
        name: "deployment-mode",
        title: "A BOSHDeployment asks for a conversion in pods",
        explanation: "The operator converts by itself (`spec.conversion.mode: InProcess`); conversion in pods is not there yet.",
    },
    Code {
        name: "deployment-no-image",
        title: "A release has no image",
        explanation: "The operator reads releases from their images: `<url>/<release>:<os>-<stemcell version>-<release version>`. The manifest has to tell \
                      all of it, or `spec.conversion.registry` the first part.",
    },
    Code {
        name: "deployment-no-key",
        title: "A ConfigMap or Secret lacks a key",
        explanation: "A manifest lies under the key `manifest`, an ops file under `ops`, the value of an implicit variable under `value`, or under the key \
                      that follows the `/` in its name.",
    },
    Code {
        name: "deployment-no-value",
        title: "A variable has no value",
        explanation: "The manifest neither defines the variable nor is it in `spec.vars`, so its value is expected in the Secret that the message names. \
                      Create it; the deployment goes on by itself.",
    },
    Code {
        name: "deployment-not-found",
        title: "Something that a BOSHDeployment refers to is not there",
        explanation: "References lead to ConfigMaps and Secrets of the same namespace. Create it; the deployment goes on by itself.",
    },
    Code {
        name: "deployment-url",
        title: "A reference of type url cannot be followed",
        explanation: "Documents are read from ConfigMaps and Secrets.",
    },
    Code {
        name: "deployment-value",
        title: "A Secret holds a value that cannot be one",
        explanation: "Values of variables are text (UTF-8); with the annotation `quarks.cloudfoundry.org/json-value: \"true\"` they are JSON.",
    },
    Code {
        name: "plugin-conflict",
        title: "Two plugins are for one stage of a deployment",
        explanation: "A stage has one rule. The plugin whose ConfigMap is older is used, the other is refused. Let the selectors in their `plugin.yaml` part the \
                      deployments, or name one of them in `spec.conversion.plugins`.",
    },
    Code {
        name: "plugin-document",
        title: "A `plugin.yaml` cannot be used",
        explanation: "It has `name` and `digest`, and where needed `replaces` or `order`, `settings`, `selector` (`namespaces`, `deployments`) and `parts`. Others are \
                      refused: a selector with a misprint would serve every deployment.",
    },
    Code {
        name: "plugin-lost",
        title: "A plugin that was used cannot be loaded any more",
        explanation: "The status of the deployment says that it was converted with this plugin, and its ConfigMap no longer holds one that works; the last good one \
                      went with the operator that had it. To go on with the installation's rule would change what runs, so everything stays as it is. Mend the \
                      ConfigMap, or delete it.",
    },
    Code {
        name: "plugin-no-document",
        title: "A ConfigMap with a plugin has no `plugin.yaml`",
        explanation: "A ConfigMap with the label `quarks.cloudfoundry.org/plugin` describes a plugin under the key `plugin.yaml` of its `data`, or names in the annotation \
                      `quarks.cloudfoundry.org/plugin-part-of` the ConfigMap that it is a part of. `host plugin pack` writes both.",
    },
    Code {
        name: "plugin-not-found",
        title: "A BOSHDeployment names a plugin that does not serve it",
        explanation: "`spec.conversion.plugins` names plugins from ConfigMaps of the same namespace, plugins of the operator's namespace whose selector holds the deployment, \
                      or the installation's own rule of the stage.",
    },
    Code {
        name: "plugin-parts",
        title: "A plugin's component is not there as a whole",
        explanation: "`binaryData` has `plugin.wasm`, or `plugin.wasm.zst`, or numbered parts of one of them from `.0` on, over one ConfigMap or several.",
    },
    Code {
        name: "plugin-stage",
        title: "A plugin is for a stage that there is not",
        explanation: "The value of the label `quarks.cloudfoundry.org/plugin` is one of `ops`, `variables`, `links`, `render`, `bpm` and `resources`.",
    },
    Code {
        name: "plugin-too-many",
        title: "There are too many plugins",
        explanation: "Each takes memory of the operator, and time to compile, so their number is bounded, in a namespace and altogether. The older ones are used.",
    },
];

//! Every code of this room, explained.

use boson_pipeline::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "deployment-forbidden",
        title: "The operator lacks a right",
        explanation: "The message names verb and resource, as roles do. The rules that the operator needs are in its manifests; where it serves a \
                      fixed list of namespaces, each needs them.",
    },
    Code {
        name: "deployment-image-pull",
        title: "The image of a release cannot be pulled by a pod of the conversion",
        explanation: "In mode Jobs, pods run the images of releases to copy what templates need. The kubelet goes on trying: push the image, or mend \
                      url, version, stemcell or credentials of the release. `spec.conversion.registry` stands in for all urls.",
    },
    Code {
        name: "deployment-job-failed",
        title: "A job of the conversion failed without a diagnosis",
        explanation: "A container ended otherwise than by telling what is wrong with the input: it ran out of memory, or the release image lacks \
                      `/var/vcap/jobs-src` or a shell. Delete the QuarksJob that the message names to try again; any change of its inputs does, too.",
    },
    Code {
        name: "deployment-job-more",
        title: "There are more errors than a pod can hand over",
        explanation: "Kubernetes keeps 12 KiB of messages for all containers of a pod. The log of the container that is named has all of them.",
    },
    Code {
        name: "deployment-job-taken",
        title: "A QuarksJob of somebody else has the name of one that the conversion needs",
        explanation: "The names are `var-interpolation-<deployment>`, `data-gathering-<deployment>` and `bpm-configs-<deployment>`. Objects that the \
                      deployment does not own are left alone.",
    },
    Code {
        name: "deployment-malformed-object",
        title: "A plugin made an object that is no JSON",
        explanation: "It holds a number that JSON has not, such as an infinity. The plugin of the stage `bpm` or `resources` is at fault.",
    },
    Code {
        name: "deployment-name-taken",
        title: "An object of somebody else's has the name of one of the deployment's",
        explanation: "The operator never takes over an object that it did not make: it would change it, and delete it together with the deployment. \
                      Delete or rename the object, or choose another name for the deployment or the instance group; `a-b` and group `c` \
                      have the same names as `a` and group `b-c`.",
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
        name: "deployment-pod",
        title: "A container of a conversion job cannot start",
        explanation: "The message is Kubernetes' own. Most often a Secret that it mounts was deleted meanwhile, or a policy of the namespace is in the way.",
    },
    Code {
        name: "deployment-quota-exceeded",
        title: "The deployment needs more objects than a quota allows",
        explanation: "All new objects are counted together before any of them is written, because the API server checks each of them alone. \
                      `kubectl describe resourcequota` shows what is used.",
    },
    Code {
        name: "deployment-refused",
        title: "The API server refuses an object",
        explanation: "The message has the words of the server, of a quota, a policy or a webhook; of Secrets and pods only which fields are wrong. \
                      All objects are tried out before any is written, so the cluster has what it had before. The operator tries again \
                      every half minute, and at once when the manifest changes.",
    },
    Code {
        name: "deployment-too-large",
        title: "A document of the conversion does not fit into a Secret",
        explanation: "A Secret holds 1 MiB; documents above 256 KiB are compressed, and this one does not fit even so. Have fewer or smaller \
                      instance groups in one deployment, or move large files into a release.",
    },
    Code {
        name: "deployment-url",
        title: "A document may not be read from this address",
        explanation: "The operator reads documents of `type: url` from hosts that it was allowed with `--document-host HOST[:PORT]`, over https; with \
                      `--document-host-without-tls` over http, too. None is allowed at first, because everybody who may write a BOSHDeployment \
                      chooses addresses, and the operator reaches servers that they may not. Redirects lead to such hosts, too, or nowhere.",
    },
    Code {
        name: "deployment-url-unread",
        title: "A document on a web server cannot be read now",
        explanation: "The server does not answer, or not with the document. What runs stays as it is. The operator asks again within a minute, and every \
                      few minutes when all is well, because a web server tells nobody that a document has changed.",
    },
    Code {
        name: "deployment-value",
        title: "A Secret holds a value that cannot be one",
        explanation: "Values of variables are text (UTF-8); with the annotation `quarks.cloudfoundry.org/json-value: \"true\"` they are JSON.",
    },
    Code {
        name: "deployment-variable",
        title: "The value of a variable cannot be generated",
        explanation: "A QuarksSecret stands for each variable that the manifest defines, and its conditions say why there is no Secret: a quota is used \
                      up, the name belongs to something else, or options of the variable cannot be honoured. Nothing has to be restarted: once the value \
                      is there the deployment goes on.",
    },
    Code {
        name: "output-collision",
        title: "Two parts of a file become one Secret",
        explanation: "With `persistencemethod: fan-out` the name of a Secret ends in the member's, sanitized (`a_b` and `a-b` are one name). Rename one.",
    },
    Code {
        name: "output-foreign",
        title: "There is a Secret of that name which belongs to something else",
        explanation: "Output never replaces what somebody else made. Delete the Secret, or choose another `name` in `spec.output.outputMap`.",
    },
    Code {
        name: "output-missing",
        title: "A container ended and left no file",
        explanation: "`spec.output.outputMap` names a file that a container leaves in `/mnt/quarks`. The container succeeded without writing it.",
    },
    Code {
        name: "output-name",
        title: "Output asks for a name that Kubernetes does not take",
        explanation: "Keys of a Secret are letters, digits, `-`, `_` and `.`, at most 253; with `persistencemethod: fan-out` the members' names become part of \
                      the names of Secrets and need a letter or digit.",
    },
    Code {
        name: "output-not-flat",
        title: "Output is not a JSON object of texts",
        explanation: "The file is one JSON object, and each of its members is a text: `{\"key\": \"value\"}`. Write other values as texts. With \
                      `persistencemethod: fan-out` each member is a text that holds such an object.",
    },
    Code {
        name: "output-not-json",
        title: "Output is not JSON",
        explanation: "The message says at which line and column reading ended; the content is not shown, since it may be secret.",
    },
    Code {
        name: "output-order",
        title: "`host util persist-output` does not understand what it is to do",
        explanation: "It is told in the environment, by the operator that made the Job. Operator and image are of different versions.",
    },
    Code {
        name: "output-refused",
        title: "The API server refuses a Secret of output",
        explanation: "Most often its name or a label is none that Kubernetes takes, or a quota is used up. The server's own words are not shown, since they \
                      quote values.",
    },
    Code {
        name: "output-too-large",
        title: "Output does not fit into a Secret",
        explanation: "A Secret holds 1 MiB. Above 256 KiB its values are compressed with gzip, and what is larger even so is refused. A file has at most \
                      32 MiB.",
    },
    Code {
        name: "output-unreadable",
        title: "A file that a container left cannot be read",
        explanation: "The file is read by another user than the one that wrote it: make it readable by all.",
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
        name: "deployment-too-large",
        title: "The manifest and the ops files of a deployment are too large together",
        explanation: "All documents of a deployment are in memory while it is converted. They may have 16 MiB together (less where the operator has little \
                      memory), where one that `spec.ops` names several times counts each time, and the conversion may take a part of what the namespace may have: a \
                      value takes a hundred times the bytes of its text. The message names the largest.",
    },
    Code {
        name: "plugin-no-memory",
        title: "There is no memory left for a plugin's machine code",
        explanation: "Machine code stays in the operator's memory for as long as its plugin is there, so it is counted: the plugins of a namespace may take a fortieth of \
                      the operator's budget, and those of all namespaces a twentieth. Of machine code in a cache directory on a disk, a thirty-second part counts, because the system \
                      can drop the rest and read it again. The plugin is tried again when another one is deleted.",
    },
    Code {
        name: "plugin-too-many",
        title: "There are too many plugins",
        explanation: "Each takes memory of the operator, and time to compile, so their number is bounded, in a namespace and altogether. The older ones are used.",
    },
];

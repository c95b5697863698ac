//! Explanations of all diagnostic codes of this crate.

use boson_pipeline::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "deployment-forbidden",
        title: "The operator lacks a permission",
        explanation: "The message names verb and resource, like RBAC rules. The rules that the operator needs are in its manifests. If it \
                      serves a fixed list of namespaces, each of them needs the rules.",
    },
    Code {
        name: "deployment-image-pull",
        title: "The image of a release cannot be pulled by a pod of the conversion",
        explanation: "In mode Jobs, pods run the images of releases to copy what templates need. The kubelet keeps retrying: push the image, \
                      or fix url, version, stemcell or credentials of the release. `spec.conversion.registry` replaces all urls.",
    },
    Code {
        name: "deployment-job-failed",
        title: "A job of the conversion failed without a diagnosis",
        explanation: "A container failed without reporting an error in the input: it ran out of memory, or the release image lacks \
                      `/var/vcap/jobs-src` or a shell. Delete the QuarksJob that the message names to try again. Any change of its inputs \
                      starts it again, too.",
    },
    Code {
        name: "deployment-job-more",
        title: "There are more errors than a pod can report",
        explanation: "Kubernetes keeps 12 KiB of messages for all containers of a pod. The log of the container that the message names has \
                      all errors.",
    },
    Code {
        name: "deployment-job-taken",
        title: "A QuarksJob that the deployment does not own has a name that the conversion needs",
        explanation: "The names are `var-interpolation-<deployment>`, `data-gathering-<deployment>` and `bpm-configs-<deployment>`. The \
                      operator does not change objects that the deployment does not own.",
    },
    Code {
        name: "deployment-malformed-object",
        title: "A plugin returned an object that is not JSON",
        explanation: "It holds a number that JSON cannot represent, such as an infinity. The cause is the plugin of the stage `bpm` or \
                      `resources`.",
    },
    Code {
        name: "deployment-name-taken",
        title: "An object that the deployment does not own has the name of one of its objects",
        explanation: "The operator never takes over an object that it did not create: it would change the object, and delete it together \
                      with the deployment. Delete or rename the object, or choose another name for the deployment or the instance group; \
                      `a-b` and group `c` have the same names as `a` and group `b-c`.",
    },
    Code {
        name: "deployment-no-image",
        title: "A release has no image",
        explanation: "The operator reads releases from their images: `<url>/<release>:<os>-<stemcell version>-<release version>`. The \
                      manifest must specify all of these; `spec.conversion.registry` can replace the url.",
    },
    Code {
        name: "deployment-no-value",
        title: "A variable has no value",
        explanation: "The variable is neither defined in the manifest nor in `spec.vars`, so its value is expected in the Secret that the \
                      message names. Create the Secret; the deployment then continues automatically.",
    },
    Code {
        name: "deployment-not-found",
        title: "An object that a BOSHDeployment refers to does not exist",
        explanation: "References name ConfigMaps and Secrets of the same namespace. Create the object; the deployment then continues \
                      automatically.",
    },
    Code {
        name: "deployment-pod",
        title: "A container of a conversion job cannot start",
        explanation: "The message is from Kubernetes. Most often a Secret that the container mounts was deleted meanwhile, or a policy of \
                      the namespace is in the way.",
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
        explanation: "The message quotes the server, a quota, a policy or a webhook; for Secrets and pods it has only the names of the wrong \
                      fields. All objects are tried in a dry run before any is written, so the objects in the cluster are unchanged. The \
                      operator retries every 30 s, and at once when the manifest changes.",
    },
    Code {
        name: "deployment-too-large",
        title: "A document of the conversion does not fit into a Secret",
        explanation: "A Secret holds 1 MiB. Documents above 256 KiB are compressed, but this one is still too large. Have fewer or smaller \
                      instance groups in one deployment, or move large files into a release.",
    },
    Code {
        name: "deployment-url",
        title: "A document must not be read from this address",
        explanation: "The operator reads documents of `type: url` only from hosts in `--document-host HOST[:PORT]`, over https; with \
                      `--document-host-without-tls` over http, too. By default no host is allowed, because everybody who can write a \
                      BOSHDeployment chooses addresses, and the operator can reach servers that they cannot. Redirects must lead to allowed \
                      hosts, too.",
    },
    Code {
        name: "deployment-url-unread",
        title: "A document on a web server cannot be read now",
        explanation: "The server does not answer, or not with the document. The running objects are not changed. The operator asks again \
                      within a minute. When all is well it asks every few minutes, because a web server sends no event when a document \
                      changes.",
    },
    Code {
        name: "deployment-variable",
        title: "The value of a variable cannot be generated",
        explanation: "Each variable that the manifest defines has a QuarksSecret, and its conditions say why there is no Secret: a quota is \
                      used up, the name has a conflict, or options of the variable are not supported. Nothing has to be restarted: once the \
                      value exists, the deployment continues automatically.",
    },
    Code {
        name: "output-collision",
        title: "Two parts of a file become one Secret",
        explanation: "With `persistencemethod: fan-out` the name of a Secret ends in the name of the member, sanitized (`a_b` and `a-b` are \
                      one name). Rename one.",
    },
    Code {
        name: "output-foreign",
        title: "A Secret of that name belongs to another object",
        explanation: "Output never replaces a Secret of another owner. Delete the Secret, or choose another `name` in \
                      `spec.output.outputMap`.",
    },
    Code {
        name: "output-missing",
        title: "A container ended without writing its file",
        explanation: "`spec.output.outputMap` names a file that a container writes to `/mnt/quarks`. The container succeeded without writing \
                      it.",
    },
    Code {
        name: "output-name",
        title: "Output has a name that Kubernetes does not accept",
        explanation: "Keys of a Secret are letters, digits, `-`, `_` and `.`, at most 253. With `persistencemethod: fan-out` the names of \
                      members become part of the names of Secrets and need a letter or digit.",
    },
    Code {
        name: "output-not-flat",
        title: "Output is not a JSON object of strings",
        explanation: "The file must be one JSON object whose members are strings: `{\"key\": \"value\"}`. Encode other values as strings. \
                      With `persistencemethod: fan-out` each member is a string that holds such an object.",
    },
    Code {
        name: "output-not-json",
        title: "Output is not JSON",
        explanation: "The message has the line and column of the error. The content is not shown, because it may be secret.",
    },
    Code {
        name: "output-order",
        title: "`host util persist-output` does not understand its order",
        explanation: "The operator that created the Job passes the order in the environment. Operator and image have different versions.",
    },
    Code {
        name: "output-refused",
        title: "The API server refuses a Secret of output",
        explanation: "Most often its name or a label is not valid in Kubernetes, or a quota is used up. The message of the server is not \
                      shown, because it quotes values.",
    },
    Code {
        name: "output-too-large",
        title: "Output does not fit into a Secret",
        explanation: "A Secret holds 1 MiB. Values above 256 KiB are compressed with gzip; larger ones are refused. A file has at most 32 \
                      MiB.",
    },
    Code {
        name: "output-unreadable",
        title: "A file of a container cannot be read",
        explanation: "Another user than the one who wrote the file reads it: make it readable by all.",
    },
    Code {
        name: "plugin-conflict",
        title: "A stage of a deployment has two plugins",
        explanation: "A stage has one plugin. The plugin with the older ConfigMap is used, the other one is refused. Make the selectors in \
                      their `plugin.yaml` disjoint, or name one of them in `spec.conversion.plugins`.",
    },
    Code {
        name: "plugin-document",
        title: "A `plugin.yaml` is invalid",
        explanation: "It has `name` and `digest`, and where needed `replaces` or `order`, `settings`, `selector` (`namespaces`, \
                      `deployments`) and `parts`. Unknown members are refused: a selector with a typo would select every deployment.",
    },
    Code {
        name: "plugin-lost",
        title: "A plugin that was used cannot be loaded any more",
        explanation: "According to its status, the deployment was converted with this plugin, but its ConfigMap no longer holds a working \
                      version, and the operator process with the last working one has ended. The built-in plugin would change the objects, \
                      so nothing is changed. Fix the ConfigMap, or delete it.",
    },
    Code {
        name: "plugin-no-document",
        title: "A ConfigMap with a plugin has no `plugin.yaml`",
        explanation: "A ConfigMap with the label `quarks.cloudfoundry.org/plugin` describes a plugin under the key `plugin.yaml` of its \
                      `data`, or is a part of the plugin in the ConfigMap that its annotation `quarks.cloudfoundry.org/plugin-part-of` \
                      names. `host plugin pack` writes both.",
    },
    Code {
        name: "plugin-not-found",
        title: "A BOSHDeployment names a plugin that is not available to it",
        explanation: "`spec.conversion.plugins` names plugins from ConfigMaps of the same namespace, plugins of the operator's namespace \
                      whose selector matches the deployment, or the built-in plugin of the stage.",
    },
    Code {
        name: "plugin-parts",
        title: "A plugin's component is incomplete",
        explanation: "`binaryData` has `plugin.wasm`, or `plugin.wasm.zst`, or numbered parts of one of them from `.0` on, over one ConfigMap or several.",
    },
    Code {
        name: "plugin-stage",
        title: "Unknown plugin stage",
        explanation: "The value of the label `quarks.cloudfoundry.org/plugin` must be `ops`, `variables`, `links`, `render`, `bpm` or \
                      `resources`.",
    },
    Code {
        name: "deployment-too-large",
        title: "The manifest and the ops files of a deployment are too large together",
        explanation: "All documents of a deployment are in memory while it is converted. Together they may have 16 MiB, or less if the \
                      operator has little memory; a document that `spec.ops` names several times counts each time. The conversion may use a \
                      part of the memory budget of the namespace: a value takes a hundred times the bytes of its text. The message names the \
                      largest documents.",
    },
    Code {
        name: "plugin-no-memory",
        title: "There is no memory left for a plugin's machine code",
        explanation: "Machine code stays in the operator's memory as long as its plugin exists, so it counts: the plugins of a namespace may \
                      use a fortieth of the operator's budget, and those of all namespaces a twentieth. Of machine code in a cache directory \
                      on a disk, one thirty-second counts, because the system can drop the rest and read it again. The plugin is tried again \
                      when another one is deleted.",
    },
    Code {
        name: "plugin-too-many",
        title: "There are too many plugins",
        explanation: "Each plugin uses memory of the operator and time to compile, so their number is limited, per namespace and in total. \
                      The older ones are used.",
    },
];

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
        title: "A reference of type url cannot be followed",
        explanation: "Documents are read from ConfigMaps and Secrets.",
    },
    Code {
        name: "deployment-value",
        title: "A Secret holds a value that cannot be one",
        explanation: "Values of variables are text (UTF-8); with the annotation `quarks.cloudfoundry.org/json-value: \"true\"` they are JSON.",
    },
];

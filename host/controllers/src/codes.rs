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
];

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
];

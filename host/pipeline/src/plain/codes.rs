//! Explanations of the diagnostics of the plain target.

use crate::codes::Code;

/// Codes of the plain target.
pub const CODES: &[Code] = &[
    Code {
        name: "plain-active-passive",
        title: "Active/passive probes have no effect yet",
        explanation: "The probes are not run yet, with or without the operator, so it is unknown which pods of the group are active. Its Services select all of \
                      its pods. A client that must reach the active pod has to find it itself, or the group must have one instance.",
    },
    Code {
        name: "plain-invalid-key",
        title: "A value has a key that Kubernetes does not take",
        explanation: "The members of a variable's value become keys of its Secret: letters, digits, `-`, `_` and `.`. Rename the \
                      member, and where it is used.",
    },
    Code {
        name: "plain-invalid-object",
        title: "An object of the operator is incomplete",
        explanation: "A QuarksStatefulSet needs `spec.template`, a QuarksJob a `spec.trigger.strategy` of `manual`, `now`, `once` or \
                      `done`. The built-in plugins make such objects; check the hooks and plugins that were added.",
    },
    Code {
        name: "plain-invalid-value",
        title: "A value lacks what its type needs",
        explanation: "A Secret of type `kubernetes.io/tls` needs a certificate and its private key. Give both members in the \
                      variable's value.",
    },
    Code {
        name: "plain-invalid-zone",
        title: "Nodes cannot have the name of a zone as label",
        explanation: "Zones (`azs`) are matched with a label of the nodes: at most 63 letters, digits, `-`, `_` and `.`, each zone once. \
                      `zoneReplicas` of a QuarksStatefulSet has a number for each zone, or is left out.",
    },
    Code {
        name: "plain-missing-value",
        title: "A variable has no value",
        explanation: "Without the operator no values are generated in the cluster: each Secret is made now. Keep a store with \
                      `--vars-store FILE`, or give the value with `-v` or `-l`.",
    },
    Code {
        name: "plain-needs-operator",
        title: "Something has no effect without the operator",
        explanation: "Kubernetes alone does not copy Secrets between namespaces, or keep what a Job writes. Everything else works; with the operator these do too (`--target quarks`).",
    },
    Code {
        name: "plain-no-name",
        title: "There is no Kubernetes name for something",
        explanation: "Names of Kubernetes objects hold lower-case letters, digits and `-`. Nothing is left of this one: rename the \
                      instance group or the deployment.",
    },
    Code {
        name: "plain-secret-too-large",
        title: "A Secret would be too large",
        explanation: "A Secret holds 1 MiB. The properties and links of one instance group have more even when they are compressed, or the \
                      value of one variable has. Move large files into a release, or split the group.",
    },
    Code {
        name: "plain-unknown-kind",
        title: "An object of the operator has no plain form",
        explanation: "QuarksStatefulSets, QuarksJobs and QuarksSecrets become plain objects. Others need the operator: \
                      `--target quarks`.",
    },
    Code {
        name: "plain-unsupported-secret",
        title: "A Secret is made from others, in the cluster",
        explanation: "Variables of the types `dockerconfigjson`, `templatedconfig` and `copy` refer to Secrets that exist in the \
                      cluster; the operator puts them together. Make the Secret yourself, or use `--target quarks`.",
    },
];

//! Explanations of the diagnostics about objects that plugins return.

use crate::codes::Code;

/// Codes of the bundle.
pub const CODES: &[Code] = &[
    Code {
        name: "bundle-duplicate-object",
        title: "Two objects have the same kind and name",
        explanation: "One of them would overwrite the other. Names are made from those of the deployment, its instance groups and \
                      variables, lower case and with `-` for `_`: rename one of them. A hook that wants to change an object has to \
                      patch it, not to add it again.",
    },
    Code {
        name: "bundle-foreign-object",
        title: "A plugin made an object that is not the deployment's",
        explanation: "Namespace, the label `quarks.cloudfoundry.org/deployment-name`, owners and finalizers are set by the host. A \
                      plugin leaves them out, or gives namespace and label as they are. Otherwise it could take over objects that belong to others.",
    },
    Code {
        name: "bundle-identity-changed",
        title: "A hook renamed an object",
        explanation: "A patch may change everything but `apiVersion`, `kind` and `metadata.name`. To rename an object, remove it and \
                      add another one.",
    },
    Code {
        name: "bundle-invalid-data",
        title: "The data of a Secret or ConfigMap is invalid",
        explanation: "Keys are made of letters, digits, `-`, `_` and `.`; values are text. Those of a Secret's `data` and of \
                      `binaryData` are base64; plain text of a Secret goes into `stringData`.",
    },
    Code {
        name: "bundle-invalid-metadata",
        title: "Kubernetes does not accept a label or annotation",
        explanation: "Their names are at most 63 letters, digits, `-`, `_` and `.`, after an optional DNS name and `/`. Values of labels \
                      follow the same rule, those of annotations are any text. Numbers and booleans have to be quoted.",
    },
    Code {
        name: "bundle-invalid-name",
        title: "Kubernetes does not accept a name",
        explanation: "Names are lower-case letters, digits and `-`, with a letter or digit at both ends. Secrets and some others take \
                      dots as well; Services begin with a letter and have at most 63 characters, StatefulSets at most 52, so that \
                      their pods can be labelled.",
    },
    Code {
        name: "bundle-kind-not-allowed",
        title: "A plugin made an object of a kind that is not allowed",
        explanation: "A conversion makes Secrets, ConfigMaps, Services, claims, workloads, network policies and the operator's own \
                      kinds, in the `apiVersion` that the host knows. Roles, ServiceAccounts, webhooks, token Secrets and all that is \
                      not in a namespace is refused: a plugin must not gain privileges through the objects that it returns.",
    },
    Code {
        name: "bundle-label-conflict",
        title: "Two plugins set one label to different values",
        explanation: "Plugins of the stage `resources` run in order, each on what those before it have made, so the last one wins. If a plugin sets a label or an \
                      annotation to another value than an earlier plugin did, the earlier value is lost. Let only one of them set it, or change their settings \
                      or their order.",
    },
    Code {
        name: "bundle-no-such-object",
        title: "A hook changes an object that is not there",
        explanation: "A patch or removal names an object by `apiVersion`, kind and name. No object has this name, or an earlier hook \
                      has removed it.",
    },
    Code {
        name: "bundle-not-json",
        title: "An object holds what Kubernetes cannot store",
        explanation: "Keys of objects are strings, and numbers are finite. A key such as `7:` or a number such as `.nan` comes from a \
                      YAML document and cannot go into a Kubernetes object.",
    },
    Code {
        name: "bundle-object-too-large",
        title: "An object is too large",
        explanation: "Kubernetes accepts 1 MiB of values in a Secret or ConfigMap, 256 KiB of annotations, and about 1.5 MB in all. Large \
                      files do not belong into properties; put them into a release, or split the instance group.",
    },
    Code {
        name: "bundle-patch-failed",
        title: "The patch of a hook does not apply",
        explanation: "Patches are lists of RFC 6902 operations. The message names the operation (counted from 0) and its path. `add` \
                      needs the place above to exist, all others the place itself; `~1` in a path stands for `/`, `~0` for `~`.",
    },
    Code {
        name: "bundle-privilege",
        title: "A plugin asks for privileges that the deployment does not ask for",
        explanation: "Pods get no more than what the deployment asks for: `unsafe.privileged`, `unsafe.host_pid_namespace` and \
                      `capabilities` of bpm.yml, `run.capabilities` and `run.security_context` of the job property `quarks`, \
                      `serviceAccountName`, `automountServiceAccountToken` and `disks` of `env.bosh.agent.settings`. Workloads that a \
                      hook adds get nothing. Otherwise a plugin could take over nodes, or act in the cluster as any account. An \
                      administrator allows more, for all pods, with `--allow-privilege FIELD` or `--allow-privilege FIELD=VALUE`: \
                      `hostNetwork`, `hostPath=/dev/fuse`, `capabilities=NET_ADMIN`.",
    },
    Code {
        name: "bundle-reserved-mark",
        title: "A plugin sets a label or annotation of the operator",
        explanation: "The operator acts on labels and annotations that begin with `quarks.cloudfoundry.org/`: a ConfigMap with the label \
                      `quarks.cloudfoundry.org/plugin` is loaded as a plugin, for example. A plugin sets those that describe a deployment and \
                      its groups, as the built-in rules do, and leaves out the others, in pod templates and in labels for generated \
                      Secrets too.",
    },
    Code {
        name: "bundle-too-many-objects",
        title: "There are too many objects",
        explanation: "A deployment of a thousand instance groups has fewer. Most often `instances` of a group has too many digits.",
    },
];

//! Explanations of the diagnostics of the plain target.

boson_document::codes! {
    PLAIN_INVALID_KEY = "plain-invalid-key", "A value has a key that Kubernetes does not accept",
        "The members of a variable's value become keys of its Secret, which consist of letters, digits, `-`, `_` and \
         `.`. Rename the member wherever it is used.";
    PLAIN_INVALID_OBJECT = "plain-invalid-object", "An object of the operator is incomplete",
        "A QuarksStatefulSet needs `spec.template`, a QuarksJob needs `spec.trigger.strategy` with the value \
         `manual`, `now`, `once` or `done`. The built-in plugins create such objects: check the plugins that you \
         added.";
    PLAIN_INVALID_VALUE = "plain-invalid-value", "A value lacks members that its type needs",
        "A Secret of type `kubernetes.io/tls` needs a certificate and its private key. Set both members in the \
         variable's value.";
    PLAIN_INVALID_ZONE = "plain-invalid-zone", "The name of a zone cannot be the value of a node label",
        "Zones (`azs`) are compared with a label of the nodes. A name has at most 63 letters, digits, `-`, `_` and \
         `.`, and each zone occurs once. `zoneReplicas` of a QuarksStatefulSet has a number for each zone, or is \
         omitted.";
    PLAIN_MISSING_VALUE = "plain-missing-value", "A variable has no value",
        "Without the operator, no values are generated in the cluster, so the conversion must create each Secret \
         with its value. Generate and store values with `--vars-store FILE`, or set the value with `-v` or `-l`.";
    PLAIN_NEEDS_OPERATOR = "plain-needs-operator", "Something has no effect without the operator",
        "Kubernetes alone does not copy Secrets between namespaces, does not store the output of a Job, does not know \
         which pod of a group with active/passive probes is active, and replaces the pods of a StatefulSet one after the other, from the last to the first, without canaries. Everything else \
         works. The operator supports both: `--target quarks`.";
    PLAIN_NO_NAME = "plain-no-name", "A name has no characters that Kubernetes accepts",
        "Names of Kubernetes objects consist of lower-case letters, digits and `-`. Rename the instance group or the \
         deployment.";
    PLAIN_SECRET_TOO_LARGE = "plain-secret-too-large", "A Secret would be too large",
        "A Secret may have 1 MiB. The properties and links of one instance group exceed this even when they are \
         compressed, or the value of one variable does. Move large files into a release, or split the group.";
    PLAIN_UNKNOWN_KIND = "plain-unknown-kind", "An object of the operator has no plain form",
        "QuarksStatefulSets, QuarksJobs and QuarksSecrets can be lowered to plain objects. Other kinds need the \
         operator: `--target quarks`.";
    PLAIN_UNSUPPORTED_SECRET = "plain-unsupported-secret", "A Secret depends on others in the cluster",
        "Variables of the types `dockerconfigjson`, `templatedconfig` and `copy` refer to Secrets in the cluster, \
         which the operator combines. Create the Secret yourself, or use `--target quarks`.";
}

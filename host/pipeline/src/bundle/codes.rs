//! Explanations of the diagnostics about objects that plugins return.

boson_document::codes! {
    BUNDLE_ALL_REMOVED = "bundle-all-removed", "A resource plugin removed all objects",
        "The deployment has no objects after this plugin of the stage `resources`. In a cluster, the operator deletes all \
         that it has created for the deployment, except claims and generated values. Check which objects the plugin \
         removes, and its settings.";
    BUNDLE_DUPLICATE_OBJECT = "bundle-duplicate-object", "Two objects have the same kind and name",
        "One object would overwrite the other. Names of objects come from the names of the deployment, its instance \
         groups and its variables, in lower case and with `-` in place of `_`: rename one of these. A resource \
         plugin must patch an existing object instead of adding it again.";
    BUNDLE_FIELD_CONFLICT = "bundle-field-conflict", "Two plugins set a field to different values",
        "Plugins of the stage `resources` run in order, each with the objects that those before it returned. A plugin \
         changed a field that an earlier plugin had set to another value, or removed an object that it had changed. \
         Without an explicit order, the result would depend on names or ages of plugins, so this is an error. Let only \
         one plugin set the field, or set the order of both: by `order` in plugin.yaml, in `spec.conversion.plugins`, \
         or on the command line. Then the last one wins, with a warning. Items of a list are compared by their `name`.";
    BUNDLE_FOREIGN_OBJECT = "bundle-foreign-object", "A plugin returned an object that does not belong to the deployment",
        "The host sets the namespace, the label `quarks.cloudfoundry.org/deployment-name`, owners and finalizers. A \
         plugin omits them, or keeps namespace and label unchanged. Otherwise it could take over objects of other \
         owners.";
    BUNDLE_IDENTITY_CHANGED = "bundle-identity-changed", "A resource plugin renamed an object",
        "A patch must not change `apiVersion`, `kind` and `metadata.name`. To rename an object, remove it and add \
         another one.";
    BUNDLE_INVALID_DATA = "bundle-invalid-data", "The data of a Secret or ConfigMap is invalid",
        "Keys consist of letters, digits, `-`, `_` and `.`; values are text. Values of a Secret's `data` and of \
         `binaryData` are base64. Put plain text of a Secret into `stringData`.";
    BUNDLE_INVALID_FIELD = "bundle-invalid-field", "Kubernetes does not know a field, or not with this type",
        "The field is misspelt, at the wrong level, or has a value of the wrong type. The API server would refuse the \
         object. The host knows the fields of all kinds of Kubernetes that a conversion may create; it does not check \
         custom resources.";
    BUNDLE_INVALID_METADATA = "bundle-invalid-metadata", "Kubernetes does not accept a label or annotation",
        "A name has at most 63 letters, digits, `-`, `_` and `.`, after an optional DNS name and `/`. The same rule \
         applies to values of labels; values of annotations are any text. Quote numbers and booleans.";
    BUNDLE_INVALID_NAME = "bundle-invalid-name", "Kubernetes does not accept a name",
        "Names consist of lower-case letters, digits and `-`, with a letter or digit at both ends. Secrets and some \
         other kinds also accept dots. Names of Services begin with a letter and have at most 63 characters; names \
         of StatefulSets have at most 52, because the labels of their pods contain them.";
    BUNDLE_KEY_NOT_ALLOWED = "bundle-key-not-allowed", "A plugin sets a label or annotation that is not allowed",
        "Other programs of the cluster act on labels and annotations: proxies, ingress controllers, clouds. With \
         `--allow-label KEY` and `--allow-annotation KEY`, an administrator decides which of them plugins may set; KEY \
         may end in `*`, and `PLUGIN:KEY` allows it to one plugin. Without these options, all are allowed but those of \
         the operator. Labels, annotations and tags that the manifest sets need no permission.";
    BUNDLE_KIND_NOT_ALLOWED = "bundle-kind-not-allowed", "A plugin returned an object of a kind that is not allowed",
        "A conversion creates Secrets, ConfigMaps, Services, claims, workloads, network policies and the operator's \
         own kinds, in the `apiVersion` that the host knows. The host rejects Roles, ServiceAccounts, webhooks, \
         token Secrets and objects without a namespace, because a plugin must not gain privileges through the \
         objects that it returns. An administrator can allow custom resources: `--allow-kind GROUP/VERSION/Kind`, or \
         `--allow-kind PLUGIN:GROUP/VERSION/Kind` for one plugin.";
    BUNDLE_NO_SUCH_OBJECT = "bundle-no-such-object", "A resource plugin changes an object that does not exist",
        "A patch or removal identifies an object by `apiVersion`, kind and name. No object has this name, or an \
         earlier plugin has removed it. The workload of an instance group is a QuarksStatefulSet, or a QuarksJob for an \
         errand; StatefulSets and Jobs are made of them after all plugins.";
    BUNDLE_NOT_JSON = "bundle-not-json", "An object contains a value that Kubernetes cannot store",
        "Keys of objects must be strings, and numbers must be finite. A key such as `7:` or a number such as `.nan` \
         comes from a YAML document.";
    BUNDLE_OBJECT_TOO_LARGE = "bundle-object-too-large", "An object is too large",
        "Kubernetes accepts 1 MiB of values in a Secret or ConfigMap, 256 KiB of annotations, and about 1.5 MB in \
         total. Move large files from properties into a release, or split the instance group.";
    BUNDLE_PATCH_FAILED = "bundle-patch-failed", "A patch of a resource plugin cannot be applied",
        "Patches are lists of RFC 6902 operations. The message names the operation (counted from 0) and its path. \
         For `add`, the parent of the path must exist; for all other operations, the path itself. In a path, `~1` \
         represents `/` and `~0` represents `~`.";
    BUNDLE_PRIVILEGE = "bundle-privilege", "A plugin requests privileges that the deployment does not request",
        "Pods get only the privileges that the deployment requests: `unsafe.privileged`, `unsafe.host_pid_namespace` \
         and `capabilities` of bpm.yml, `run.capabilities` and `run.security_context` of the job property `quarks`, \
         `serviceAccountName`, `automountServiceAccountToken` and `disks` of `env.bosh.agent.settings`. Workloads \
         that a resource plugin adds get none. Otherwise a plugin could control nodes, or act in the cluster as any \
         account. An administrator can allow more with `--allow-privilege FIELD` or \
         `--allow-privilege FIELD=VALUE`: `hostNetwork`, `hostPath=/dev/fuse`, `capabilities=NET_ADMIN`; for the objects \
         of one plugin with `--allow-privilege PLUGIN:FIELD`. A plugin that changes what the pods of another plugin run \
         needs the privileges of those pods, too.";
    BUNDLE_RESERVED_MARK = "bundle-reserved-mark", "A plugin sets a reserved label or annotation",
        "The operator acts on labels and annotations that begin with `quarks.cloudfoundry.org/`. For example, it \
         loads a ConfigMap with the label `quarks.cloudfoundry.org/plugin` as a plugin. A plugin may set only those \
         that describe a deployment and its groups, as the built-in rules do. This also applies to pod templates and \
         to labels of generated Secrets.";
    BUNDLE_TOO_MANY_OBJECTS = "bundle-too-many-objects", "The deployment has too many objects",
        "A deployment of a thousand instance groups has fewer objects. Most often `instances` of a group has too \
         many digits.";
}

//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    DEPLOYMENT_DEFECT = "deployment-defect", "The operator has a defect",
        "The operator reached a state that its own code excludes, such as an object without a name. It stops there, because it \
         would write or delete the wrong object otherwise. Report the message, with the log of the operator.";
    DEPLOYMENT_FORBIDDEN = "deployment-forbidden", "The operator lacks a permission",
        "The message names verb and resource, as RBAC rules do. `deploy/operator/rbac.yaml` contains the rules that \
         the operator needs. If it serves a list of namespaces, bind them in each of these.";
    DEPLOYMENT_IMAGE_PULL = "deployment-image-pull", "A pod of the conversion cannot pull the image of a release",
        "In mode `Jobs`, pods run the images of releases to copy the sources of jobs. The kubelet keeps retrying. \
         Push the image, or correct url, version, stemcell or credentials of the release. `spec.conversion.registry` \
         replaces all urls.";
    DEPLOYMENT_JOB_FAILED = "deployment-job-failed", "A step of the conversion failed without a diagnostic",
        "A container failed without reporting an error in the input: it ran out of memory, or the release image \
         lacks `/var/vcap/jobs-src` or a shell. To rerun the step, delete the QuarksJob that the message names, or \
         change the input.";
    DEPLOYMENT_JOB_MORE = "deployment-job-more", "There are more errors than a pod can report",
        "Kubernetes stores 12 KiB of messages for all containers of a pod. The log of the container that the message \
         names contains all errors.";
    DEPLOYMENT_JOB_CONFLICT = "deployment-job-conflict", "A QuarksJob that the deployment does not own has a name that the conversion needs",
        "The names are `var-interpolation-<deployment>`, `data-gathering-<deployment>` and `bpm-configs-<deployment>`. The \
         operator does not change objects that the deployment does not own.";
    DEPLOYMENT_KIND_UNAVAILABLE = "deployment-kind-unavailable", "The operator cannot read objects of an additional kind",
        "A plugin returned an object of a custom resource that `--allow-kind` of the operator allows. The operator \
         needs its CustomResourceDefinition, and permissions for it, which the administrator adds to the operator's \
         account; docs/plugins.md has an example. Deployments without objects of this kind are not affected.";
    DEPLOYMENT_MALFORMED_OBJECT = "deployment-malformed-object", "A plugin returned an object that is not JSON",
        "The object contains a number that JSON cannot represent, such as an infinity. The cause is the plugin of \
         the stage `bpm` or `resources`.";
    DEPLOYMENT_NAME_CONFLICT = "deployment-name-conflict", "An object that the deployment does not own has the name of one of its objects",
        "The operator never takes over an object that it did not create, because it would change the object, and \
         delete it together with the deployment. Delete or rename the object, or choose another name for the \
         deployment or the instance group. The deployment `a-b` with a group `c` has the same names as `a` with a \
         group `b-c`.";
    DEPLOYMENT_NO_IMAGE = "deployment-no-image", "A release has no image",
        "The operator reads releases from their images: `<url>/<release>:<os>-<stemcell version>-<release version>`. The \
         manifest must specify all of these; `spec.conversion.registry` can replace the url.";
    DEPLOYMENT_NO_VALUE = "deployment-no-value", "A variable has no value",
        "Neither the manifest nor `spec.vars` defines the variable, so the operator reads its value from the Secret \
         that the message names. Create the Secret; the deployment then continues automatically.";
    DEPLOYMENT_NOT_FOUND = "deployment-not-found", "An object that a BOSHDeployment refers to does not exist",
        "References name ConfigMaps and Secrets of the same namespace. Create the object; the deployment then continues \
         automatically.";
    DEPLOYMENT_POD = "deployment-pod", "A container of a conversion job cannot start",
        "The message is from Kubernetes. Most often, a Secret that the container mounts was deleted in the meantime, \
         or a policy of the namespace rejects the pod.";
    DEPLOYMENT_QUOTA_EXCEEDED = "deployment-quota-exceeded", "The deployment needs more objects than a quota allows",
        "The operator counts all new objects together before it writes any of them, because the API server checks \
         each of them alone. `kubectl describe resourcequota` shows the usage.";
    DEPLOYMENT_REFUSED = "deployment-refused", "The API server rejects an object",
        "The message quotes the API server, a quota, a policy or a webhook; for Secrets and pods it contains only \
         the names of the invalid fields. The operator sends all objects as a dry run before it writes any of them, \
         so the objects in the cluster are unchanged. It retries every 30 s, and immediately when the manifest \
         changes.";
    DEPLOYMENT_TOO_LARGE = "deployment-too-large", "A deployment, or one of its documents, is too large",
        "The manifest and the ops files of a deployment are in memory during a conversion. Together they may have 16 \
         MiB, or less if the operator has little memory: a value takes a hundred times the size of its text. A \
         document that `spec.ops` names several times counts each time. The message names the largest documents. If \
         the message names a Secret instead: a Secret may have 1 MiB, and the document exceeds this even though \
         documents above 256 KiB are compressed. Use fewer or smaller instance groups in one deployment, or move \
         large files into a release.";
    DEPLOYMENT_URL = "deployment-url", "A document cannot be read from this address",
        "The operator reads documents of `type: url` only from hosts in `--document-host HOST[:PORT]`, over https; \
         with `--document-host-without-tls`, also over http. No host is allowed by default, because users who can \
         write a BOSHDeployment choose the address, and the operator may reach servers that they cannot. Redirects \
         must lead to allowed hosts, too.";
    DEPLOYMENT_URL_UNREAD = "deployment-url-unread", "A document on a web server cannot be read at the moment",
        "The server does not respond, or not with the document. The running objects are unchanged. The operator \
         tries again within a minute. When the document is available, the operator reads it every three minutes, \
         because a web server sends no watch events.";
    DEPLOYMENT_VARIABLE = "deployment-variable", "The value of a variable cannot be generated",
        "Each variable that the manifest defines has a QuarksSecret. Its conditions give the reason why there is no \
         Secret: a quota is exceeded, the name has a conflict, or options of the variable are not supported. When \
         the value exists, the deployment continues automatically.";
    PLUGIN_CONFLICT = "plugin-conflict", "A stage of a deployment has two plugins",
        "A stage has one plugin. The operator uses the plugin with the older ConfigMap and rejects the other one. \
         Make the selectors in their `plugin.yaml` disjoint, or name one of them in `spec.conversion.plugins`.";
    PLUGIN_DOCUMENT = "plugin-document", "A `plugin.yaml` is invalid",
        "It contains `name` and `digest` or `image`, and optionally `replaces`, `wraps`, `order`, `enforce`, \
         `onFailure`, `shadow`, `settings`, `selector` (`namespaces`, `deployments`, `instanceGroups`), `parts` and \
         `imagePullSecrets`. Unknown members are an error, because a selector with a typo would select every deployment.";
    PLUGIN_IMAGE_DIGEST = "plugin-image-digest", "The image of a plugin contains another component than `plugin.yaml` says",
        "`image` in `plugin.yaml` names the image, whose digest is that of its manifest; `digest` is the one of the component \
         itself, as `sha256sum` prints it. An image with a digest always has the same component, so `digest` can be left \
         out.";
    PLUGIN_LOST = "plugin-lost", "A plugin that a deployment used cannot be loaded",
        "According to its status, the deployment was converted with this plugin, but its ConfigMap no longer \
         contains a working version, and the operator process with the last good version has ended. The built-in \
         plugin would produce other objects, so the operator changes nothing. Fix the ConfigMap, or delete it.";
    PLUGIN_MANY_SHADOWS = "plugin-many-shadows", "Too many shadow plugins apply to a deployment",
        "A plugin with `shadow: true` runs beside the plugins of a conversion, and its use of time is limited, so a \
         deployment runs at most two of them: those with the oldest ConfigMaps.";
    PLUGIN_NO_DOCUMENT = "plugin-no-document", "A ConfigMap with a plugin has no `plugin.yaml`",
        "A ConfigMap with the label `quarks.cloudfoundry.org/plugin` describes a plugin under the key `plugin.yaml` \
         of its `data`, or contains a part of the plugin in the ConfigMap that its annotation \
         `quarks.cloudfoundry.org/plugin-part-of` names. `host plugin pack` writes both.";
    PLUGIN_NOT_FOUND = "plugin-not-found", "A BOSHDeployment names a plugin that is not available to it",
        "`spec.conversion.plugins` names plugins from ConfigMaps of the same namespace, plugins of the operator's namespace \
         whose selector matches the deployment, or the built-in plugin of the stage.";
    PLUGIN_PARTS = "plugin-parts", "A plugin's component is incomplete",
        "`binaryData` must contain `plugin.wasm`, or `plugin.wasm.zst`, or numbered parts of one of them from `.0` \
         on, in one or several ConfigMaps.";
    PLUGIN_NOT_APPROVED = "plugin-not-approved", "A version of a plugin waits for an approval",
        "The operator was started with `--plugin-updates approve`. The message lists what the version gains, compared with the \
         approved version that it differs least from. Until it is approved, the last good version stays in use. Read the ConfigMap, \
         and approve the version with `host plugin approve` and the digest in the message. This needs permissions for \
         PluginApprovals, which users who write ConfigMaps usually do not have. Or go back with `host plugin rollback`.";
    PLUGIN_NO_PROVENANCE = "plugin-no-provenance", "No trusted key attests how a plugin was built",
        "The operator was started with `--plugin-provenance warn` or `enforce`, public keys (`--plugin-key`), and possibly the \
         builders that it accepts (`--plugin-builder`). Attach an attestation with SLSA provenance (v1 or v0.2) to the image: \
         `cosign attest --key --type slsaprovenance1`; or put one for the component into the ConfigMap under `plugin.wasm.att`: \
         `cosign attest-blob --key`, `host plugin pack --attestation`. The operator looks for new attestations of images at \
         least every 5 minutes.";
    PLUGIN_NOT_PINNED = "plugin-not-pinned", "The image of a plugin has no digest",
        "A tag can refer to another image tomorrow. The operator resolves the tag of a plugin once and records the digest in \
         the annotation `quarks.cloudfoundry.org/plugin-image` of the ConfigMap. It cannot do this where it has no permission \
         to change ConfigMaps; and with `--plugins-pinned`, an administrator requires digests. \
         Write the digest into `plugin.yaml`: `image: registry.example.com/team/plugin:1@sha256:...`.";
    PLUGIN_NOT_SIGNED = "plugin-not-signed", "No trusted key has signed a plugin",
        "The operator was started with `--plugin-signatures warn` or `enforce` and public keys (`--plugin-key`). Sign the \
         component, and put the signature into the ConfigMap under `plugin.wasm.sig` (`host plugin pack --signature`); or sign \
         the image with `cosign sign --key`, which attaches the signature to it. The operator looks for new signatures of \
         images at least every 5 minutes.";
    PLUGIN_PULL_SECRET = "plugin-pull-secret", "A pull Secret of a plugin cannot be used",
        "`imagePullSecrets` in `plugin.yaml` names Secrets of type `kubernetes.io/dockerconfigjson` in the namespace of the \
         ConfigMap. In its own namespace, the operator can read only the Secret `boson-plugin-pull`, unless it is installed \
         for the whole cluster.";
    PLUGIN_SHADOW_DIFFERS = "plugin-shadow-differs", "A shadow plugin would change the result of a conversion",
        "A plugin with `shadow: true` gets the same calls as the plugins in use, without effect. Its replies differ from \
         theirs at the named places, or calls failed. If the differences are intended, apply the plugin without \
         `shadow`; otherwise fix it.";
    PLUGIN_WITHOUT_GROUP = "plugin-without-group", "A wrapper serves no instance group of a deployment",
        "The selector of the plugin has `instanceGroups`, and the deployment has no group with one of these names, so the \
         plugin is not called. The name may be misspelt, or the selector may match a deployment that it is not meant for: \
         `deployments` restricts it.";
    PLUGIN_STAGE = "plugin-stage", "Unknown plugin stage",
        "The value of the label `quarks.cloudfoundry.org/plugin` must be `ops`, `variables`, `links`, `render`, `bpm` or \
         `resources`.";
    PLUGIN_NO_MEMORY = "plugin-no-memory", "There is not enough memory for a plugin's machine code",
        "Machine code stays in the operator's memory as long as its plugin exists. The plugins of a namespace may \
         use a fortieth of the operator's budget, and those of all namespaces a twentieth. If the cache directory is \
         on a disk, one thirty-second of the machine code counts, because the system can evict the rest and read it \
         again. The operator loads the plugin when another one is deleted.";
    PLUGIN_TOO_LARGE = "plugin-too-large", "A plugin's component is too large",
        "A component may have at most 96 MiB, and 32 MiB when it is packed, because the API server, operators and \
         pods must transfer it.";
    PLUGIN_NOT_ALLOWED = "plugin-not-allowed", "The operator does not use plugins from this namespace",
        "`--plugins` of the operator selects the plugins from ConfigMaps that it uses: `all` (the default), `operator` \
         for those in its own namespace only, or `off` for none. Other plugins are not read. Deployments that they apply to are converted \
         without them; a deployment that has used one keeps its objects until the ConfigMap is deleted.";
    PLUGIN_TOO_MANY = "plugin-too-many", "There are too many plugins",
        "Each plugin uses memory of the operator and time to compile, so their number is limited, for each namespace \
         and in total. The operator uses the oldest ones.";
}

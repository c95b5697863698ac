//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    DEPLOYMENT_DEFECT = "deployment-defect", "The operator has a defect",
        "The operator reached a state that its own code excludes, such as an object without a name. It stops there, because it \
         would write or delete the wrong object otherwise. Report the message, with the log of the operator.";
    DEPLOYMENT_FORBIDDEN = "deployment-forbidden", "The operator lacks a permission",
        "The message names verb and resource, as RBAC rules do. `deploy/operator/rbac.yaml` contains the rules that \
         the operator needs. If it serves a list of namespaces, bind them in each of these.";
    DEPLOYMENT_IGNORED_INSTANCE = "deployment-ignored-instance", "A change would delete an ignored instance",
        "As in BOSH, an instance that `host ignore` has marked is not changed, so its instance group cannot be deleted \
         or scaled down below it. Nothing is applied until the manifest has the instance again, or it is no longer \
         ignored: `host unignore <group>/<index> -d <deployment>`.";
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
    DEPLOYMENT_UNKNOWN_INSTANCE = "deployment-unknown-instance", "A desired state is for an instance that does not exist",
        "A name in `spec.instances` is neither an instance group of services nor an instance of one, so the state has no \
         effect. It takes effect when the manifest has the instance. `host instances` lists the names; `host start` and \
         `host unignore` remove a state.";
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
    PLUGIN_SHADOW_DIFFERS = "plugin-shadow-differs", "A shadow plugin would change the result of a conversion",
        "A plugin with `shadow: true` gets the same calls as the plugins in use, without effect. Its replies differ from \
         theirs at the named places, or calls failed. If the differences are intended, apply the plugin without \
         `shadow`; otherwise fix it.";
    PLUGIN_WITHOUT_GROUP = "plugin-without-group", "A wrapper serves no instance group of a deployment",
        "The selector of the plugin has `instanceGroups`, and the deployment has no group with one of these names, so the \
         plugin is not called. The name may be misspelt, or the selector may match a deployment that it is not meant for: \
         `deployments` restricts it.";
}

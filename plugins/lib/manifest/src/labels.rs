//! Labels, annotations and API names on the objects of a deployment: the compatibility surface, spelled once.

/// The API group of the operator's kinds.
pub const GROUP: &str = "quarks.cloudfoundry.org";
/// `apiVersion` of the operator's kinds.
pub const API_VERSION: &str = "quarks.cloudfoundry.org/v1alpha1";

/// How domains below [`GROUP`] end.
pub const SUBDOMAINS: &str = ".quarks.cloudfoundry.org";

/// Labels and annotations that rules, and users through them, set on objects of a deployment. All others of [`GROUP`]
/// are the operator's own: it acts upon them.
pub const SET_BY_RULES: &[&str] = &[
    DEPLOYMENT_NAME,
    DEPLOYMENT,
    INSTANCE_GROUP_NAME,
    DEPLOYMENT_VERSION,
    AZ_INDEX,
    AZ_NAME,
    ZONES,
    VARIABLE,
    UPDATE_MODE,
    CANARIES,
    MAX_IN_FLIGHT,
    CANARY_WATCH_TIME,
    UPDATE_WATCH_TIME,
    VM_STRATEGY,
    RESTART_ON_UPDATE,
    RESTART,
    CONSUMES,
    PROVIDES,
    LINK_PROVIDER_NAME,
    WAIT_FOR,
];

// === labels ===

/// Label, and annotation on objects of links: which deployment it belongs to.
pub const DEPLOYMENT_NAME: &str = "quarks.cloudfoundry.org/deployment-name";
/// Label: which instance group it belongs to.
pub const INSTANCE_GROUP_NAME: &str = "quarks.cloudfoundry.org/instance-group-name";
/// Label: version of the desired manifest that it was made from.
pub const DEPLOYMENT_VERSION: &str = "quarks.cloudfoundry.org/deployment-version";
/// Label: what a Secret of the flow holds, one of [`secret_type`].
pub const SECRET_TYPE: &str = "quarks.cloudfoundry.org/secret-type";
/// Label: where a Secret comes from, one of [`secret_kind`].
pub const SECRET_KIND: &str = "quarks.cloudfoundry.org/secret-kind";
/// Label: number of a versioned Secret.
pub const SECRET_VERSION: &str = "quarks.cloudfoundry.org/secret-version";
/// Label `"true"` of a Secret: a link that a deployment provides, for pods that are not part of it. Only the operator
/// sets it: with it, pods get the Secret's values.
pub const ENTANGLEMENT: &str = "quarks.cloudfoundry.org/entanglement";
/// Label of a pod that gets links: label of the deployment that provides them. The webhook sets it, so that a watch
/// finds these pods.
pub const CONSUMER: &str = "quarks.cloudfoundry.org/consumes-from";
/// Label: container that an output Secret comes from.
pub const CONTAINER_NAME: &str = "quarks.cloudfoundry.org/container-name";
/// Label: `REMOTE_ID` of that container.
pub const REMOTE_ID: &str = "quarks.cloudfoundry.org/remote-id";
/// Label `"true"` of a ConfigMap: the job sources of an instance group, which its pods mount.
pub const JOB_SOURCES: &str = "quarks.cloudfoundry.org/job-sources";
/// Label: QuarksJob of a Job and its pod.
pub const QUARKS_JOB_NAME: &str = "quarks.cloudfoundry.org/qjob-name";
/// Label: zone of a StatefulSet and its pods, from 0; `"0"` without zones.
pub const AZ_INDEX: &str = "quarks.cloudfoundry.org/az-index";
/// Label: name of that zone.
pub const AZ_NAME: &str = "quarks.cloudfoundry.org/az-name";
/// Label: name of the StatefulSet of a pod.
pub const STATEFUL_SET_NAME: &str = "quarks.cloudfoundry.org/quarks-statefulset-name";
/// Label: the active pod of a group with active/passive probes has the value [`ACTIVE`], the others none.
pub const POD_ACTIVE: &str = "quarks.cloudfoundry.org/pod-active";
/// Value of [`POD_ACTIVE`].
pub const ACTIVE: &str = "active";
/// Name of the container ports at which pods answer whether they are active.
pub const ACTIVE_PASSIVE_PORT: &str = "active-passive";
/// The number of the first of these ports. `deploy/operator/network-policy.yaml` allows the operator to connect to
/// them.
pub const FIRST_ACTIVE_PASSIVE_PORT: u16 = 14_920;
/// How many of them a pod has at most.
pub const MAX_ACTIVE_PASSIVE_PORTS: u16 = 8;
/// Label: ordinal of a pod, as the predecessor's webhook set it.
pub const POD_ORDINAL: &str = "quarks.cloudfoundry.org/pod-ordinal";
/// Annotation of a QuarksStatefulSet that a user sets: the rule of its rollout that does not apply to one generation.
pub const WAIVED_RULE: &str = "quarks.cloudfoundry.org/waived-rule";
/// Label that Kubernetes itself sets on the pods of a StatefulSet: the ordinal.
pub const KUBERNETES_POD_INDEX: &str = "apps.kubernetes.io/pod-index";
/// Label of a ConfigMap with recorded events: its number.
pub const EVENTS_PAGE: &str = "quarks.cloudfoundry.org/events-page";
/// Annotation of a PersistentVolumeClaim: the claim that had its volume before the disk was orphaned.
pub const ORPHANED_FROM: &str = "quarks.cloudfoundry.org/orphaned-from";
/// Label of what `host deploy` stores: the deployment.
pub const INPUT_OF: &str = "quarks.cloudfoundry.org/input-of";
/// Label of the record of a deploy, and annotation of its BOSHDeployment: the number of the deploy.
pub const REVISION: &str = "quarks.cloudfoundry.org/revision";
/// Annotation of the record of a deploy: how it ended.
pub const DEPLOY_RESULT: &str = "quarks.cloudfoundry.org/deploy-result";
/// Annotation of a BOSHDeployment: the user of the command of `host` that has changed it last.
pub const CHANGED_BY: &str = "quarks.cloudfoundry.org/changed-by";
/// Annotation `"true"` of a BOSHDeployment: `host cancel` has paused it, and the next deploy resumes it.
pub const CANCELLED: &str = "quarks.cloudfoundry.org/cancelled";
/// Label of a namespace that an operator serves.
pub const MONITORED: &str = "quarks.cloudfoundry.org/monitored";
/// Label of a namespace: ServiceAccount of the conversion Jobs.
pub const QUARKS_JOB_SERVICE_ACCOUNT: &str = "quarks.cloudfoundry.org/qjob-service-account";
/// Label of a ConfigMap that asks for rotation of Secrets.
pub const SECRET_ROTATION: &str = "quarks.cloudfoundry.org/secret-rotation";
/// Label that the predecessor put on QuarksSecrets of variables: the variable's name, sanitized.
pub const VARIABLE_NAME: &str = "variableName";

// === annotations ===

/// Annotation of a pod: the `status.activePod.transitions` of its group for which the pod was last marked as active or
/// passive. Perhaps it was not recorded.
pub const ACTIVE_TRANSITIONS: &str = "quarks.cloudfoundry.org/active-transitions";
/// Annotation: name of a variable as the manifest has it, before it was sanitized.
pub const VARIABLE: &str = "quarks.cloudfoundry.org/variable";
/// Annotation: `update_mode` of a variable.
pub const UPDATE_MODE: &str = "quarks.cloudfoundry.org/update-mode";
/// Annotation of a QuarksSecret: which rotation was asked for last. Each new text is another rotation.
pub const ROTATION: &str = "quarks.cloudfoundry.org/rotation";
/// Annotation of the Secret of a certificate whose CA is being rotated: fingerprint of the CA that `ca` has beside the
/// one that signed it, so that it can be removed.
pub const TRUSTED_CA: &str = "quarks.cloudfoundry.org/trusted-ca";
/// Annotation: the deployment's name as the user gave it, where a label cannot hold it.
pub const DEPLOYMENT: &str = "quarks.cloudfoundry.org/deployment";
/// Annotation of pods: JSON list of links consumed.
pub const CONSUMES: &str = "quarks.cloudfoundry.org/consumes";
/// Annotation of native Secrets and Services: JSON of the link that they provide to a deployment.
pub const PROVIDES: &str = "quarks.cloudfoundry.org/provides";
/// Annotation of a Service: the Secret whose link it gives address and instances to.
pub const LINK_PROVIDER_NAME: &str = "quarks.cloudfoundry.org/link-provider-name";
/// Annotation of a Secret with [`ENTANGLEMENT`]: JSON of the link, before its name was sanitized.
pub const LINK: &str = "quarks.cloudfoundry.org/link";
/// Annotation of a Job: number of the run of its QuarksJob.
pub const RUN: &str = "quarks.cloudfoundry.org/run";
/// Annotation of a pod that gets links, and of the template of its workload: keyed digest of their content.
pub const LINKS_DIGEST: &str = "quarks.cloudfoundry.org/links-digest";
/// Annotation `"true"` of an implicit variable's Secret: its value is JSON.
pub const JSON_VALUE: &str = "quarks.cloudfoundry.org/json-value";
/// Annotation `gzip` of a Secret whose data is compressed.
pub const ENCODING: &str = "quarks.cloudfoundry.org/encoding";
/// Annotation: JSON list of the zones of a StatefulSet.
pub const ZONES: &str = "quarks.cloudfoundry.org/zones";
/// Annotation: version of a StatefulSet.
pub const VERSION: &str = "quarks.cloudfoundry.org/version";
/// Annotation of a QuarksStatefulSet: JSON list of the instance groups that are updated before it.
pub const UPDATE_AFTER: &str = "quarks.cloudfoundry.org/update-after";
/// Annotation of a rendered document: the digest of the files of each instance, by zone.
pub const INSTANCE_DIGESTS: &str = "quarks.cloudfoundry.org/instance-digests";
/// Annotation of a rendered document, of pod templates and pods: the revision of the files of each instance, by zone.
pub const INSTANCE_REVISIONS: &str = "quarks.cloudfoundry.org/instance-revisions";
/// Annotation of pod templates and pods: the rendered document that the revisions are of.
pub const RENDERED_AS: &str = "quarks.cloudfoundry.org/rendered-as";
/// Annotation of pod templates and pods: digest of what replaces pods if it differs.
pub const SHAPE_DIGEST: &str = "quarks.cloudfoundry.org/shape-digest";
/// Annotation of pod templates and pods: digest of the CPU and memory that a pod was created or last resized with.
pub const RESOURCES_DIGEST: &str = "quarks.cloudfoundry.org/resources-digest";
/// Annotation of a pod: digest of the CPU and memory that the API server refuses to give it.
pub const RESIZE_REFUSED: &str = "quarks.cloudfoundry.org/resize-refused";
/// Annotation: longest time for a canary, milliseconds.
pub const CANARY_WATCH_TIME: &str = "quarks.cloudfoundry.org/canary-watch-time-ms";
/// Annotation: longest time for an update, milliseconds.
pub const UPDATE_WATCH_TIME: &str = "quarks.cloudfoundry.org/update-watch-time-ms";
/// Annotation: `canaries` of the update block as written, a number or a percentage.
pub const CANARIES: &str = "quarks.cloudfoundry.org/canaries";
/// Annotation: `max_in_flight` of the update block as written, a number or a percentage.
pub const MAX_IN_FLIGHT: &str = "quarks.cloudfoundry.org/max-in-flight";
/// Annotation: `vm_strategy` of the update block. With [`DELETE_CREATE`], pods are replaced in place.
pub const VM_STRATEGY: &str = "quarks.cloudfoundry.org/vm-strategy";
/// Annotation of the pods of an instance group: JSON list of Services that they wait for before they start.
pub const WAIT_FOR: &str = "quarks.cloudfoundry.org/wait-for";
/// Annotation: restart the owner when a mounted Secret or ConfigMap changes.
pub const RESTART_ON_UPDATE: &str = "quarks.cloudfoundry.org/restart-on-update";
/// Annotation of pods with post-deploy scripts: version of the deployment that is up. A new value starts the scripts.
pub const POST_DEPLOY: &str = "quarks.cloudfoundry.org/post-deploy";
/// Annotation: set to force a restart.
pub const RESTART: &str = "quarks.cloudfoundry.org/restart";
/// Annotation of a generated Secret that outlives its QuarksSecret: name and UID of that, with a slash between them.
pub const RETAINED_BY: &str = "quarks.cloudfoundry.org/retained-by";
/// Annotation: consent to receive copies of a Secret.
pub const SECRET_COPY_OF: &str = "quarks.cloudfoundry.org/secret-copy-of";

/// Value of [`VM_STRATEGY`]: the old pod is deleted before its successor is created.
pub const DELETE_CREATE: &str = "delete-create";

/// Values of [`SECRET_TYPE`].
pub mod secret_type {
    /// The manifest with its ops applied.
    pub const WITH_OPS: &str = "with-ops";
    /// The desired manifest.
    pub const DESIRED: &str = "desired";
    /// The links from outside of a deployment.
    pub const EXTERNAL_LINKS: &str = "external-links";
    /// The resolved document of a group.
    pub const RESOLVED: &str = "ig-resolved";
    /// The links that a deployment provides, with their properties.
    pub const LINKS: &str = "links";
    /// The rendered bpm of a group.
    pub const BPM: &str = "bpm";
}

/// Values of [`SECRET_KIND`].
pub mod secret_kind {
    /// The value of a variable.
    pub const GENERATED: &str = "generated";
    /// One of a series of immutable versions.
    pub const VERSIONED: &str = "versionedSecret";
}

//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    PLUGIN_CANARY_ALONE = "plugin-canary-alone", "A canary has no first version",
        "A version with `canary` in `plugin.yaml` takes the place of the plugin with the same name, stage and kind (rule or \
         wrapper) in the same namespace. There is none that applies to the deployment, or another canary has taken its \
         place. The deployment is converted without this canary. To use the version without a first one, remove `canary`.";
    PLUGIN_CANARY_STOPPED = "plugin-canary-stopped", "A canary was stopped",
        "Conversions of more than `maxFailedPercent` of the deployments that use the canary failed because it trapped, \
         exceeded a limit or gave a malformed reply. The operator uses the first version for these deployments again. It \
         records that in the annotation `quarks.cloudfoundry.org/plugin-canary-stopped` of the ConfigMap, so the canary is \
         stopped also after a restart of the operator, until the content of the ConfigMap changes or the annotation is \
         removed.";
    PLUGIN_CONFLICT = "plugin-conflict", "A stage of a deployment has two plugins",
        "A stage has one plugin. The operator uses the plugin with the older ConfigMap and rejects the other one. \
         Make the selectors in their `plugin.yaml` disjoint, or name one of them in `spec.conversion.plugins`.";
    PLUGIN_DOCUMENT = "plugin-document", "A `plugin.yaml` is invalid",
        "It contains `name` and `digest` or `image`, and optionally `replaces`, `wraps`, `order`, `enforce`, \
         `onFailure`, `shadow`, `canary`, `settings`, `selector` (`namespaces`, `deployments`, `instanceGroups`), \
         `parts` and `imagePullSecrets`. Unknown members are an error, because a selector with a typo would select every deployment.";
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
    PLUGIN_NO_PROVENANCE = "plugin-no-provenance", "Nobody who is trusted attests how a plugin was built",
        "The operator was started with `--plugin-provenance warn` or `enforce`, public keys (`--plugin-key`) or identities \
         (`--plugin-identity`), and possibly the builders that it accepts (`--plugin-builder`). Attach an attestation with \
         SLSA provenance (v1 or v0.2) to the image: `cosign attest --type slsaprovenance1`; or put one for the component into \
         the ConfigMap under `plugin.wasm.att`: `cosign attest-blob`, `host plugin pack --attestation`. The operator looks for \
         new attestations of images at least every 5 minutes.";
    PLUGIN_NOT_PINNED = "plugin-not-pinned", "The image of a plugin has no digest",
        "A tag can refer to another image tomorrow. The operator resolves the tag of a plugin once and records the digest in \
         the annotation `quarks.cloudfoundry.org/plugin-image` of the ConfigMap. It cannot do this where it has no permission \
         to change ConfigMaps; and with `--plugins-pinned`, an administrator requires digests. \
         Write the digest into `plugin.yaml`: `image: registry.example.com/team/plugin:1@sha256:...`.";
    PLUGIN_NOT_SIGNED = "plugin-not-signed", "Nobody who is trusted has signed a plugin",
        "The operator was started with `--plugin-signatures warn` or `enforce`, and public keys (`--plugin-key`) or identities \
         (`--plugin-identity`). Sign the component, and put the signature into the ConfigMap under `plugin.wasm.sig` \
         (`host plugin pack --signature`); or sign the image with `cosign sign`, which attaches the signature to it. The \
         operator looks for new signatures of images at least every 5 minutes.";
    PLUGIN_PULL_SECRET = "plugin-pull-secret", "A pull Secret of a plugin cannot be used",
        "`imagePullSecrets` in `plugin.yaml` names Secrets of type `kubernetes.io/dockerconfigjson` in the namespace of the \
         ConfigMap. In its own namespace, the operator can read only the Secret `boson-plugin-pull`, unless it is installed \
         for the whole cluster.";
    PLUGIN_SIGNATURE_CERTIFICATE = "plugin-signature-certificate", "The certificate of a plugin's signature is not accepted",
        "A keyless signature has a certificate for a few minutes. An authority of the trusted root (`--plugin-trusted-root`) must \
         have issued it, the authority and the certificate must have been valid at the time of the signature, and, if the \
         trusted root has logs of certificates, one of them must have recorded it. Check that the trusted root is that of the \
         instance of Sigstore that the author uses, and update it.";
    PLUGIN_SIGNATURE_IDENTITY = "plugin-signature-identity", "A plugin is signed by an identity that is not trusted",
        "The signature is valid, and its issuer is in a rule of `--plugin-identity`, but no rule accepts the identity in the \
         message. If it is to be trusted, add the rule `ISSUER=IDENTITY`, where `*` is any text without `/`, and `**` any text.";
    PLUGIN_SIGNATURE_INVALID = "plugin-signature-invalid", "The keyless signature of a plugin cannot be verified",
        "The bundle is malformed or too large, was changed, or is the signature of another component. Sign the component again, \
         with `cosign sign-blob --bundle`, or the image with `cosign sign`.";
    PLUGIN_SIGNATURE_ISSUER = "plugin-signature-issuer", "A plugin is signed by an identity of an issuer that is not trusted",
        "The signature is valid, but no rule of `--plugin-identity` has the OpenID Connect issuer in the message. If it is to be \
         trusted, add the rule `ISSUER=IDENTITY`.";
    PLUGIN_SIGNATURE_LOG = "plugin-signature-log", "Nothing proves when a plugin was signed",
        "A certificate of a keyless signature is valid for a few minutes, so a log (Rekor) or a timestamp authority of the trusted \
         root must confirm the time. The bundle must have an entry of the log with its proof; if the trusted root has no log, a \
         timestamp is enough. Sign with `cosign` without options that leave out the log, and update the trusted root if it does \
         not have the log yet.";
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

/// What a signature or an attestation changes that is made later.
pub const UNSIGNED: [&boson_document::Code; 7] = [
    PLUGIN_NOT_SIGNED,
    PLUGIN_NO_PROVENANCE,
    PLUGIN_SIGNATURE_CERTIFICATE,
    PLUGIN_SIGNATURE_IDENTITY,
    PLUGIN_SIGNATURE_INVALID,
    PLUGIN_SIGNATURE_ISSUER,
    PLUGIN_SIGNATURE_LOG,
];

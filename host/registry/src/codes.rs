//! Every code of this crate, explained.

boson_pipeline::codes::codes! {
    IMAGE_ACCESS = "image-access", "The registry denies access to a release image",
        "Set `releases[].credentials` in the manifest. The image may also not exist: many registries return the same \
         error without credentials.";
    IMAGE_CREDENTIALS = "image-credentials", "Docker's configuration cannot be used",
        "`host image` reads user and password from `$DOCKER_CONFIG/config.json`, by default `~/.docker/config.json`: \
         from the helper in `credHelpers` or `credsStore`, otherwise from `auths`. Identity tokens are not \
         supported: sign in with a user and an access token.";
    IMAGE_FORMAT = "image-format", "The format of a release image is not supported",
        "The registry returned a manifest of another kind, an index without Linux on this architecture, or layers \
         that are not compressed with gzip. Push the image again as an OCI or Docker image.";
    IMAGE_MISSING = "image-missing", "The release image does not exist",
        "The name of an image is `<url>/<release>:<os>-<stemcell version>-<release version>`. Push the image of the \
         release, or correct `url`, `version` or the stemcell.";
    IMAGE_PUSH_REFUSED = "image-push-refused", "A registry rejects an image",
        "Sign in with `docker login HOST`, as a user who can push to the repository. Some registries require that \
         you create a repository before the first push.";
    IMAGE_REFERENCE = "image-reference", "The name of a release image is invalid",
        "The name is `<url>/<release>:<os>-<stemcell version>-<release version>`. Check `url` for spaces and \
         upper-case letters.";
    IMAGE_REGISTRY = "image-registry", "A registry cannot be reached, or fails",
        "The operator tries again. If the error persists, check the host name, whether its certificate is trusted, \
         and whether a network policy blocks the connection. Reading an image with all its layers may take five \
         minutes.";
    IMAGE_REGISTRY_NOT_ALLOWED = "image-registry-not-allowed", "The operator may not read from this registry",
        "The operator was started with `--registry-allowed`, and reads release images from the listed registries \
         only. It sent no request. Push the image of the release to one of them and set `url` or \
         `spec.conversion.registry`, or ask the administrator of the cluster to add the registry.";
    IMAGE_SIZE = "image-size", "The jobs in a release image are too large",
        "`/var/vcap/jobs-src` may have at most 32 MiB in all layers together, counted as an archive. Move large \
         files from jobs into packages, which a conversion does not read.";
    PLUGIN_IMAGE_ACCESS = "plugin-image-access", "The registry denies access to the image of a plugin",
        "Name a Secret with the credentials under `imagePullSecrets` in `plugin.yaml`; it must be in the namespace of the \
         plugin's ConfigMap. On the command line, sign in with `docker login`. The image may also not exist: many \
         registries return the same error without credentials.";
    PLUGIN_IMAGE_ARCHIVE = "plugin-image-archive", "The archive of a plugin cannot be read",
        "`oci-archive:FILE` names a tar or a directory with an OCI image layout. `host plugin push --archive` and `skopeo copy` \
         write such archives.";
    PLUGIN_IMAGE_FORMAT = "plugin-image-format", "The image of a plugin does not contain a component",
        "The image must have exactly one layer with WebAssembly (media type `application/wasm`, or one that ends with \
         `+wasm`), of at most 96 MiB; other layers are ignored. `host plugin push`, `wkg oci push` and `oras push` make such \
         images. An index must contain one image for the architecture `wasm`, or a single image.";
    PLUGIN_IMAGE_MISSING = "plugin-image-missing", "The image of a plugin does not exist",
        "The registry has no such repository, tag or digest. Push the plugin with `host plugin push`, or correct the \
         reference.";
    PLUGIN_IMAGE_NOT_ALLOWED = "plugin-image-not-allowed", "The operator may not pull plugins from this registry",
        "The operator was started with `--registry-allowed`, and reads images from the listed registries only. It sent no \
         request. Push the plugin to one of them, or ask the administrator of the cluster to add the registry.";
    PLUGIN_IMAGE_REFERENCE = "plugin-image-reference", "The reference of a plugin's image is invalid",
        "A reference is `HOST[:PORT]/PATH[:TAG][@sha256:DIGEST]`, in lower-case letters except for the tag.";
    PLUGIN_IMAGE_REGISTRY = "plugin-image-registry", "The registry of a plugin cannot be reached, or fails",
        "The operator tries again, after 5 s at first and after 5 minutes at most. If the error persists, check the host \
         name, whether the certificate of the registry is trusted (`--registry-ca`), and whether a network policy blocks the \
         connection. Pulling a component may take two minutes.";
}

//! Every code of this crate, explained.

use boson_pipeline::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "image-access",
        title: "The registry refuses to give a release image",
        explanation: "Give `releases[].credentials` in the manifest. The same answer may mean that there is no such image: many registries do not report \
                      which, without credentials.",
    },
    Code {
        name: "image-authority",
        title: "A trusted authority for registries is not a certificate",
        explanation: "The files of `--registry-ca` hold certificates in PEM. The operator does not start with other content, because it would trust fewer servers than \
                      configured.",
    },
    Code {
        name: "image-cache",
        title: "The cache of images cannot be written",
        explanation: "It is a directory of the operator's (`--image-cache`). Is its volume full, or read-only? It holds 1 GiB of layers \
                      at most, and 768 MiB of images that are read at once; above that, the read is tried again. `host image` has its own cache, \
                      `--cache`, for downloads and layers.",
    },
    Code {
        name: "image-credentials",
        title: "Docker's configuration cannot be used",
        explanation: "`host image` takes user and password from `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`: from the helper that `credHelpers` or \
                      `credsStore` name, else from `auths`. Identity tokens are not supported: sign in with a user and an access token.",
    },
    Code {
        name: "image-format",
        title: "The format of a release image is not supported",
        explanation: "The registry answered with a manifest of another kind, an index without Linux on this architecture, or layers in a compression other \
                      than gzip. Push it again as an OCI or Docker image.",
    },
    Code {
        name: "image-missing",
        title: "There is no such release image",
        explanation: "The name of an image is composed: `<url>/<release>:<os>-<stemcell version>-<release version>`. Push the image of the release, or \
                      correct `url`, `version` or the stemcell.",
    },
    Code {
        name: "image-push-refused",
        title: "A registry does not accept an image",
        explanation: "Sign in with `docker login HOST`, as a user who may push to the repository. Some registries want a repository to be created before \
                      the first push.",
    },
    Code {
        name: "image-reference",
        title: "The name of a release image is invalid",
        explanation: "It is composed: `<url>/<release>:<os>-<stemcell version>-<release version>`. Look for blanks and upper case in `url`.",
    },
    Code {
        name: "image-registry",
        title: "A registry cannot be reached, or fails",
        explanation: "It is tried again. If this continues: is the host right, is its certificate trusted, does a network policy block the connection? \
                      An image has five minutes, all its layers included.",
    },
    Code {
        name: "image-registry-not-allowed",
        title: "The operator may not read from this registry",
        explanation: "The operator was started with `--registry-allowed`, and reads release images from the registries listed there only; no request was \
                      sent. Push the release's image to one of them and name it in `url` or `spec.conversion.registry`, or ask the cluster's administrator \
                      to add the registry.",
    },
    Code {
        name: "image-size",
        title: "A release image has too much in its jobs",
        explanation: "Of all layers together, what is below `/var/vcap/jobs-src` may have 32 MiB, counted as an archive. Jobs hold templates; large files \
                      belong into packages, which are not read.",
    },
];

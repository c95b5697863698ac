//! Codes that reading images from a registry and building them have in common, explained. Those of releases themselves
//! are in [`boson_pipeline::release::codes`].

boson_pipeline::codes::codes! {
    IMAGE_AUTHORITY = "image-authority", "A CA for registries is not a certificate",
        "The files of `--registry-ca` contain certificates in PEM. The operator does not start with other content, \
         because it would trust fewer servers than configured.";
    IMAGE_CACHE = "image-cache", "The image cache cannot be written",
        "The operator caches images in the directory `--image-cache`. Check whether its volume is full or read-only. \
         The cache holds at most 1 GiB of layers, and 768 MiB of images that are read at the same time; above that, \
         the operator tries again. `host image` has its own cache, `--cache`, for downloads and layers.";
    RELEASE_BLOB = "release-blob", "A file of the release's blobstore is not on this machine",
        "Large files of a release are not in its repository: `config/blobs.yml` lists those of packages, and \
         `.final_builds` those of vendored packages. `host image` does not download them, because many blobstores need \
         credentials. `bosh sync-blobs` downloads blobs, and `bosh create-release` also the archives of vendored \
         packages, to `~/.bosh/cache`. The message has the address in the blobstore.";
    RELEASE_FINGERPRINT = "release-fingerprint", "A package has another fingerprint than its content",
        "A fingerprint is a digest over the files of a package and the names of its dependencies. The archive of a \
         package contains other files. If the release has scripts `pre_packaging`, this is correct, because they \
         change files after the fingerprint is computed. The package is compiled, but releases with the same \
         fingerprint do not use the result. As an error: `spec.lock` has a fingerprint that the index of final builds \
         does not list.";
    RELEASE_PACKAGE_CYCLE = "release-package-cycle", "Packages depend on each other in a circle",
        "A package is compiled after the packages in its `dependencies`, so it must not depend on itself through \
         them. Remove one of the dependencies.";
    RELEASE_PACKAGE_SPEC = "release-package-spec", "A package cannot be read from the release's repository",
        "A package has `spec` and `packaging`, or `spec.lock`. In `spec`, `files` are patterns of files in `src` and \
         of blobs, and each must match a file. Names in `dependencies` are packages of the release. Scripts \
         `pre_packaging` run where a release is made, so `host image` uses such packages from tarballs only.";
    RELEASE_SOURCE = "release-source", "A source of the release cannot be read",
        "A file of a package could not be read from the release's repository. Check its permissions, and whether it was \
         changed during the run.";
}

//! Every code of this crate, explained.

boson_pipeline::codes::codes! {
    COMPILE_BUILDER = "compile-builder", "The builder of images does not work",
        "`host image` compiles packages in containers that buildah, podman, docker or BuildKit runs. The builder could \
         not be started, or could not read the stemcell image. Run the command in the message yourself, for example \
         `buildah info`. A builder in a container needs permission to create namespaces.";
    COMPILE_CACHE = "compile-cache", "Compiled packages cannot be stored",
        "`host image` stores sources, logs and compiled packages in the directory `compiled` of `--cache`. Check \
         whether the disk is full or read-only.";
    COMPILE_CONTEXT = "compile-context", "The build context cannot be written",
        "`--context DIR` writes a Dockerfile and the sources of packages to a directory that is empty or not there.";
    COMPILE_FAILED = "compile-failed", "A packaging script failed",
        "The message contains the last lines of the script's output, and the path of the whole log. As on a BOSH \
         director, the script runs with `bash -x` as root, in a directory with the files of the package, and finds \
         the packages in its `dependencies` in `/var/vcap/packages`. It has no network, unless you set `--network`. \
         Packages that were compiled before the error are stored: the next run continues with this one.";
    COMPILE_NO_BUILDER = "compile-no-builder", "There is no builder of images",
        "`packaging` scripts run in containers of the stemcell image. There are three ways: install a builder \
         (`apt-get install buildah`; podman, docker or buildctl work as well); write a build context with `--context \
         DIR`, for the builder of your CI system; or let a director compile the release with `bosh export-release`.";
}

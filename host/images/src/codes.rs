//! Every code of this crate, explained.

boson_pipeline::codes::codes! {
    IMAGE_BASE = "image-base", "The stemcell image cannot be used as base",
        "`--stemcell-image` is a directory with an OCI image layout, an uncompressed archive of an image (`docker \
         save`, `skopeo copy .. oci-archive:FILE`), or the name of an image in a registry. The image must be for \
         Linux on this architecture, with at most 90 layers that are uncompressed or compressed with gzip. The host \
         compares every blob with its digest.";
    IMAGE_DOWNLOAD = "image-download", "A release cannot be downloaded",
        "`host image` downloads releases from the `url` in the manifest, over https, with at most 5 redirects and 8 \
         GiB. The next run continues an interrupted download. `--release NAME=PATH` uses a tarball that you \
         downloaded yourself.";
    IMAGE_NO_RELEASE = "image-no-release", "No source is given for a release",
        "A release in the manifest needs a `url` that begins with https:// and leads to a tarball, or `--release \
         NAME=PATH` with a tarball or the repository of the release. `operations/use-compiled-releases.yml` of \
         cf-deployment has the URLs of compiled releases.";
    IMAGE_OUT_NOT_EMPTY = "image-out-not-empty", "The directory of the image holds something else",
        "`--out DIR` writes an OCI image layout into a directory that is empty, not there, or holds a layout of the same image.";
    IMAGE_STEMCELL_DIFFERS = "image-stemcell-differs", "Packages were compiled for another stemcell",
        "Programs need the libraries that they were linked with. The packages of the release were compiled for one \
         stemcell, but the name of the image contains another one: that of the manifest, or of `--stemcell`. Export \
         the release for the stemcell that you use.";
    IMAGE_UNNAMED = "image-unnamed", "The name of an image cannot be determined",
        "The name of an image is `<registry>/<release>:<os>-<stemcell version>-<release version>`. Versions must be \
         exact (not `latest`). OS and version of the stemcell are those of the release's `stemcell`, otherwise those \
         of the instance groups that use the release. Without `--manifest` they are those of the stemcell that the \
         packages were compiled for, of `--stemcell OS/VERSION`, or of a stemcell image with a name such as \
         `ubuntu-noble-stemcell:1.165`.";
    IMAGE_UNVERIFIED = "image-unverified", "A release is used without a digest",
        "The manifest contains no `sha1` for the release, so the download was not verified. Add `sha1: \
         sha256:<hex>`, with the output of `sha256sum` for the tarball.";
    IMAGE_UNWRITABLE = "image-unwritable", "An image cannot be written",
        "`host image` writes layers to the directory of `--cache` first, and then to `--out` or to the registry. \
         Both need space for the compressed image.";
    IMAGE_VCAP = "image-vcap", "The stemcell image has a user vcap with another ID",
        "BOSH's user vcap has the user and group ID 1000, and processes in pods run with that ID. Programs that \
         resolve the name `vcap` find the other ID.";
    IMAGE_VERSION_DIFFERS = "image-version-differs", "A release has another version than in the manifest",
        "The name of the image would not match its content. Correct `version` or `url` in the manifest, or the path \
         of `--release`. A repository has its newest final version if it has the same content, otherwise a dev \
         version with a digest of its content.";
}

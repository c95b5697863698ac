//! Every code of this crate, explained.

use boson_pipeline::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "image-base",
        title: "The image of the stemcell cannot be built on",
        explanation: "`--stemcell-image` is a directory with an OCI image layout, an archive of an image (`docker save`, `skopeo copy .. oci-archive:FILE`; not \
                      compressed), or the name of an image in a registry. It is for Linux on this architecture, and has at most 90 layers, with gzip or not \
                      compressed. Every blob is compared with its digest.",
    },
    Code {
        name: "image-download",
        title: "A release cannot be downloaded",
        explanation: "Releases are downloaded from the `url` in the manifest: over https, with at most 5 redirects, each over https, and at most 8 GiB. \
                      What has arrived is kept: the next run asks for the rest. `--release NAME=PATH` takes a tarball that you downloaded yourself.",
    },
    Code {
        name: "image-no-release",
        title: "No source is given for a release",
        explanation: "A release in the manifest needs a `url` that begins with https:// and leads to a compiled release, as those that \
                      `operations/use-compiled-releases.yml` of cf-deployment sets, or `--release NAME=PATH`.",
    },
    Code {
        name: "image-out-taken",
        title: "The directory of the image holds something else",
        explanation: "`--out DIR` writes an OCI image layout into a directory that is empty, not there, or holds a layout of the same image.",
    },
    Code {
        name: "image-stemcell-differs",
        title: "Packages were compiled for another stemcell",
        explanation: "Programs run where the libraries are that they were linked with. The release's packages were compiled for one stemcell, and the image is \
                      named by another: the manifest's, or that of `--stemcell`. Export the release for the stemcell in use.",
    },
    Code {
        name: "image-unnamed",
        title: "The image of a release has no name",
        explanation: "An image is `<registry>/<release>:<os>-<stemcell version>-<release version>`. Versions have to be exact (not `latest`), and os and version of \
                      the stemcell come from the release's own `stemcell`, else from that of the instance groups that use it; without `--manifest` from the \
                      stemcell that the packages were compiled for, or `--stemcell OS/VERSION`.",
    },
    Code {
        name: "image-unverified",
        title: "A release is used without a digest",
        explanation: "The manifest gives no `sha1` for the release, so what the server sent is used as it is. Add `sha1: sha256:<hex>`, which `sha256sum` of the \
                      tarball prints.",
    },
    Code {
        name: "image-unwritable",
        title: "An image cannot be written",
        explanation: "Layers are written to the directory of `--cache` first, and then to `--out` or to the registry. Both need room for the compressed \
                      image.",
    },
    Code {
        name: "image-vcap",
        title: "The stemcell's image has a vcap with another id",
        explanation: "BOSH's user vcap has user and group id 1000, and processes in pods run as 1000 by number. Programs that look up `vcap` by name find the \
                      other id.",
    },
    Code {
        name: "image-version-differs",
        title: "A tarball holds another version of the release",
        explanation: "The image's name would not match its content. Correct `version` or `url` in the manifest, or the path of `--release`.",
    },
];

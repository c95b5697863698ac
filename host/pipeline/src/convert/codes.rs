//! Diagnostics of the conversion itself, explained.

use crate::codes::Code;

/// All of them.
pub const CODES: &[Code] = &[
    Code {
        name: "convert-no-name",
        title: "Something has no name that Kubernetes takes",
        explanation: "The deployment needs a name: the manifest's `name:`, or `--name`. Names of Services begin with a letter, so the \
                      deployment's name has to. Two things whose names become the same are refused rather than mixed up.",
    },
    Code {
        name: "release-not-at-hand",
        title: "A release that jobs need was not given",
        explanation: "The conversion reads job specs and templates from the releases themselves. Name each one with `--release PATH` \
                      (a source directory, a tarball, an image layout, or a directory with its `jobs-src`), or `--release NAME=PATH` \
                      where the path does not tell its name. Jobs of `bosh-dns` and `bosh-dns-aliases` need none.",
    },
    Code {
        name: "release-other-version",
        title: "The release at hand has another version than the manifest names",
        explanation: "Templates and specs come from the release at hand, but the image is named after the manifest's version. \
                      Both should be of one version.",
    },
    Code {
        name: "release-unused",
        title: "A release was given that nothing uses",
        explanation: "No job of an instance group or addon names this release, so it was read for nothing. Often the manifest calls it by \
                      another name: `--release NAME=PATH` gives it that name.",
    },
];

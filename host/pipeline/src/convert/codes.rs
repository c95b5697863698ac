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
        name: "convert-no-map",
        title: "The manifest is not a map",
        explanation: "A deployment manifest is a YAML map with keys like `name`, `releases` and `instance_groups`. A list is often an ops file, given as \
                      the manifest by mistake.",
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
];

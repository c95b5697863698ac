//! Explanations of the diagnostics of the conversion.

use crate::codes::Code;

/// All codes.
pub const CODES: &[Code] = &[
    Code {
        name: "convert-create-env",
        title: "The manifest is for bosh create-env",
        explanation: "`bosh create-env` makes one VM through a CPI that runs on your own machine; its manifest has `cloud_provider`, `resource_pools` and \
                      `disk_pools`. In Kubernetes there is neither a VM nor a CPI. What runs in such a VM can be converted from a manifest that \
                      `bosh deploy` takes: with `releases`, `stemcells` and `instance_groups`.",
    },
    Code {
        name: "convert-foreign-document",
        title: "A Secret between two conversion steps has the wrong content",
        explanation: "A newer or older version of this program made it, or a user changed it. Delete this version of the Secret: the step \
                      makes it again.",
    },
    Code {
        name: "convert-no-group",
        title: "No such instance group in the manifest",
        explanation: "A pod of the conversion works on one instance group, by name, and the manifest that it mounts has no group of that name.",
    },
    Code {
        name: "convert-no-name",
        title: "Something has no valid Kubernetes name",
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
        name: "convert-pre-render-ops",
        title: "Part of preRenderOps.bpm has no effect",
        explanation: "`env.bosh.agent.settings.preRenderOps.bpm` has operations on the rendered bpm.yml of the jobs of an instance group: the document is \
                      `{configs: {<job>: <bpm.yml>}}`, so a path is `/configs/<job>/processes/name=<process>/..`. A job without bpm.yml gets its \
                      processes from its property `quarks.bpm`, and no operation can remove a job's file.",
    },
    Code {
        name: "convert-release-latest",
        title: "A release's version `latest` was resolved",
        explanation: "A director takes the newest version that is uploaded. `host convert` takes the version of the release given with `--release`, \
                      if it is known: a release's source directory without a final version has none. `1.latest` takes a version of that line only.",
    },
    Code {
        name: "render-failed",
        title: "All errors of templates, as BOSH prints them",
        explanation: "The text of the director: instance groups, their jobs, and the jobs' templates. Each error is also reported on its own, with its \
                      place and a fix. Of a group only the first instance that fails is reported, as in BOSH.",
    },
    Code {
        name: "render-no-instance",
        title: "The instance group has no such instance",
        explanation: "AZ_INDEX, REPLICAS and POD_ORDINAL give the index of the pod's instance, and the manifest has no instance with that index. \
                      The StatefulSet was scaled by hand, or the pod runs with the Secret of another version.",
    },
    Code {
        name: "render-slow",
        title: "Rendering a job takes long",
        explanation: "The templates of the job used much of the fuel that a conversion has, added up over the instances that render them. Every \
                      conversion takes as long, and one that uses up its fuel fails. Look for what the templates compute, and at the number of \
                      instances.",
    },
    Code {
        name: "convert-dns-aliases",
        title: "A job's file of DNS aliases cannot be read",
        explanation: "The template that becomes `dns/aliases.json` has to give a JSON object: each domain with a list of targets. BOSH's DNS server does not start \
                      with a file of another shape.",
    },
    Code {
        name: "release-schema-unchecked",
        title: "A job's properties are not checked against its schema",
        explanation: "The job brings a `properties_schema.json`. BOSH's director refuses properties that do not fit it; here they are taken as they \
                      are, and what does not fit is found when a template fails, or by the job itself.",
    },
    Code {
        name: "release-not-given",
        title: "A release that jobs need was not given",
        explanation: "The conversion reads job specs and templates from the releases themselves. Name each one with `--release PATH` \
                      (a source directory, a tarball, an image layout, or a directory with its `jobs-src`), or `--release NAME=PATH` \
                      where the path does not tell its name. Jobs of `bosh-dns` and `bosh-dns-aliases` need none.",
    },
    Code {
        name: "release-other-version",
        title: "The given release has another version than the manifest names",
        explanation: "Templates and specs come from the given release, but the image is named after the manifest's version. \
                      Both should be of one version.",
    },
    Code {
        name: "release-unused",
        title: "A release was given that nothing uses",
        explanation: "No job of an instance group or addon names this release, so it was read for nothing. Often the manifest calls it by \
                      another name: `--release NAME=PATH` gives it that name.",
    },
];

//! Explanations of the diagnostics about releases, both of the checks here and of the code that reads releases from disk.

use crate::codes::Code;

/// Codes of releases.
pub const CODES: &[Code] = &[
    Code {
        name: "release-archive-bomb",
        title: "An archive unpacks to far more than its size",
        explanation: "Archives of releases shrink to a tenth at best. This one grows a hundredfold while it is unpacked, or is \
                      made of hundreds of thousands of gzip members: it is damaged, or made to exhaust the disk or memory of its reader. It was not read further.",
    },
    Code {
        name: "release-archive-damaged",
        title: "An archive is cut off or damaged",
        explanation: "The archive ends too early, or a checksum in it is wrong. Most often a download broke off. Get the file \
                      again and compare its digest with the one that the release's author gives.",
    },
    Code {
        name: "release-archive-entries",
        title: "Too many files",
        explanation: "An archive or directory has more entries than any release needs, or a link leads to a directory with \
                      thousands of files. Check that the path is the release's own directory.",
    },
    Code {
        name: "release-archive-entry",
        title: "An archive holds something that releases do not have",
        explanation: "Releases hold files, directories and links. Devices, named pipes, sparse files and headers of absurd size \
                      are refused: no tool for building releases writes them.",
    },
    Code {
        name: "release-archive-format",
        title: "The file is no archive",
        explanation: "A release is a gzip-compressed tar (`.tgz`) or a plain tar. The file is neither. A download that failed \
                      often leaves an HTML page under the archive's name: check its first lines.",
    },
    Code {
        name: "release-archive-link",
        title: "A link in an archive leads out of it",
        explanation: "Links are followed inside of an archive only. One that leads to the reader's own files is refused, since \
                      it would bring them into the deployment.",
    },
    Code {
        name: "release-archive-path",
        title: "A path in an archive leads out of it",
        explanation: "Paths in an archive are relative and do not climb with `..`. Other paths are meant to overwrite files of the user who \
                      unpacks the archive. Get the release from its author.",
    },
    Code {
        name: "release-archive-size",
        title: "An archive is too large",
        explanation: "Releases unpack to 8 GiB at most, and their jobs to 256 MiB. Jobs hold templates; large files belong in \
                      packages, which are never read here.",
    },
    Code {
        name: "release-digest",
        title: "A part is not what its digest says",
        explanation: "`release.MF` and image manifests name the digest of every part. This part has another one: it is damaged \
                      or was changed after the release was made. Get it again; after a deliberate change, make the release anew.",
    },
    Code {
        name: "release-empty",
        title: "There are no jobs",
        explanation: "The directory or image has a place for jobs, but no job in it: expected is `<job>/job.MF`, or \
                      `<release>/<job>/job.MF`. With a name given, only the release of that name is looked for.",
    },
    Code {
        name: "release-file-encoding",
        title: "A file of a job is not UTF-8",
        explanation: "Templates, `monit` and `properties_schema.json` are text in UTF-8. Convert the file, or put binary content \
                      into a package.",
    },
    Code {
        name: "release-file-kind",
        title: "Something is not a plain file",
        explanation: "A file of the release is a directory, a device, a socket or a named pipe. It was not opened.",
    },
    Code {
        name: "release-file-missing",
        title: "A file of the release is missing",
        explanation: "The release needs this file, and it is not there. In a source directory, check that everything is checked \
                      out, submodules included.",
    },
    Code {
        name: "release-file-too-large",
        title: "A file of a job is too large",
        explanation: "Files of jobs are read up to 32 MiB. Templates have some kilobytes; large files belong in packages.",
    },
    Code {
        name: "release-too-large",
        title: "The jobs of a release take too much memory",
        explanation: "Specs and templates of all jobs are in memory while a deployment is converted: a template twice, and a value of a spec takes a hundred \
                      times the bytes of its text. A file that several templates link to counts for each of them.",
    },
    Code {
        name: "release-total-too-large",
        title: "The releases of a deployment take too much memory",
        explanation: "Specs and templates of all releases are in memory while a deployment is converted, and what they may take together is bounded. The \
                      message names the largest. Large files in a job's `templates` belong into a package.",
    },
    Code {
        name: "release-identifier",
        title: "A name has characters that BOSH does not take",
        explanation: "Names of releases are made of letters, digits, `-`, `_`, `+` and `.`.",
    },
    Code {
        name: "release-image",
        title: "An image can't be read",
        explanation: "Expected is an OCI image layout of one image, as a directory or as a plain tar, with layers compressed by \
                      gzip or not at all. `skopeo copy docker://<image> oci:<directory>` creates one.",
    },
    Code {
        name: "release-index",
        title: "The index of final releases can't be read",
        explanation: "The version of a source directory is the newest in `releases/<name>/index.yml`. That file can't be read, \
                      so the version stays unknown. Nothing else depends on it.",
    },
    Code {
        name: "release-job-archive",
        title: "A job's tarball is missing",
        explanation: "`release.MF` lists the job, but the release tarball has no `jobs/<job>.tgz`. Make the release again: \
                      `bosh create-release --tarball`.",
    },
    Code {
        name: "release-job-link",
        title: "A job declares its links wrongly",
        explanation: "`provides` and `consumes` of a job's spec are lists of `{name, type}`. A name may be given once in each. \
                      `optional` is for `consumes` only.",
    },
    Code {
        name: "release-job-manifest",
        title: "A job has no spec",
        explanation: "Every directory in `jobs` of a source directory is a job and has a file `spec`; in tarballs and images the \
                      file is called `job.MF`.",
    },
    Code {
        name: "release-job-name",
        title: "A job is named in two ways",
        explanation: "The `name` in a job's spec must be that of its directory, or the one in `release.MF`.",
    },
    Code {
        name: "release-job-spec",
        title: "A job's spec has the wrong form",
        explanation: "In a job's spec `templates`, `properties` and `logs` are maps, `packages` is a list.",
    },
    Code {
        name: "release-kind",
        title: "The directory is no release",
        explanation: "A release's source directory has a directory `jobs`; one that came from a release image has `jobs-src` or \
                      `var/vcap/jobs-src`; an image layout has `oci-layout`; an unpacked tarball has `release.MF`. Check that \
                      the path is the top of the release.",
    },
    Code {
        name: "release-link-escapes",
        title: "A link leads out of the release",
        explanation: "Templates may be symbolic links to other files of the same release. This one leads to a file outside, \
                      which the release would lack on any other machine. Put a copy of the file into the release.",
    },
    Code {
        name: "release-link-loop",
        title: "Links lead to each other",
        explanation: "After 40 links there was still no file. Make the link lead to a file.",
    },
    Code {
        name: "release-manifest",
        title: "The release manifest is missing or wrong",
        explanation: "A release tarball has a file `release.MF` that gives the release's name and version and lists its jobs and \
                      packages. `bosh create-release --tarball` writes it. An archive of a source directory has none: unpack it \
                      and give the directory.",
    },
    Code {
        name: "release-monit-missing",
        title: "A job has no monit file",
        explanation: "BOSH refuses jobs without a file `monit`. An empty one says that the job runs no process.",
    },
    Code {
        name: "release-name",
        title: "The name of the release is unknown",
        explanation: "A source directory tells its name in `config/final.yml`, as `name` or as `final_name`; a tarball in \
                      `release.MF`. Images do not tell it. Where nothing does, give it on the command line: `--release NAME=PATH`.",
    },
    Code {
        name: "release-not-compiled",
        title: "A release has packages that are not compiled",
        explanation: "`host image` puts packages into images as they are, and runs no `packaging` scripts. Have a director compile the release: \
                      `bosh export-release NAME/VERSION OS/STEMCELL-VERSION` downloads a tarball with `compiled_packages`. For cf-deployment, \
                      `operations/use-compiled-releases.yml` names releases that were compiled already.",
    },
    Code {
        name: "release-package-archive",
        title: "A package's tarball is missing",
        explanation: "`release.MF` lists the package, but the release tarball has no `compiled_packages/<package>.tgz`. Export the release again: \
                      `bosh export-release`.",
    },
    Code {
        name: "release-package-missing",
        title: "A job depends on a package that is not there",
        explanation: "Every package that a job's spec lists has a directory in `packages`, or an entry in `release.MF`.",
    },
    Code {
        name: "release-path",
        title: "The path of a release can't be read",
        explanation: "There is nothing at this path, or the system does not allow to read it, or it is neither a file nor a \
                      directory.",
    },
    Code {
        name: "release-path-depth",
        title: "Directories are nested too deep",
        explanation: "Directories of jobs are read 64 deep. No release needs more.",
    },
    Code {
        name: "release-properties-schema",
        title: "A job's properties schema is no JSON",
        explanation: "`properties_schema.json` of a job is a JSON Schema, read as JSON: no comments, no trailing commas.",
    },
    Code {
        name: "release-renamed",
        title: "A release is given a name that is not its own",
        explanation: "`--release NAME=PATH` calls the release NAME, whatever its `config/final.yml` or `release.MF` says: right for a fork \
                      that the manifest lists under the old name, and wrong where the path belongs to another release.",
    },
    Code {
        name: "release-several",
        title: "There are several releases",
        explanation: "The directory holds `jobs-src/<release>/<job>` for more than one release. Pick one: \
                      `--release NAME=PATH`, once for each that is needed.",
    },
    Code {
        name: "release-template-destination",
        title: "A template has an unusual destination",
        explanation: "In a job's spec, `templates` maps each file below the job's `templates` to its place below \
                      `/var/vcap/jobs/<job>`. The place must not lead out of there, nor have characters such as line breaks or NUL in it; and two templates should not have the same one: \
                      the later one wins.",
    },
    Code {
        name: "release-template-missing",
        title: "A template is missing",
        explanation: "A job's spec lists a template that is not below the job's `templates`. Check the spelling, and that a link \
                      does not lead to a file that was removed.",
    },
];

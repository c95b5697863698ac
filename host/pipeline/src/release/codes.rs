//! Explanations of the diagnostics about releases, both of the checks here and of the code that reads releases from
//! disk.

boson_document::codes! {
    RELEASE_ARCHIVE_BOMB = "release-archive-bomb", "An archive unpacks to far more than its size",
        "Releases compress to a tenth of their size at best. This archive unpacks to a hundred times its size, or \
         consists of hundreds of thousands of gzip members: it is damaged, or made to exhaust the disk or memory of \
         its reader. The host stopped reading it.";
    RELEASE_ARCHIVE_DAMAGED = "release-archive-damaged", "An archive is truncated or damaged",
        "The archive ends too early, or one of its checksums is wrong. Most often a download was interrupted. \
         Download the file again and compare its digest with the published one.";
    RELEASE_ARCHIVE_ENTRIES = "release-archive-entries", "Too many files",
        "An archive or directory has more entries than any release needs, or a link leads to a directory with \
         thousands of files. Check that the path is the directory of the release.";
    RELEASE_ARCHIVE_ENTRY = "release-archive-entry", "An archive contains an entry that releases do not have",
        "Releases contain files, directories and links. The host rejects devices, named pipes, sparse files and \
         oversized headers, because no tool for building releases writes them.";
    RELEASE_ARCHIVE_FORMAT = "release-archive-format", "The file is not an archive",
        "A release is a gzip-compressed tar (`.tgz`) or a plain tar. This file is neither. A failed download often \
         leaves an HTML page under the name of the archive: check its first lines.";
    RELEASE_ARCHIVE_LINK = "release-archive-link", "A link in an archive leads out of it",
        "The host follows links only within an archive. It rejects a link to other files, because it would copy \
         files of the reader into the deployment.";
    RELEASE_ARCHIVE_PATH = "release-archive-path", "A path in an archive leads out of it",
        "Paths in an archive must be relative and must not leave it with `..`. Other paths could overwrite files of \
         the user who unpacks the archive. Get the release from its author.";
    RELEASE_ARCHIVE_SIZE = "release-archive-size", "An archive is too large",
        "Releases may unpack to at most 8 GiB, and their jobs to 256 MiB. Put large files into packages, which a \
         conversion does not read.";
    RELEASE_DIGEST = "release-digest", "A part does not match its digest",
        "`release.MF` and image manifests contain the digest of every part. This part has another digest: it is \
         damaged, or was changed after the release was created. Download it again; after a deliberate change, create \
         the release again.";
    RELEASE_EMPTY = "release-empty", "The release has no jobs",
        "The directory or image has a place for jobs, but no job: expected `<job>/job.MF` or \
         `<release>/<job>/job.MF`. With `--release NAME=PATH`, the host reads only the release NAME.";
    RELEASE_FILE_ENCODING = "release-file-encoding", "A file of a job is not UTF-8",
        "Templates, `monit` and `properties_schema.json` must be UTF-8 text. Convert the file, or move binary \
         content into a package.";
    RELEASE_FILE_KIND = "release-file-kind", "A path of the release is not a regular file",
        "A directory, a device, a socket or a named pipe is in the place of a file. The host did not open it.";
    RELEASE_FILE_MISSING = "release-file-missing", "A file of the release is missing",
        "The release refers to this file, but it does not exist. In a source directory, check that everything is \
         checked out, including submodules.";
    RELEASE_FILE_TOO_LARGE = "release-file-too-large", "A file of a job is too large",
        "Files of jobs may have at most 32 MiB. Move large files into packages.";
    RELEASE_TOO_LARGE = "release-too-large", "The jobs of a release need too much memory",
        "The specs and templates of all jobs are in memory during a conversion. A template counts twice, and a value \
         of a spec counts a hundred times the size of its text. A file that several templates link to counts for \
         each of them.";
    RELEASE_TOTAL_TOO_LARGE = "release-total-too-large", "The releases of a deployment need too much memory",
        "The specs and templates of all releases are in memory during a conversion, and their total is limited. The \
         message names the largest releases. Move large files from `templates` of a job into a package.";
    RELEASE_IDENTIFIER = "release-identifier", "A name contains characters that BOSH does not accept",
        "Names of releases consist of letters, digits, `-`, `_`, `+` and `.`.";
    RELEASE_IMAGE = "release-image", "An image cannot be read",
        "Expected an OCI image layout with one image, as a directory or an uncompressed tar, with layers that are \
         uncompressed or compressed with gzip. `skopeo copy docker://<image> oci:<directory>` creates one.";
    RELEASE_INDEX = "release-index", "The index of final releases cannot be read",
        "The version of a source directory is the newest one in `releases/<name>/index.yml`. Without that file the \
         version is unknown, which has no other effect.";
    RELEASE_JOB_ARCHIVE = "release-job-archive", "A job's tarball is missing",
        "`release.MF` lists the job, but the release tarball has no `jobs/<job>.tgz`. Create the release again: \
         `bosh create-release --tarball`.";
    RELEASE_JOB_LINK = "release-job-link", "A job declares its links incorrectly",
        "`provides` and `consumes` of a job's spec are lists of `{name, type}`. Each name may occur once in each \
         list. `optional` applies to `consumes` only.";
    RELEASE_JOB_MANIFEST = "release-job-manifest", "A job has no spec",
        "Each directory in `jobs` of a source directory is a job, and needs a file `spec`. In tarballs and images \
         this file is `job.MF`.";
    RELEASE_JOB_NAME = "release-job-name", "A job has two names",
        "The `name` in a job's spec must be the name of its directory, or the one in `release.MF`.";
    RELEASE_JOB_SPEC = "release-job-spec", "A job's spec has the wrong structure",
        "In a job's spec, `templates`, `properties` and `logs` are maps, and `packages` is a list.";
    RELEASE_KIND = "release-kind", "The directory is not a release",
        "A source directory contains a directory `jobs`; a directory from a release image contains `jobs-src` or \
         `var/vcap/jobs-src`; an image layout contains `oci-layout`; an unpacked tarball contains `release.MF`. \
         Check that the path is the top directory of the release.";
    RELEASE_LINK_ESCAPES = "release-link-escapes", "A link leads out of the release",
        "Templates may be symbolic links to other files of the same release. This link leads to a file outside of \
         the release, which other machines do not have. Copy the file into the release.";
    RELEASE_LINK_LOOP = "release-link-loop", "Symbolic links form a loop",
        "After 40 links the host has not reached a file. Make the link point to a file.";
    RELEASE_MANIFEST = "release-manifest", "The release manifest is missing or invalid",
        "A release tarball contains a file `release.MF` with the name and version of the release, its jobs and its \
         packages. `bosh create-release --tarball` writes it. An archive of a source directory has no such file: \
         unpack it and use the directory.";
    RELEASE_MONIT_MISSING = "release-monit-missing", "A job has no monit file",
        "BOSH rejects jobs without a file `monit`. An empty file means that the job runs no process.";
    RELEASE_NAME = "release-name", "The name of the release is unknown",
        "A source directory has its name in `config/final.yml`, as `name` or `final_name`; a tarball has it in \
         `release.MF`; images do not have it. If the name is unknown, set it on the command line: `--release \
         NAME=PATH`.";
    RELEASE_PACKAGE_ARCHIVE = "release-package-archive", "A package's tarball is missing",
        "`release.MF` lists the package, but the release tarball has no `compiled_packages/<package>.tgz`. Export \
         the release again: `bosh export-release`.";
    RELEASE_PACKAGE_MISSING = "release-package-missing", "A job depends on a missing package",
        "Each package in a job's spec needs a directory in `packages`, or an entry in `release.MF`.";
    RELEASE_PATH = "release-path", "The path of a release cannot be read",
        "The path does not exist, cannot be read because of its permissions, or is neither a file nor a directory.";
    RELEASE_PATH_DEPTH = "release-path-depth", "Directories are nested too deeply",
        "Directories of jobs may be nested 64 levels deep.";
    RELEASE_PROPERTIES_SCHEMA = "release-properties-schema", "A job's properties schema is not JSON",
        "`properties_schema.json` of a job is a JSON Schema. Comments and trailing commas are not allowed.";
    RELEASE_RENAMED = "release-renamed", "A release is used under another name",
        "`--release NAME=PATH` uses the release under NAME, although `config/final.yml` or `release.MF` contains \
         another name. This is correct for a fork that the manifest lists under the original name. Otherwise check \
         the path.";
    RELEASE_SEVERAL = "release-several", "The directory contains several releases",
        "The directory contains `jobs-src/<release>/<job>` for more than one release. Select each release that you \
         need: `--release NAME=PATH`.";
    RELEASE_TEMPLATE_DESTINATION = "release-template-destination", "A template has an unusual destination",
        "In a job's spec, `templates` maps each file in the job's directory `templates` to a path below \
         `/var/vcap/jobs/<job>`. The path must not leave that directory, and must not contain line breaks or NUL. \
         Two templates should not have the same path: the later one wins.";
    RELEASE_TEMPLATE_MISSING = "release-template-missing", "A template is missing",
        "A job's spec lists a template that is not in the job's directory `templates`. Check the spelling, and the \
         target if it is a symbolic link.";
}

//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    INPUT_DAMAGED = "input-damaged", "A compressed document cannot be unpacked",
        "Large documents in Secrets are compressed with gzip, and pods unpack them after mounting. This document is \
         truncated, or unpacks to more than 32 MiB.";
    INPUT_IS_DIRECTORY = "input-is-directory", "Expected a file, found a directory",
        "Manifests, ops files and variable files must be files. Only releases may be directories.";
    INPUT_MISSING = "input-missing", "An input file does not exist",
        "Paths are relative to the directory in which the command runs.";
    INPUT_TOO_LARGE = "input-too-large", "An input file is larger than 32 MiB",
        "The limit of 32 MiB protects the machine when a path is wrong. No manifest, ops file or variable file needs \
         more.";
    INPUT_TOTAL_TOO_LARGE = "input-total-too-large", "The input files are too large in total",
        "The manifest, ops files, variable files and cloud configs of a command stay in memory until it ends, and \
         their values need more memory than on disk. Together they may use about a fifth of the memory of the \
         command: the limit of its container, half of the memory of the machine, or `--max-memory`. A file that is \
         given twice counts twice.";
    INPUT_UNREADABLE = "input-unreadable", "An input file cannot be read",
        "The message quotes the operating system's error, most often a missing permission.";
    OUTPUT_UNWRITABLE = "output-unwritable", "A file cannot be written",
        "`host` writes a file under a temporary name in the same directory, syncs it and renames it, so the \
         directory must be writable. The previous file is unchanged. `--out` of `host render` does not follow links \
         that leave the directory: remove the link that the message names, or write to its target.";
    VARS_STORE_SPECIAL = "vars-store-special", "The vars store is not a regular file",
        "`--vars-store` takes the path of a regular file, of a symbolic link to one, or of a new file. Values cannot \
         be stored in a device such as `/dev/null`, or in a named pipe. Without `--vars-store`, `host convert` \
         generates values for one run only.";
}

//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    OUTPUT_COLLISION = "output-collision", "Two members of a file become the same Secret",
        "With `persistencemethod: fan-out`, the name of a Secret ends with the sanitized name of the member; `a_b` \
         and `a-b` become the same name. Rename one of them.";
    OUTPUT_FOREIGN = "output-foreign", "A Secret with this name belongs to another object",
        "The operator never replaces a Secret of another owner with output. Delete the Secret, or choose another \
         `name` in `spec.output.outputMap`.";
    OUTPUT_MISSING = "output-missing", "A container ended without writing its file",
        "`spec.output.outputMap` names a file that a container must write to `/mnt/quarks`. The container succeeded \
         without writing it.";
    OUTPUT_NAME = "output-name", "Output has a name that Kubernetes does not accept",
        "Keys of a Secret have at most 253 letters, digits, `-`, `_` and `.`. With `persistencemethod: fan-out`, the \
         names of members become part of the names of Secrets, and need a letter or digit.";
    OUTPUT_NOT_FLAT = "output-not-flat", "Output is not a JSON object of strings",
        "The file must be one JSON object whose members are strings: `{\"key\": \"value\"}`. Encode other values as strings. \
         With `persistencemethod: fan-out` each member is a string that holds such an object.";
    OUTPUT_NOT_JSON = "output-not-json", "Output is not JSON",
        "The message contains line and column of the error. It does not quote the content, because it may be secret.";
    OUTPUT_ORDER = "output-order", "`host util persist-output` does not understand its instructions",
        "The operator that created the Job passes the instructions in the environment. Operator and image have \
         different versions.";
    OUTPUT_REFUSED = "output-refused", "The API server rejects a Secret of output",
        "Most often, its name or a label is not valid in Kubernetes, or a quota is exceeded. The message does not \
         quote the API server, because the text can contain values.";
    OUTPUT_TOO_LARGE = "output-too-large", "Output does not fit into a Secret",
        "A Secret may have 1 MiB. Values above 256 KiB are compressed with gzip; if they are still larger, they are \
         rejected. A file may have at most 32 MiB.";
    OUTPUT_UNREADABLE = "output-unreadable", "A file of a container cannot be read",
        "The container that stores the output runs as another user than the one that wrote the file. Make the file \
         readable by all users.";
}

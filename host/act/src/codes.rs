//! Explanations of all diagnostic codes of this crate.

boson_pipeline::codes::codes! {
    IMPORT_MALFORMED_FILE = "import-malformed-file", "A file is not what `credhub export` writes",
        "`--credhub-export` takes the YAML or JSON of `credhub export`: a map with the list `credentials`, of which each \
         item has `name`, `type` and `value`. A vars store is given with `--vars-store`.";
    IMPORT_VALUE = "import-value", "A value cannot be imported",
        "The value does not have the members of its type, two variables have the same Secret, two files have different \
         values of a variable, or Kubernetes does not accept a name. Messages name the place of the value in the file. \
         The type is that of the definition in the manifest, if `--manifest` is given.";
}

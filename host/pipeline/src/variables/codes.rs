//! Explanations of the diagnostics about values.

boson_document::codes! {
    VARIABLES_MALFORMED_FLAG = "variables-malformed-flag", "A flag or environment variable gives no value",
        "Values are given as `-v NAME=VALUE`, `--var-file NAME=PATH`, `-l PATH` and `--vars-env PREFIX`. The VALUE of `-v`, and of \
         each environment variable `PREFIX_name`, is read as YAML. BOSH shows the value; it is left out here, because it may be a secret.";
    VARIABLES_MALFORMED_FILE = "variables-malformed-file", "A file of variables is not a map",
        "A file of variables, or a vars store, is a YAML map from the name of each variable to its value. Names are \
         used as written: `y: 7` sets the variable `y`.";
    VARIABLES_UNREADABLE_FILE = "variables-unreadable-file", "A file of variables cannot be read",
        "The file of `-l` or `--var-file` does not exist, is not a regular file, or its permissions do not allow \
         reading. The content of `--var-file` must be UTF-8.";
    VARIABLES_EXPOSED = "variables-exposed", "The value of a variable would be in an object that is no Secret",
        "Workloads and other objects contain no values of variables that the manifest defines, nor of variables whose \
         names suggest a secret: more people may read them than Secrets. Labels, annotations, tags, names, ports, \
         volumes, security contexts and most parts of health checks are copied to objects. Values are read from a \
         Secret in the pod for properties, `quarks.envs`, commands and HTTP headers of health checks (not with HTTPS), \
         and programs, arguments and environment of `quarks.bpm`. Write a value that is no secret into the manifest.";
    VARIABLES_CONFLICTING_NAMES = "variables-conflicting-names", "Names of variables contradict each other",
        "A dot in a name separates keys: `-v a.b=1` sets the variable `a` to `{b: 1}`. So `a` cannot have a value \
         that is not a map at the same time, and `a.b` cannot be set twice with different spellings. BOSH loses \
         values or crashes in these cases.";
    VARIABLES_MISSING = "variables-missing", "A variable has no value",
        "The manifest uses a variable that has no value and no definition. Define it under `variables` with a type, \
         so that a value is generated, or set its value with `-v`, `-l`, `--var-file`, `--vars-env` or \
         `--vars-store`.";
    VARIABLES_UNUSED = "variables-unused", "A variable is not used",
        "The variable has a value, but no placeholder of the manifest refers to it. Often its name is misspelt, or \
         an operation has removed the placeholder.";
    VARIABLES_UNUSED_LINKS = "variables-unused-links", "The links that a variable consumes have no effect",
        "A certificate can consume links, whose addresses become its names. This link has no address. Write the \
         names into `options`: `common_name` and `alternative_names`.";
    VARIABLES_GENERATED_OPTION = "variables-generated-option", "The options of a variable use the value of a generated variable",
        "In a cluster, each variable is generated separately, from a QuarksSecret with its options, so the options \
         cannot use the value of another generated variable. Write the value into the options, or set it in \
         `spec.vars` of the BOSHDeployment. `host convert` generates the values in order, and accepts such options \
         unless they form a cycle.";
    VARIABLES_IGNORED_OPTION = "variables-ignored-option", "An option of a variable has no effect",
        "Variables of the type `rsa` have the option `key_length` (2048, 3072 or 4096); those of the type `ssh` also \
         have `ssh_comment`. A certificate with `is_ca: true` has no `alternative_names` and no \
         `extended_key_usage`. BOSH ignores such options silently.";
    VARIABLES_UPDATE_MODE = "variables-update-mode", "Unknown update mode",
        "`no-overwrite` keeps an existing value. `overwrite` generates another value each time. `converge` generates \
         another value if the type or options of the variable, or the CA of a certificate, have changed. The default \
         is `no-overwrite`, or `converge` with `features.converge_variables: true`.";
    VARIABLES_REGENERATED = "variables-regenerated", "A stored value was regenerated",
        "The `update_mode` of the variable (or `features.converge_variables`) requires it. `host convert \
         --vars-store FILE` stores type and options of the values that it generates in `FILE.options`. `converge` \
         never replaces values from other sources, or values that were changed by hand.";
    VARIABLES_ROUNDED = "variables-rounded", "A name or version is a number without quotes",
        "YAML reads `version: 3363.20` as a number, so the last digit is lost: BOSH looks for the version 3363.2. \
         Quote names and versions.";
}

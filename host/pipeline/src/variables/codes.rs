//! Explanations of the diagnostics about values.

use crate::codes::Code;

/// Codes of this module. The codes of definitions and placeholders are the plugin's.
pub const CODES: &[Code] = &[
    Code {
        name: "variables-malformed-flag",
        title: "A flag or environment variable gives no value",
        explanation: "Values are given as `-v NAME=VALUE`, `--var-file NAME=PATH`, `-l PATH` and `--vars-env PREFIX`. The VALUE of `-v`, and of \
                      each environment variable `PREFIX_name`, is read as YAML. BOSH shows the value; it is left out here, because it may be a secret.",
    },
    Code {
        name: "variables-malformed-file",
        title: "A file of variables is no map",
        explanation: "A file of variables, or the store of generated ones, is a YAML map: the name of each variable and its value. Names are taken as \
                      they are written: `y: 7` gives a value to the variable `y`.",
    },
    Code {
        name: "variables-unreadable-file",
        title: "A file of variables cannot be read",
        explanation: "The file of `-l` or `--var-file` does not exist, is not a file, or may not be read. Content of `--var-file` must be UTF-8.",
    },
    Code {
        name: "variables-conflicting-names",
        title: "Names of variables contradict each other",
        explanation: "A dot in a name separates keys: `-v a.b=1` gives the variable `a` the value `{b: 1}`. So `a` cannot be given as something that is \
                      no map at the same time, and `a.b` not twice under different spellings. BOSH loses values or crashes here.",
    },
    Code {
        name: "variables-missing",
        title: "A variable has no value",
        explanation: "Something in the manifest refers to a variable that is given nowhere and that nothing generates. Define it in `variables` with a \
                      type, so that it is generated, or give it a value with `-v`, `-l`, `--var-file`, `--vars-env` or `--vars-store`.",
    },
    Code {
        name: "variables-unused",
        title: "A value that nothing refers to",
        explanation: "A variable was given a value, but no placeholder of the manifest refers to it. Often its name is misspelled, or an operation has taken \
                      the placeholder away.",
    },
    Code {
        name: "variables-unused-links",
        title: "The links that a variable consumes have no effect",
        explanation: "A certificate can consume links, whose addresses become its names. This one's link has no address. Write the names into `options`: \
                      `common_name` and `alternative_names`.",
    },
    Code {
        name: "variables-ignored-option",
        title: "An option of a variable has no effect",
        explanation: "Variables of the type `rsa` take the option `key_length` (2048, 3072 or 4096), of the type `ssh` also `ssh_comment`. A certificate with `is_ca: true` takes no `alternative_names` and no `extended_key_usage`. \
                      BOSH ignores them silently.",
    },
    Code {
        name: "variables-update-mode",
        title: "No such update mode",
        explanation: "`no-overwrite` keeps an existing value, `overwrite` makes another one every time, `converge` makes another one where type or options of the \
                      variable, or the CA of a certificate, have changed since. The default is `no-overwrite`, or `converge` with `features.converge_variables: true`.",
    },
    Code {
        name: "variables-made-anew",
        title: "A value of the store was replaced",
        explanation: "The variable's `update_mode` (or `features.converge_variables`) asked for it. `host convert --vars-store FILE` remembers type and options of what it \
                      makes in `FILE.options`. Values that came from elsewhere, and those changed by hand, are never replaced by `converge`.",
    },
];

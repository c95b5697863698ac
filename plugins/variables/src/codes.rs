//! The diagnostics of this stage: one table of codes.

boson_document::codes! {
    MALFORMED_SECTION = "variables-malformed-section", "The section `variables` is not a list of maps",
        "`variables` is a list. Each item is a map with `name`, `type` and, where the type has some, `options`.",
        "write it as a list of maps: `- {name: admin_password, type: password}`";
    INVALID_DEFINITION = "variables-invalid-definition", "A definition is incomplete or has a value of the wrong type",
        "A definition has a `name` and a `type`, both non-empty strings. `options` and `consumes` are maps, \
         `update_mode` is a string. As in the director, only the first error is reported.",
        "correct the entry of `variables`";
    DUPLICATE_NAME = "variables-duplicate-name", "Two definitions have the same name",
        "A variable may be defined once. Often an ops file adds a definition that the manifest already has.",
        "remove one of the entries";
    INVALID_NAME = "variables-invalid-name", "The name of a variable cannot be used",
        "Names consist of ASCII letters and digits, `_`, `-` and `/`. In a placeholder, dots separate the name from \
         keys of the value, and a `!` may precede the name: `((!ca.certificate))`. Spaces are not allowed. All text \
         between `((` and `))` is a placeholder, also in scripts; in a shell, `let` is equivalent to `(( ))`.",
        "check the text between `((` and `))`";
    INVALID_CONSUMER = "variables-invalid-consumer", "A variable cannot consume this",
        "Only variables of the type `certificate` have `consumes`, and only `alternative_name` and `common_name` in it.",
        "remove it, or name the consumer `alternative_name` or `common_name`";
    MISSING_SUB_KEY = "variables-missing-sub-key", "The value of a variable lacks a key",
        "`((a.b))` is the member `b` of the value of `a`. Values of certificates have the members `ca`, \
         `certificate` and `private_key`; those of ssh keys `private_key`, `public_key` and \
         `public_key_fingerprint`; those of rsa keys `private_key` and `public_key`. A password is a string without \
         members.",
        "check the key in the placeholder, or add it to the value";
    WRONG_PARENT = "variables-wrong-parent", "A placeholder refers to a member of a value that has none",
        "`((a.b))` requires that the value of `a` is a map; `((a.0))` requires a list (which the director does not \
         support).",
        "remove the key from the placeholder, or set the variable to a map";
    NOT_EMBEDDABLE = "variables-not-embeddable", "A placeholder in a string has a value that is not a string or integer",
        "If a placeholder is a whole string, its value replaces it, whatever its type. If it is a part of a string, \
         the value must be a string or an integer. The message does not show the value, as BOSH does, because it may \
         be secret.",
        "use a string or an integer, or make the placeholder the whole string";
    RECURSION = "variables-recursion", "The options of a variable depend on the variable itself",
        "Options may contain placeholders. If those of `a` refer to `b`, those of `b` must not refer to `a`.",
        "remove one of the placeholders from the options";
    TOO_DEEP = "variables-too-deep", "The document is nested too deeply",
        "Documents may be nested 128 levels deep, including values. A chain of variables whose options refer to each \
         other may have 64 variables.";
    KEY_NOT_SCALAR = "variables-key-not-scalar", "A placeholder in a map key has a list or a map as value",
        "The key of a map can be a string, a number, a boolean or null.",
        "set the variable to a scalar";
    NO_SINGLE_DEFINITION = "variables-no-single-definition", "A definition cannot be removed, because it does not occur exactly once",
        "Definitions of variables with a value are removed from the document. For each, `variables` must have \
         exactly one entry with this string as `name`. Two entries with the same name, or a name that is not a \
         string, are an error.",
        "define the variable once, and write its name as a string";
    MALFORMED_DOCUMENT = "variables-malformed-document", "The plugin received a document that is not JSON",
        "The document or the values are not JSON as the contract defines it. This is a defect of the \
         program that called the plugin.";
    KEY_COLLISION = "variables-key-collision", "Two keys of a map become equal",
        "A placeholder in a map key has a value that another key of this map already has. A key without placeholder \
         wins, otherwise the placeholder that is first in alphabetical order. In BOSH the result is undefined.",
        "give the variables different values";
    UNUSED_KEY = "variables-unused-key", "A key of a definition has no effect",
        "Definitions have the keys `name`, `type`, `options`, `consumes`, `update_mode` and `update`.",
        "remove the key, or check its spelling";
    LEFT_OUT = "variables-left-out", "Not all diagnostics are shown",
        "At most 100 errors and 100 warnings are shown. A document with more usually uses `((` for another purpose.";
    REQUIRED_MEMBER = "variables-required-member", "The plugin does not know a member of the request",
        "The host of a later version sends data that the plugin must not ignore. Replace the plugin by one for this \
         version of the host.";
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn names_belong_to_the_stage_and_are_unique() {
        let mut names: Vec<&str> = ALL.iter().map(|code| code.name).collect();
        assert!(names.iter().all(|name| name.starts_with("variables-")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}

//! The diagnostics of this stage: one table of codes.

boson_document::codes! {
    MALFORMED_SECTION = "variables-malformed-section", "The section `variables` is not a list of maps",
        "`variables` is a list. Each item is a map with `name`, `type` and, where the type has some, `options`.",
        "write it as a list of maps: `- {name: admin_password, type: password}`";
    INVALID_DEFINITION = "variables-invalid-definition", "A definition lacks something, or has something of the wrong type",
        "A definition has a `name` and a `type`, both strings that are not empty. `options` and `consumes` are maps, `update_mode` is a string. \
         Only the first thing wrong is reported, as the director does.",
        "correct the entry of `variables`";
    DUPLICATE_NAME = "variables-duplicate-name", "Two definitions have the same name",
        "A variable is defined once. Definitions often come twice when an ops file adds one that the manifest has already.",
        "remove one of the entries";
    INVALID_NAME = "variables-invalid-name", "The name of a variable cannot be used",
        "Names consist of the ASCII letters and digits, `_`, `-` and `/`. In a placeholder, dots separate the name from keys of the value, and one \
         `!` may come first: `((!ca.certificate))`. Spaces are not allowed. Everything between `((` and `))` counts as a placeholder, in scripts \
         too; `let` does what `(( ))` does in a shell.",
        "check what is between `((` and `))`";
    INVALID_CONSUMER = "variables-invalid-consumer", "A variable cannot consume this",
        "Only variables of the type `certificate` have `consumes`, and only `alternative_name` and `common_name` in it.",
        "remove it, or name the consumer `alternative_name` or `common_name`";
    MISSING_SUB_KEY = "variables-missing-sub-key", "The value of a variable lacks a key",
        "`((a.b))` is what the value of `a` has under `b`. Values of certificates have `ca`, `certificate` and `private_key`, of ssh keys \
         `private_key`, `public_key` and `public_key_fingerprint`, of rsa keys `private_key` and `public_key`. A password is a string without keys.",
        "check the key in the placeholder, or add it to the value";
    WRONG_PARENT = "variables-wrong-parent", "A placeholder asks for a key of a value that has none",
        "`((a.b))` needs a map as the value of `a`, `((a.0))` a list (a list is of no use with the director's rules).",
        "leave the key out, or give the variable a map as value";
    NOT_EMBEDDABLE = "variables-not-embeddable", "A value that is no string and no integer is part of a string",
        "Where a placeholder is a whole string, the value takes its place, whatever its type. Where it is a part of a string, the value must be a \
         string or an integer. BOSH shows the value; it is left out here, because it may be a secret.",
        "use a string or an integer, or make the placeholder the whole string";
    RECURSION = "variables-recursion", "The options of a variable depend on the variable itself",
        "Options may hold placeholders. Those of `a` may refer to `b`, but then those of `b` must not refer to `a`.",
        "take one of the placeholders out of the options";
    TOO_DEEP = "variables-too-deep", "Too many levels",
        "Documents may be nested 128 levels deep, values included. Of variables whose options refer to each other, 64 may form a chain.";
    KEY_NOT_SCALAR = "variables-key-not-scalar", "A placeholder that is a map key has a list or a map as value",
        "The key of a map can be replaced by a string, a number, a boolean or null.",
        "give the variable a scalar as value";
    NO_SINGLE_DEFINITION = "variables-no-single-definition", "A definition cannot be taken out, because there is not exactly one",
        "Definitions whose variable has a value leave the document. That needs exactly one entry in `variables` whose `name` is that string. Two \
         entries with the same name, or a name that is no string, make it fail.",
        "define the variable once, and write its name as a string";
    SETTINGS = "variables-settings", "The plugin does not know these settings",
        "The setting `rules` is `director` or `cli`.",
        "set `rules` to `director` or `cli`";
    MALFORMED_DOCUMENT = "variables-malformed-document", "The plugin got no JSON document",
        "The document, the values or the settings reached the plugin as text that is not JSON as the contract has it. This is an error in the \
         caller of the plugin; `host` never does it.";
    KEY_COLLISION = "variables-key-collision", "Two keys of a map become the same",
        "A placeholder that is a map key got a value that another key of this map has already. The key that was no placeholder wins, else the \
         placeholder that comes first in the alphabet. With BOSH it is undefined which one wins.",
        "give the variables different values";
    UNUSED_KEY = "variables-unused-key", "A key of a definition has no effect",
        "Definitions know the keys `name`, `type`, `options`, `consumes`, `update_mode` and `update`.",
        "take it out, or check its spelling";
    LEFT_OUT = "variables-left-out", "Some diagnostics are left out",
        "At most 100 errors and 100 warnings are shown. A document with more of them usually uses `((` for something else.";
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

//! The diagnostics of this stage: one table of codes.

use boson_document::code::{Codes, Entry};

/// Which kind of diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// `variables` is not a list of maps.
    MalformedSection,
    /// An entry's member is missing or of the wrong type.
    InvalidDefinition,
    /// Two entries with one name.
    DuplicateName,
    /// A name that the director refuses.
    InvalidName,
    /// `consumes` that mean nothing.
    InvalidConsumer,
    /// The value lacks the sub-key.
    MissingSubKey,
    /// The sub-key needs a value of another type.
    WrongParent,
    /// A value that cannot be part of a string.
    NotEmbeddable,
    /// Options that refer to their own variable.
    Recursion,
    /// Too many levels.
    TooDeep,
    /// A list or a map as map key.
    KeyNotScalar,
    /// An entry to take out that is not there once.
    NoSingleDefinition,
    /// Settings that do not exist.
    Settings,
    /// The text is not a document.
    MalformedDocument,
    /// Two members with one key.
    KeyCollision,
    /// A key without effect.
    UnusedKey,
    /// Too many diagnostics.
    LeftOut,
}

const TABLE: &[Entry<Code>] = &[
    Entry {
        code: Code::MalformedSection,
        name: "variables-malformed-section",
        title: "The section `variables` is not a list of maps",
        explanation: "`variables` is a list. Each item is a map with `name`, `type` and, where the type has some, `options`.",
        help: Some("write it as a list of maps: `- {name: admin_password, type: password}`"),
    },
    Entry {
        code: Code::InvalidDefinition,
        name: "variables-invalid-definition",
        title: "A definition lacks something, or has something of the wrong type",
        explanation: "A definition has a `name` and a `type`, both strings that are not empty. `options` and `consumes` are maps, `update_mode` \
                      is a string. Only the first thing wrong is reported, as the director does.",
        help: Some("correct the entry of `variables`"),
    },
    Entry {
        code: Code::DuplicateName,
        name: "variables-duplicate-name",
        title: "Two definitions have the same name",
        explanation: "A variable is defined once. Definitions often come twice when an ops file adds one that the manifest has already.",
        help: Some("remove one of the entries"),
    },
    Entry {
        code: Code::InvalidName,
        name: "variables-invalid-name",
        title: "The name of a variable cannot be used",
        explanation: "Names consist of the ASCII letters and digits, `_`, `-` and `/`. In a placeholder, dots separate the name from keys of the value, \
                      and one `!` may come first: `((!ca.certificate))`. Spaces are not allowed. Everything between `((` and `))` \
                      counts as a placeholder, in scripts too; `let` does what `(( ))` does in a shell.",
        help: Some("check what is between `((` and `))`"),
    },
    Entry {
        code: Code::InvalidConsumer,
        name: "variables-invalid-consumer",
        title: "A variable cannot consume this",
        explanation: "Only variables of the type `certificate` have `consumes`, and only `alternative_name` and `common_name` in it.",
        help: Some("remove it, or name the consumer `alternative_name` or `common_name`"),
    },
    Entry {
        code: Code::MissingSubKey,
        name: "variables-missing-sub-key",
        title: "The value of a variable lacks a key",
        explanation: "`((a.b))` is what the value of `a` has under `b`. Values of certificates have `ca`, `certificate` and `private_key`, of ssh keys \
                      `private_key`, `public_key` and `public_key_fingerprint`, of rsa keys `private_key` and `public_key`. A password is a string without keys.",
        help: Some("check the key in the placeholder, or add it to the value"),
    },
    Entry {
        code: Code::WrongParent,
        name: "variables-wrong-parent",
        title: "A placeholder asks for a key of a value that has none",
        explanation: "`((a.b))` needs a map as the value of `a`, `((a.0))` a list (a list is of no use with the director's rules).",
        help: Some("leave the key out, or give the variable a map as value"),
    },
    Entry {
        code: Code::NotEmbeddable,
        name: "variables-not-embeddable",
        title: "A value that is no string and no integer is part of a string",
        explanation: "Where a placeholder is a whole string, the value takes its place, whatever its type. Where it is a part of a string, the \
                      value must be a string or an integer. BOSH shows the value; it is left out here, because it may be a secret.",
        help: Some("use a string or an integer, or make the placeholder the whole string"),
    },
    Entry {
        code: Code::Recursion,
        name: "variables-recursion",
        title: "The options of a variable depend on the variable itself",
        explanation: "Options may hold placeholders. Those of `a` may refer to `b`, but then those of `b` must not refer to `a`.",
        help: Some("take one of the placeholders out of the options"),
    },
    Entry {
        code: Code::TooDeep,
        name: "variables-too-deep",
        title: "Too many levels",
        explanation: "Documents may be nested 128 levels deep, values included. Of variables whose options refer to each other, 64 may form a chain.",
        help: None,
    },
    Entry {
        code: Code::KeyNotScalar,
        name: "variables-key-not-scalar",
        title: "A placeholder that is a map key has a list or a map as value",
        explanation: "The key of a map can be replaced by a string, a number, a boolean or null.",
        help: Some("give the variable a scalar as value"),
    },
    Entry {
        code: Code::NoSingleDefinition,
        name: "variables-no-single-definition",
        title: "A definition cannot be taken out, because there is not exactly one",
        explanation: "Definitions whose variable has a value leave the document. That needs exactly one entry in `variables` whose `name` is that \
                      string. Two entries with the same name, or a name that is no string, make it fail.",
        help: Some("define the variable once, and write its name as a string"),
    },
    Entry {
        code: Code::Settings,
        name: "variables-settings",
        title: "The plugin does not know these settings",
        explanation: "The setting `rules` is `director` or `cli`.",
        help: Some("set `rules` to `director` or `cli`"),
    },
    Entry {
        code: Code::MalformedDocument,
        name: "variables-malformed-document",
        title: "The plugin got no JSON document",
        explanation: "The document, the values or the settings reached the plugin as text that is not JSON as the contract has it. This is an \
                      error in the caller of the plugin; `host` never does it.",
        help: None,
    },
    Entry {
        code: Code::KeyCollision,
        name: "variables-key-collision",
        title: "Two keys of a map become the same",
        explanation: "A placeholder that is a map key got a value that another key of this map has already. The key that was no placeholder wins, \
                      else the placeholder that comes first in the alphabet. With BOSH it is undefined which one wins.",
        help: Some("give the variables different values"),
    },
    Entry {
        code: Code::UnusedKey,
        name: "variables-unused-key",
        title: "A key of a definition has no effect",
        explanation: "Definitions know the keys `name`, `type`, `options`, `consumes`, `update_mode` and `update`.",
        help: Some("take it out, or check its spelling"),
    },
    Entry {
        code: Code::LeftOut,
        name: "variables-left-out",
        title: "Some diagnostics are left out",
        explanation: "At most 100 errors and 100 warnings are shown. A document with more of them usually uses `((` for something else.",
        help: None,
    },
];

// === impl Codes for Code ===

impl Codes for Code {
    const STAGE: &'static str = "variables";
    const TABLE: &'static [Entry<Self>] = TABLE;
}

// === impl Code ===

impl Code {
    /// Whether the conversion continues.
    pub fn is_warning(self) -> bool {
        matches!(self, Self::KeyCollision | Self::UnusedKey | Self::LeftOut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_the_stage_and_are_unique() {
        let mut names: Vec<_> = Code::all().map(Code::name).collect();
        assert!(names.iter().all(|name| name.starts_with("variables-")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::all().count());
    }
}

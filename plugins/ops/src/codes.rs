//! The diagnostics of this stage: one table of codes.

use boson_document::code::{Codes, Entry};

/// Which kind of diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A file is not a list of operations, or a part has the wrong type.
    MalformedFile,
    /// Unknown `type`.
    UnknownType,
    /// No `path`.
    MissingPath,
    /// No `value` (nor `absent`).
    MissingValue,
    /// A `remove` with a `value`.
    ValueNotAllowed,
    /// The path does not follow the grammar.
    PathSyntax,
    /// A key that the map lacks.
    MissingKey,
    /// An index that the array lacks.
    MissingIndex,
    /// Not a map, or not an array.
    TypeMismatch,
    /// None or several items match.
    NoSingleMatch,
    /// `/-` where it means nothing.
    TokenNotAllowed,
    /// `:before`, `:after` where nothing is inserted, or something after them.
    ModifierNotAllowed,
    /// The path does not determine what to create.
    CannotCreate,
    /// A `remove` of the whole document.
    RemoveDocument,
    /// A `test` found another value.
    ValueDiffers,
    /// A `test` found what should be absent.
    NotAbsent,
    /// The result would be too deep.
    TooDeep,
    /// Matchers were compared with too many items.
    TooMuchMatching,
    /// A part of an operation without effect.
    UnusedKey,
    /// The list of origins would be too long.
    OriginsLeftOut,
    /// The text is not a document.
    MalformedDocument,
}

const TABLE: &[Entry<Code>] = &[
    Entry {
        code: Code::MalformedFile,
        name: "ops-malformed-file",
        title: "The ops file is not a list of operations",
        explanation: "An ops file is a YAML list. Each item is a map with `type` and `path` (strings) and, \
                      depending on the type, `value` (anything) or `absent` (`true` or `false`).",
        help: Some("write the file as a list of maps: `- {type: replace, path: /name, value: new}`"),
    },
    Entry {
        code: Code::UnknownType,
        name: "ops-unknown-type",
        title: "No such type of operation",
        explanation: "The types are `replace`, `remove` and `test`, in lower case. There is no `add`, `copy` or \
                      `move`: `replace` with a path that ends with `?` adds a key, with `/-` it appends to a list.",
        help: Some("use `replace`, `remove` or `test`"),
    },
    Entry {
        code: Code::MissingPath,
        name: "ops-missing-path",
        title: "The operation has no path",
        explanation: "Every operation needs a `path`. The whole document is the empty path, `path: \"\"`.",
        help: Some("add a `path`"),
    },
    Entry {
        code: Code::MissingValue,
        name: "ops-missing-value",
        title: "The operation has no value",
        explanation: "`replace` needs a `value`, `test` a `value` or `absent`. A value of null counts as no value: \
                      BOSH cannot tell them apart. To test for null, write `absent: false` and no value.",
        help: Some("add a `value`; null is not possible here"),
    },
    Entry {
        code: Code::ValueNotAllowed,
        name: "ops-value-not-allowed",
        title: "A remove operation has a value",
        explanation: "`remove` takes out whatever is at its path. To check the value first, put a `test` operation \
                      before it.",
        help: Some("take out the `value`"),
    },
    Entry {
        code: Code::PathSyntax,
        name: "ops-path-syntax",
        title: "The path cannot be read",
        explanation: "A path is empty or starts with `/`. Its pieces are keys (`/name`), indices (`/0`, `/-1`), \
                      matchers (`/name=api`) and, at the end, `/-`. Indices and matchers take the modifiers \
                      `:prev`, `:next`, `:before` and `:after`. In keys and values `~0` stands for `~`, `~1` for \
                      `/` and `~7` for `:`.",
        help: Some(
            "a path begins with `/`, as `/instance_groups/name=api/jobs/0`; `:` and `/` in a key are written `~7` and `~1`",
        ),
    },
    Entry {
        code: Code::MissingKey,
        name: "ops-missing-key",
        title: "The path names a key that does not exist",
        explanation: "Every key of a path must exist, the last one too: only then can it be replaced or removed. A \
                      `?` at the end of a key makes it and all that follow optional: `replace` creates them, \
                      `remove` does nothing. Keys that are not strings (numbers, `true`, `yes`) cannot be named by \
                      a path.",
        help: Some("check the key, or end it with `?` if it may be missing"),
    },
    Entry {
        code: Code::MissingIndex,
        name: "ops-missing-index",
        title: "The path names an item that does not exist",
        explanation: "An index must be that of an existing item, counted from 0, or from -1 at the end. To append \
                      an item use `/-`. An index cannot be optional. `:prev` and `:next` are applied before the \
                      check.",
        help: Some("check the index, or use `/-` to append"),
    },
    Entry {
        code: Code::TypeMismatch,
        name: "ops-type-mismatch",
        title: "The path leads through a value of another type",
        explanation: "A key needs a map, an index or a matcher needs a list. The message names the place and the \
                      type that was found there, as Go calls it: `<nil>` is null, `[]interface {}` a list, \
                      `map[interface {}]interface {}` a map. Optional tokens do not excuse a null.",
        help: Some("check the path against the document as the operations before left it"),
    },
    Entry {
        code: Code::NoSingleMatch,
        name: "ops-no-single-match",
        title: "A matcher does not match exactly one item",
        explanation: "`/name=api` means the one item of the list that is a map whose `name` is the string `api`. \
                      Numbers and booleans never match. With `?` there may be none, but never two.",
        help: Some("check the names of the items; `?` allows for none"),
    },
    Entry {
        code: Code::TokenNotAllowed,
        name: "ops-token-not-allowed",
        title: "`/-` where there is nothing to append",
        explanation: "`/-` is the place after the last item of a list. Only `replace` can use it.",
        help: Some("use an index; `/-1` is the last item"),
    },
    Entry {
        code: Code::ModifierNotAllowed,
        name: "ops-modifier-not-allowed",
        title: "A modifier where it means nothing",
        explanation: "`:before` and `:after` insert: they belong to the last piece of a `replace` path, as its \
                      last modifier.",
        help: Some("move `:before` or `:after` to the end of the path of a `replace`"),
    },
    Entry {
        code: Code::CannotCreate,
        name: "ops-cannot-create",
        title: "The path does not say what to create",
        explanation: "Where an optional key is missing, the next piece says what it is: a key makes it a map, a \
                      matcher or `/-` a list. An index does not, as a new list has no items.",
        help: Some("use `/-` or a matcher after the missing key"),
    },
    Entry {
        code: Code::RemoveDocument,
        name: "ops-remove-document",
        title: "The whole document cannot be removed",
        explanation: "The empty path is the whole document. `replace` can replace it; `remove` cannot take it \
                      away.",
        help: Some("name what to remove in `path`"),
    },
    Entry {
        code: Code::ValueDiffers,
        name: "ops-value-differs",
        title: "A test operation found another value",
        explanation: "The value at the path must equal the operation's `value`, types included: `1` is not \
                      `\"1\"`, and not `1.0`. The order of keys does not matter, the order of items does.",
        help: Some("the ops file expects another document: check its version"),
    },
    Entry {
        code: Code::NotAbsent,
        name: "ops-not-absent",
        title: "A test operation found what should be absent",
        explanation: "With `absent: true` the last key or index of the path must be missing. A path with `?` is \
                      always found.",
        help: Some("the ops file expects another document: check its version"),
    },
    Entry {
        code: Code::TooDeep,
        name: "ops-too-deep",
        title: "The document would be nested too deep",
        explanation: "Documents may be nested 128 levels deep. This operation's path and value together go deeper.",
        help: None,
    },
    Entry {
        code: Code::TooMuchMatching,
        name: "ops-too-much-matching",
        title: "Matchers are compared with too many items",
        explanation: "A matcher (`/name=x`) is compared with every item of its list, so that thousands of operations on a list of thousands take their \
                      product. All ops files of a deployment together may make a hundred million comparisons; this operation is the first that has none \
                      left.",
        help: Some("write what changes many items as one operation that replaces the list, or use indexes (`/0`)"),
    },
    Entry {
        code: Code::UnusedKey,
        name: "ops-unused-key",
        title: "A part of an operation has no effect",
        explanation: "Operations know the keys `type`, `path`, `value` and `absent`; `absent` is for `test` only, \
                      and with `absent: true` the `value` is not looked at. BOSH ignores all else without a word, \
                      the key `error` too.",
        help: Some("take it out, or check its spelling"),
    },
    Entry {
        code: Code::OriginsLeftOut,
        name: "ops-origins-left-out",
        title: "Places in the input are not known",
        explanation: "The operations moved so many parts of the document that the list of where each one came from \
                      would be too long. The result is right, but later messages may name the wrong lines.",
        help: None,
    },
    Entry {
        code: Code::MalformedDocument,
        name: "ops-malformed-document",
        title: "The plugin got no JSON document",
        explanation: "The document or an ops file reached the plugin as text that is not JSON as the contract has \
                      it. This is an error in the caller of the plugin; `host` never does it.",
        help: None,
    },
];

// === impl Codes for Code ===

impl Codes for Code {
    const STAGE: &'static str = "ops";
    const TABLE: &'static [Entry<Self>] = TABLE;
}

// === impl Code ===

impl Code {
    /// Whether the conversion continues.
    pub fn is_warning(self) -> bool {
        self == Self::UnusedKey
    }

    /// Whether it is information only.
    pub fn is_info(self) -> bool {
        self == Self::OriginsLeftOut
    }
}

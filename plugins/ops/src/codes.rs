//! The diagnostics of this stage: one table of codes.

boson_document::codes! {
    MALFORMED_FILE = "ops-malformed-file", "The ops file is not a list of operations",
        "An ops file is a YAML list. Each item is a map with `type` and `path` (strings) and, depending on the type, `value` (anything) or `absent` \
         (`true` or `false`).",
        "write the file as a list of maps: `- {type: replace, path: /name, value: new}`";
    UNKNOWN_TYPE = "ops-unknown-type", "No such type of operation",
        "The types are `replace`, `remove` and `test`, in lower case. There is no `add`, `copy` or `move`: `replace` with a path that ends with `?` \
         adds a key, with `/-` it appends to a list.",
        "use `replace`, `remove` or `test`";
    MISSING_PATH = "ops-missing-path", "The operation has no path",
        "Every operation needs a `path`. The whole document is the empty path, `path: \"\"`.",
        "add a `path`";
    MISSING_VALUE = "ops-missing-value", "The operation has no value",
        "`replace` needs a `value`, `test` a `value` or `absent`. A value of null counts as no value: BOSH cannot tell them apart. To test for \
         null, write `absent: false` and no value.",
        "add a `value`; null is not possible here";
    VALUE_NOT_ALLOWED = "ops-value-not-allowed", "A remove operation has a value",
        "`remove` takes out whatever is at its path. To check the value first, put a `test` operation before it.",
        "take out the `value`";
    PATH_SYNTAX = "ops-path-syntax", "The path cannot be read",
        "A path is empty or starts with `/`. Its pieces are keys (`/name`), indices (`/0`, `/-1`), matchers (`/name=api`) and, at the end, `/-`. \
         Indices and matchers take the modifiers `:prev`, `:next`, `:before` and `:after`. In keys and values `~0` stands for `~`, `~1` for `/` and \
         `~7` for `:`.",
        "a path begins with `/`, as `/instance_groups/name=api/jobs/0`; `:` and `/` in a key are written `~7` and `~1`";
    MISSING_KEY = "ops-missing-key", "The path names a key that does not exist",
        "Every key of a path must exist, the last one too: only then can it be replaced or removed. A `?` at the end of a key makes it and all that \
         follow optional: `replace` creates them, `remove` does nothing. Keys that are not strings (numbers, `true`, `yes`) cannot be named by a \
         path.",
        "check the key, or end it with `?` if it may be missing";
    MISSING_INDEX = "ops-missing-index", "The path names an item that does not exist",
        "An index must be that of an existing item, counted from 0, or from -1 at the end. To append an item use `/-`. An index cannot be optional. \
         `:prev` and `:next` are applied before the check.",
        "check the index, or use `/-` to append";
    TYPE_MISMATCH = "ops-type-mismatch", "The path leads through a value of another type",
        "A key needs a map, an index or a matcher needs a list. The message names the place and the type that was found there, as Go calls it: \
         `<nil>` is null, `[]interface {}` a list, `map[interface {}]interface {}` a map. Optional tokens do not excuse a null.",
        "check the path against the document as the operations before left it";
    NO_SINGLE_MATCH = "ops-no-single-match", "A matcher does not match exactly one item",
        "`/name=api` means the one item of the list that is a map whose `name` is the string `api`. Numbers and booleans never match. With `?` \
         there may be none, but never two.",
        "check the names of the items; `?` allows for none";
    TOKEN_NOT_ALLOWED = "ops-token-not-allowed", "`/-` where there is nothing to append",
        "`/-` is the place after the last item of a list. Only `replace` can use it.",
        "use an index; `/-1` is the last item";
    MODIFIER_NOT_ALLOWED = "ops-modifier-not-allowed", "A modifier where it means nothing",
        "`:before` and `:after` insert: they belong to the last piece of a `replace` path, as its last modifier.",
        "move `:before` or `:after` to the end of the path of a `replace`";
    CANNOT_CREATE = "ops-cannot-create", "The path does not say what to create",
        "Where an optional key is missing, the next piece says what it is: a key makes it a map, a matcher or `/-` a list. An index does not, as a \
         new list has no items.",
        "use `/-` or a matcher after the missing key";
    REMOVE_DOCUMENT = "ops-remove-document", "The whole document cannot be removed",
        "The empty path is the whole document. `replace` can replace it; `remove` cannot take it away.",
        "name what to remove in `path`";
    VALUE_DIFFERS = "ops-value-differs", "A test operation found another value",
        "The value at the path must equal the operation's `value`, types included: `1` is not `\"1\"`, and not `1.0`. The order of keys does not \
         matter, the order of items does.",
        "the ops file expects another document: check its version";
    NOT_ABSENT = "ops-not-absent", "A test operation found what should be absent",
        "With `absent: true` the last key or index of the path must be missing. A path with `?` is always found.",
        "the ops file expects another document: check its version";
    TOO_DEEP = "ops-too-deep", "The document would be nested too deep",
        "Documents may be nested 128 levels deep. This operation's path and value together go deeper.";
    TOO_MUCH_MATCHING = "ops-too-much-matching", "Matchers are compared with too many items",
        "A matcher (`/name=x`) is compared with every item of its list, so that thousands of operations on a list of thousands take their product. \
         All ops files of a deployment together may make a hundred million comparisons; this operation is the first that has none left.",
        "write what changes many items as one operation that replaces the list, or use indexes (`/0`)";
    UNUSED_KEY = "ops-unused-key", "A part of an operation has no effect",
        "Operations know the keys `type`, `path`, `value` and `absent`; `absent` is for `test` only, and with `absent: true` the `value` is not \
         looked at. BOSH ignores all else without a word, the key `error` too.",
        "take it out, or check its spelling";
    ORIGINS_LEFT_OUT = "ops-origins-left-out", "Places in the input are not known",
        "The operations moved so many parts of the document that the list of where each one came from would be too long. The result is right, but \
         later messages may name the wrong lines.";
    MALFORMED_DOCUMENT = "ops-malformed-document", "The plugin got no JSON document",
        "The document or an ops file reached the plugin as text that is not JSON as the contract has it. This is an error in the caller of the \
         plugin; `host` never does it.";
}

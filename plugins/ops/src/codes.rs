//! The diagnostics of this stage: one table of codes.

boson_document::codes! {
    MALFORMED_FILE = "ops-malformed-file", "The ops file is not a list of operations",
        "An ops file is a YAML list. Each item is a map with `type` and `path` (strings) and, depending on the type, `value` (anything) or `absent` \
         (`true` or `false`).",
        "write the file as a list of maps: `- {type: replace, path: /name, value: new}`";
    UNKNOWN_TYPE = "ops-unknown-type", "Unknown type of operation",
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
        "`remove` deletes the value at its path, whatever it is. To check the value first, add a `test` operation \
         before it.",
        "remove the `value`";
    PATH_SYNTAX = "ops-path-syntax", "The path is invalid",
        "A path is empty or begins with `/`. Its tokens are keys (`/name`), indices (`/0`, `/-1`), matchers \
         (`/name=api`) and, at the end, `/-`. Indices and matchers accept the modifiers `:prev`, `:next`, `:before` \
         and `:after`. In keys and values, `~0` represents `~`, `~1` represents `/`, and `~7` represents `:`.",
        "begin the path with `/`, as in `/instance_groups/name=api/jobs/0`; write `:` and `/` in a key as `~7` and `~1`";
    MISSING_KEY = "ops-missing-key", "The path names a key that does not exist",
        "Every key of a path must exist, including the last one. A `?` at the end of a key makes it and all that \
         follow optional: `replace` creates them, `remove` does nothing. A path cannot name keys that are not \
         strings (numbers, `true`, `yes`).",
        "check the key, or end it with `?` if it may be missing";
    MISSING_INDEX = "ops-missing-index", "The path names an item that does not exist",
        "An index must be that of an existing item, counted from 0, or from -1 at the end. Use `/-` to append an \
         item. An index cannot be optional. `:prev` and `:next` are applied before the check.",
        "check the index, or use `/-` to append";
    TYPE_MISMATCH = "ops-type-mismatch", "The path leads through a value of another type",
        "A key needs a map; an index or a matcher needs a list. The message names the place and the type at that \
         place, as Go names it: `<nil>` is null, `[]interface {}` a list, `map[interface {}]interface {}` a map. \
         Null is an error for optional tokens, too.",
        "check the path against the document that the previous operations produced";
    NO_SINGLE_MATCH = "ops-no-single-match", "A matcher does not match exactly one item",
        "`/name=api` matches the item of the list that is a map whose `name` is the string `api`. Exactly one item \
         must match. Numbers and booleans never match. With `?`, no item may match, but never two.",
        "check the names of the items; `?` allows that no item matches";
    TOKEN_NOT_ALLOWED = "ops-token-not-allowed", "`/-` is not allowed here",
        "`/-` is the place after the last item of a list. Only `replace` can use it.",
        "use an index; `/-1` is the last item";
    MODIFIER_NOT_ALLOWED = "ops-modifier-not-allowed", "A modifier is not allowed here",
        "`:before` and `:after` insert an item. They must be the last modifier of the last token of a `replace` \
         path.",
        "move `:before` or `:after` to the end of the path of a `replace`";
    CANNOT_CREATE = "ops-cannot-create", "The path does not determine what to create",
        "If an optional key is missing, the next token determines its type: a key makes it a map, a matcher or `/-` \
         makes it a list. An index does not, because a new list has no items.",
        "use `/-` or a matcher after the missing key";
    REMOVE_DOCUMENT = "ops-remove-document", "The whole document cannot be removed",
        "The empty path is the whole document. `replace` can replace it, but `remove` cannot remove it.",
        "name the part to remove in `path`";
    VALUE_DIFFERS = "ops-value-differs", "A test operation found another value",
        "The value at the path must equal the operation's `value`, including types: `1` equals neither `\"1\"` nor \
         `1.0`. The order of keys does not matter, the order of items does.",
        "the ops file expects another document: check its version";
    NOT_ABSENT = "ops-not-absent", "A test operation found a value that should be absent",
        "With `absent: true`, the last key or index of the path must be missing. A path with `?` always exists.",
        "the ops file expects another document: check its version";
    TOO_DEEP = "ops-too-deep", "The document would be nested too deeply",
        "Documents may be nested 128 levels deep. The path and the value of this operation together exceed this.";
    TOO_MUCH_MATCHING = "ops-too-much-matching", "Matchers are compared with too many items",
        "A matcher (`/name=x`) is compared with every item of its list, so thousands of operations on a list of \
         thousands of items need millions of comparisons. All ops files of a deployment together may need a hundred \
         million; this operation exceeds the limit.",
        "replace the whole list in one operation, or use indices (`/0`)";
    UNUSED_KEY = "ops-unused-key", "A key of an operation has no effect",
        "Operations have the keys `type`, `path`, `value` and `absent`. `absent` applies to `test` only; with \
         `absent: true`, `value` has no effect. BOSH ignores all other keys silently, including `error`.",
        "remove the key, or check its spelling";
    ORIGINS_LEFT_OUT = "ops-origins-left-out", "Later messages may name the wrong lines",
        "The operations moved so many parts of the document that the list of their origins would be too long. The \
         result is correct.";
    MALFORMED_DOCUMENT = "ops-malformed-document", "The plugin received a document that is not JSON",
        "The document or an ops file is not JSON as the contract defines it. This is a defect of the program that \
         called the plugin.";
    REQUIRED_MEMBER = "ops-required-member", "The plugin does not know a member of the request",
        "The host of a later version sends data that the plugin must not ignore. Replace the plugin by one for this \
         version of the host.";
}

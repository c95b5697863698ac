//! Explanations of the reader's diagnostics.

use crate::codes::Code;

/// Codes of the YAML reader.
pub const CODES: &[Code] = &[
    Code {
        name: "yaml-syntax",
        title: "The text is not YAML",
        explanation: "The reader found something that YAML does not allow at this place. Most often a line is indented by \
                      one column too many or too few, a plain value holds `: ` or ` #` and needs quotes, or a quote or bracket \
                      above is never closed. The place is where the reader noticed; the cause may stand one line before.",
    },
    Code {
        name: "yaml-encoding",
        title: "The file is not UTF-8",
        explanation: "Files are read as UTF-8, with or without byte order mark. Save the file as UTF-8. Binary content goes into \
                      a string, encoded as base64.",
    },
    Code {
        name: "yaml-control",
        title: "The text holds a control character",
        explanation: "YAML allows tab, line feed and carriage return, but no other control character. Remove it, or write it as \
                      an escape in double quotes: `\"\\x1b\"`.",
    },
    Code {
        name: "yaml-size",
        title: "The file is too large",
        explanation: "Files of more than 32 MiB, or of more than 500,000 values, are not read. Large content does not \
                      belong into a manifest: put it into a release.",
    },
    Code {
        name: "yaml-depth",
        title: "The document is nested too deep",
        explanation: "Lists and mappings may be nested 128 deep. No manifest needs more; a generator that ran wild does.",
    },
    Code {
        name: "yaml-anchor",
        title: "An alias has no value",
        explanation: "An alias (`*name`) stands for the value that bears the anchor (`&name`). The anchor must come before the \
                      alias, in the same document, and the alias must not stand inside the anchor's own value. A plain value that \
                      begins with `*` or `&` needs quotes.",
    },
    Code {
        name: "yaml-aliases",
        title: "Aliases make the document too large",
        explanation: "Every alias becomes a copy of the value it stands for. Aliases of values that hold aliases multiply: a few \
                      lines can stand for more values than fit into memory. All copies together may have a million values and \
                      64 MiB of text.",
    },
    Code {
        name: "yaml-merge",
        title: "Something that is no mapping is merged",
        explanation: "After `<<:` stands a mapping, an alias of one, or a list of these that is written out: \
                      `<<: [*first, *second]`. An alias of a list is not allowed. Note that merged members override those that \
                      stand before `<<` in the same mapping.",
    },
    Code {
        name: "yaml-key",
        title: "A list or mapping is used as a key",
        explanation: "Keys are strings, numbers, booleans or null. This happens most often where a value begins with `{` or `[` \
                      and is not quoted, such as `{{name}}`: quote it.",
    },
    Code {
        name: "yaml-tag",
        title: "A value does not fit its tag",
        explanation: "A tag such as `!!int` asks for a type that the value does not have, or `!!binary` does not hold base64 of \
                      UTF-8 text. Remove the tag, or correct the value.",
    },
    Code {
        name: "yaml-duplicate-key",
        title: "A key stands twice in one mapping",
        explanation: "As in BOSH's command line, the last one counts, and the others have no effect. Remove them.",
    },
    Code {
        name: "yaml-line-break",
        title: "A character is a line break for some readers",
        explanation: "YAML 1.1, which BOSH reads, ends lines at U+0085, U+2028 and U+2029 too; YAML 1.2 does not. Such characters \
                      come with text that was copied from a web page or a word processor. Remove them, or write them as `\\N`, `\\L` \
                      and `\\P` in double quotes.",
    },
    Code {
        name: "yaml-more-documents",
        title: "The file holds more than one document",
        explanation: "As in BOSH's command line, only the first document of a file is read; what follows the second `---` has no \
                      effect.",
    },
];

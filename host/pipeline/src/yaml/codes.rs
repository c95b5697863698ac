//! Explanations of the reader's diagnostics.

boson_document::codes! {
    YAML_SYNTAX = "yaml-syntax", "The text is not valid YAML",
        "YAML does not allow the text at this place. Most often, a line is indented by one column too many or too \
         few, a plain value contains `: ` or ` #` and needs quotes, or a quote or bracket before it is not closed. \
         The cause may be one line before the reported place.";
    YAML_ENCODING = "yaml-encoding", "The file is not UTF-8",
        "Files must be UTF-8, with or without a byte order mark. Encode binary content as base64 in a string.";
    YAML_CONTROL = "yaml-control", "The text contains a control character",
        "YAML allows tab, line feed and carriage return, but no other control character. Remove it, or write it as \
         an escape in double quotes: `\"\\x1b\"`.";
    YAML_SIZE = "yaml-size", "The file is too large",
        "A file may have at most 32 MiB and 500,000 values. Move large content from a manifest into a release.";
    YAML_DEPTH = "yaml-depth", "The document is nested too deeply",
        "Lists and mappings may be nested 128 levels deep. No manifest needs more; check the program that generated \
         the file.";
    YAML_ANCHOR = "yaml-anchor", "An alias has no anchor",
        "An alias (`*name`) refers to the value with the anchor `&name`. The anchor must be before the alias in the \
         same document, and the alias must not be inside the value of its own anchor. Quote plain values that begin \
         with `*` or `&`.";
    YAML_ALIASES = "yaml-aliases", "Aliases make the document too large",
        "Each alias becomes a copy of the value that it refers to, and aliases of values with aliases multiply: a \
         few lines can expand to more values than fit into memory. All copies together may have a million values and \
         64 MiB of text.";
    YAML_MERGE = "yaml-merge", "A merged value is not a mapping",
        "The value of `<<:` must be a mapping, an alias of one, or a list of these: `<<: [*first, *second]`. An \
         alias of a list is not allowed. Merged members override those before `<<` in the same mapping.";
    YAML_KEY = "yaml-key", "A list or mapping is used as a key",
        "Keys are strings, numbers, booleans or null. Most often, a value that begins with `{` or `[`, such as \
         `{{name}}`, is not quoted: quote it.";
    YAML_TAG = "yaml-tag", "A value does not match its tag",
        "A tag such as `!!int` requires a type that the value does not have, or `!!binary` does not contain base64 \
         of UTF-8 text. Remove the tag, or correct the value.";
    YAML_DUPLICATE_KEY = "yaml-duplicate-key", "A key occurs twice in a mapping",
        "As in BOSH's command line, the last occurrence wins, and the others have no effect. In bpm.yml it is an error, \
         as in BPM. Remove the others.";
    YAML_CLASS = "yaml-class", "The director does not load a value of this class",
        "BOSH's director reads job specs and release.MF with Ruby's YAML reader, to which an unquoted date such as \
         `2020-01-31` is a Date. It refuses dates and other classes of Ruby. Quote the value.";
    YAML_LINE_BREAK = "yaml-line-break", "A character is a line break for some readers",
        "YAML 1.1, which BOSH reads, ends lines at U+0085, U+2028 and U+2029 too; YAML 1.2 does not. Such characters \
         often come from text that was copied from a web page or a word processor. Remove them, or write them as \
         `\\N`, `\\L` and `\\P` in double quotes.";
    YAML_MORE_DOCUMENTS = "yaml-more-documents", "The file contains more than one document",
        "As in BOSH's command line, only the first document of a file is used. Everything after the second `---` has \
         no effect.";
}

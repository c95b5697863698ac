//! Words of a monit file: separated by blanks and `=`, quoted or not; `#` begins a comment.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without quotes.
    pub text: String,
    /// It was quoted, so it is not a keyword.
    pub quoted: bool,
}

// === impl Word ===

impl Word {
    /// Is it this keyword? monit does not care about case.
    pub fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text.eq_ignore_ascii_case(keyword)
    }
}

/// The words of a file.
pub fn words(text: &str) -> Vec<Word> {
    split(text, true)
}

/// Words; `file`: with comments and signs, as in a file and not in a command line.
pub fn split(text: &str, file: bool) -> Vec<Word> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || (file && c == '='));
        let Some(first) = rest.chars().next() else { return out };
        if file && first == '#' {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if matches!(first, '"' | '\'') {
            let inside = &rest[1..];
            let end = inside.find(first).unwrap_or(inside.len());
            out.push(Word {
                text: inside[..end].into(),
                quoted: true,
            });
            rest = inside.get(end + 1..).unwrap_or_default();
        } else {
            let end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
            out.push(Word {
                text: rest[..end].into(),
                quoted: false,
            });
            rest = &rest[end..];
        }
    }
}

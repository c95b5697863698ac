//! The description of a plugin.

use boson_document::Tree;

/// Characters of the name of a plugin.
pub const MAX_NAME_CHARS: usize = 63;

/// A diagnostic code that a plugin documents.
#[derive(Clone, Debug)]
pub struct Code {
    /// `ops-missing-key`
    pub name: String,
    /// One line.
    pub title: String,
    pub explanation: String,
}

#[derive(Clone, Debug)]
pub struct Description {
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// JSON Schema of its settings.
    pub settings_schema: Tree,
    pub codes: Vec<Code>,
}

/// Whether this can be a semantic version.
pub(crate) fn is_version(version: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+');
    (1..=63).contains(&version.len()) && version.bytes().all(fits)
}

/// Whether a plugin may have this name: codes begin with it.
pub fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME_CHARS && words(name)
}

/// Lower-case words joined by `-`.
pub(crate) fn words(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.split('-').all(is_word)
}

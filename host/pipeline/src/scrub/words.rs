//! Words and phrases of texts.

/// The words of a text: letters, digits and `_`.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_inner(c)).filter(|word| !word.is_empty())
}

/// Whether the character is part of a word.
pub(super) fn is_inner(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the text contains the phrase as whole words.
pub(super) fn holds(text: &str, phrase: &str) -> bool {
    let (begins, ends) = (phrase.starts_with(is_inner), phrase.ends_with(is_inner));
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back().filter(|_| begins);
        let after = text[at + phrase.len()..].chars().next().filter(|_| ends);
        !before.is_some_and(is_inner) && !after.is_some_and(is_inner)
    })
}

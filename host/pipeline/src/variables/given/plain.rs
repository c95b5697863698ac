//! Texts that may be shown where a value may have been typed.

/// Longest word: generated passwords have twenty letters and digits.
const MAX_WORD_CHARS: usize = 16;

/// Whether this is one: words, numbers and versions, with the characters that join them in names, paths, domains and
/// addresses.
pub fn is_plain(value: &str) -> bool {
    let value = value.split_once("://").map_or(value, |(_, rest)| rest);
    let mut words = value.split(['-', '_', '.', ':', '/']).filter(|word| !word.is_empty());
    words.all(is_word)
}

/// Letters of one case, optionally followed by a number: `broker`, `z1`, `HTTP`, `8080`; or a zone's `1a`.
fn is_word(word: &str) -> bool {
    if let [b'0'..=b'9', b'a'..=b'z'] = word.as_bytes() {
        return true;
    }
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = word.len() - letters.len();
    let lower_behind_first = letters.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());
    let is_letters = letters.bytes().all(|byte| byte.is_ascii_alphabetic());
    let one_case = lower_behind_first || letters.bytes().all(|byte| byte.is_ascii_uppercase());
    let number = if letters.is_empty() { 5 } else { 2 };
    is_letters && one_case && letters.len() < MAX_WORD_CHARS && digits <= number
}

//! How a string is written so that its readers read the same string: plain, quoted or as a block.

use crate::yaml::scalar::{Scalar, psych};

/// The readers that must read the same string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// yaml.v2 itself: quoted only where it quotes.
    YamlV2,
    /// Ruby's Psych too, and readers of YAML 1.1 and of YAML 1.2.
    All,
}

/// A way to write a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Single,
    /// In double quotes, with escapes.
    Double,
    /// Lines after `|`.
    Literal,
}

/// The style of a string. `key`: it is a key on one line.
pub fn of_string(text: &str, key: bool, readers: Readers) -> Style {
    let shape = Shape::of(text);
    if text.contains('\n') {
        return if key || !shape.block {
            Style::Double
        } else {
            Style::Literal
        };
    }
    let mistaken = match (Scalar::plain(text), readers) {
        // yaml.v2 quotes numbers in base 60 for other readers.
        (Scalar::String, Readers::YamlV2) => psych::sexagesimal_parts(text).is_some(),
        (Scalar::String, Readers::All) => shape.plain && is_misread(text),
        // Only a key merges; the writer handles that.
        (Scalar::Merge, Readers::YamlV2) => false,
        _ => true,
    };
    if mistaken {
        return Style::Double;
    }
    match (shape.plain, shape.single) {
        (true, _) if !(key && text.is_empty()) => Style::Plain,
        (_, true) => Style::Single,
        _ => Style::Double,
    }
}

/// The style of a string in Psych's `to_yaml`: what `visit_String` asks for, if libyaml can write the string that way.
pub(super) fn of_psych(text: &str, key: bool) -> Style {
    let shape = Shape::of(text);
    let rest = text.split_once('\n').map(|(_, rest)| rest);
    let style = if rest.is_some_and(|rest| !matches!(rest, "" | "\n")) {
        Style::Literal
    } else if matches!(text, "y" | "Y" | "n" | "N") || begins_with_sign(text) {
        Style::Double
    } else if psych::resolve(text) != Scalar::String || is_no_octal(text) {
        Style::Single
    } else {
        Style::Plain
    };
    match style {
        _ if key && is_multiline(text) => Style::Double,
        Style::Literal if !shape.block || key => Style::Double,
        Style::Plain if shape.plain && !(key && text.is_empty()) => Style::Plain,
        Style::Plain | Style::Single if shape.single => Style::Single,
        Style::Plain | Style::Single => Style::Double,
        style => style,
    }
}

/// `^[^[:word:]][^"]*$`
fn begins_with_sign(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let begins = |start: usize| {
        let mut chars = text[start..].chars();
        let rest = chars.next().filter(|c| !is_word(*c)).map(|_| chars.as_str());
        rest.is_some_and(|rest| rest.chars().find(|c| matches!(c, '"' | '\n')) != Some('"'))
    };
    let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(after_breaks).any(begins)
}

/// `\A0[0-7]*[89]`
fn is_no_octal(text: &str) -> bool {
    let digits = text.strip_prefix('0');
    digits.is_some_and(|digits| {
        digits
            .trim_start_matches(|c| matches!(c, '0'..='7'))
            .starts_with(['8', '9'])
    })
}

/// Strings in which libyaml finds line breaks.
pub(super) fn is_multiline(text: &str) -> bool {
    text.contains(is_break)
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character may be written without escape; as in yaml.v2, not if it is outside the basic multilingual plane.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
        && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// The styles that can represent a string.
struct Shape {
    plain: bool,
    single: bool,
    block: bool,
}

// === impl Shape ===

impl Shape {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self {
                plain: true,
                single: true,
                block: false,
            };
        }
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            let spaces = text.starts_with(' ') || text.ends_with(' ');
            return Self {
                plain: !spaces && !has_indicators(text),
                single: true,
                block: !text.ends_with(' '),
            };
        }
        let special = !text.chars().all(is_printable);
        let breaks = is_multiline(text);
        let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
        let edges = edge(text.chars().next()) || edge(text.chars().next_back());
        let pair = |first: fn(char) -> bool, then: fn(char) -> bool| {
            text.chars().zip(text.chars().skip(1)).any(|(a, b)| first(a) && then(b))
        };
        let break_space = pair(is_break, |c| c == ' ');
        let space_break = pair(|c| c == ' ', is_break);
        Self {
            plain: !(special || breaks || edges || has_indicators(text)),
            single: !(special || break_space || space_break),
            block: !(special || space_break || text.ends_with(' ')),
        }
    }
}

/// Whether a part of the text would be read as syntax.
fn has_indicators(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let bytes = text.as_bytes();
    let blank_at = |at: usize| bytes.get(at).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    match bytes[0] {
        b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
        | b'`' => return true,
        b'-' | b'?' | b':' if blank_at(1) => return true,
        _ => {}
    }
    bytes.iter().enumerate().skip(1).any(|(at, byte)| match byte {
        b':' => blank_at(at + 1),
        b'#' => blank_at(at - 1),
        _ => false,
    })
}

/// Strings that yaml.v2 reads as strings and other readers do not: Ruby's Psych, and readers of YAML 1.1 and 1.2.
fn is_misread(text: &str) -> bool {
    let Some(first) = text.bytes().next() else { return false };
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => {
            looks_like_number(text) || looks_like_time(text) || is_any(text, &[".nan", ".inf", "+.inf", "-.inf"])
        }
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' => {
            is_any(text, &["yes", "no", "true", "false", "on", "off", "null"])
        }
        // Psych reads a symbol.
        b':' => true,
        b'=' => text == "=",
        _ => false,
    }
}

fn is_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Digits with the characters that may be between them: `1,000`, `1:30`, `0x_f`, `1_0.5e+3`.
fn looks_like_number(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let based = |prefix: [&str; 2]| prefix.iter().find_map(|prefix| rest.strip_prefix(prefix));
    let separated = |digits: &str, is_digit: fn(&u8) -> bool| {
        digits
            .bytes()
            .all(|byte| is_digit(&byte) || matches!(byte, b'_' | b','))
    };
    if let Some(digits) = based(["0x", "0X"]) {
        return separated(digits, u8::is_ascii_hexdigit);
    }
    if let Some(digits) = based(["0b", "0B"]).or_else(|| based(["0o", "0O"])) {
        return separated(digits, u8::is_ascii_digit);
    }
    let (digits, power) = rest
        .split_once(['e', 'E'])
        .map_or((rest, None), |(digits, power)| (digits, Some(power)));
    let power =
        power.is_none_or(|power| separated(power.strip_prefix(['+', '-']).unwrap_or(power), u8::is_ascii_digit));
    power
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().filter(|byte| *byte == b'.').count() <= 1
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b',' | b'.' | b':'))
}

/// A date, with or without a time, in any of the forms of YAML 1.1.
fn looks_like_time(text: &str) -> bool {
    let day = psych::after_month(text.trim_start_matches('-'));
    day.is_some_and(|day| {
        day.starts_with(|c: char| c.is_ascii_digit())
            && day.bytes().all(|byte| {
                byte.is_ascii_digit() || matches!(byte, b' ' | b'\t' | b':' | b'.' | b'+' | b'-' | b'T' | b't' | b'Z')
            })
    })
}

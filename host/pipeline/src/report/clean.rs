//! Makes foreign text harmless: characters that control a terminal, and those that hide or reorder text, become
//! visible.

/// Limit on a text that is shown, in characters.
const MAX_TEXT_CHARS: usize = 8192;

/// Marks names of members that are not texts in YAML (`7: x`). Users know them without it.
const NAME_MARK: char = '\0';

/// Text that may have several lines.
pub fn text(text: &str) -> String {
    clean(text, true)
}

/// Text within a line.
pub fn line(text: &str) -> String {
    clean(text, false)
}

/// A part of a longer text with lines: nothing is cut off, and spaces at its end stay.
pub fn part(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            NAME_MARK => {}
            '\n' | '\t' => out.push(c),
            c if is_harmful(c) => out.push_str(&visible(c)),
            c => out.push(c),
        }
    }
    out
}

fn clean(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (count, c) in text.chars().enumerate() {
        match c {
            _ if count == MAX_TEXT_CHARS => {
                out.push('…');
                break;
            }
            NAME_MARK => {}
            '\n' if lines => out.push('\n'),
            '\t' => out.push_str("    "),
            c if is_harmful(c) => out.push_str(&visible(c)),
            c => out.push(c),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Control characters, and characters without a width or with an effect on the direction of others.
pub(super) fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A visible form of a harmful character.
pub(super) fn visible(c: char) -> String {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('␀').to_string(),
        '\u{7f}' => '␡'.to_string(),
        c => format!("\\u{{{:x}}}", c as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_hides_text() {
        let evil = "a\u{1b}[31mb\r\u{9b}2Jc\u{202e}d\u{200b}e\u{7}\u{7f}\n";
        assert_eq!(line(evil), "a␛[31mb␍\\u{9b}2Jc\\u{202e}d\\u{200b}e␇␡␊");
        assert_eq!(line("Key '\u{0}7' is not known"), "Key '7' is not known");
        assert_eq!(text("one\n\ttwo é 日\n\n"), "one\n    two é 日");
        assert_eq!(
            text(&"x".repeat(MAX_TEXT_CHARS + 5)).chars().count(),
            MAX_TEXT_CHARS + 1
        );
    }
}

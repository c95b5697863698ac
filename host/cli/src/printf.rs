//! Imitates how BOSH's command line garbles messages: it passes each message to Go's `Printf` as the format, without
//! values.
//!
//! So it prints a `%` in a name or a path differently, `c%d` as `c%!d(MISSING)`. This makes our messages the same.

/// Go's flags of a verb.
const VERB_FLAGS: [char; 5] = ['+', '-', '#', ' ', '0'];

/// The text, with its verbs as Go prints them without values.
pub fn format_without_values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        rest = verb(after, &mut out);
    }
    out.push_str(rest);
    out
}

/// Prints the verb that begins after a `%`, and returns the rest.
fn verb<'t>(text: &'t str, out: &mut String) -> &'t str {
    let (mut text, mut indexed) = index(text.trim_start_matches(VERB_FLAGS));
    text = measure(text, "%!(BADWIDTH)", out);
    // A point at the very end is a verb.
    if let Some(precision) = text.strip_prefix('.').filter(|rest| !rest.is_empty()) {
        let (rest, more) = index(precision);
        text = measure(rest, "%!(BADPREC)", out);
        indexed |= more;
    }
    let (text, more) = index(text);
    let mut following = text.chars();
    match following.next() {
        None => out.push_str("%!(NOVERB)"),
        Some('%') => out.push('%'),
        Some(verb) if indexed || more => out.push_str(&format!("%!{verb}(BADINDEX)")),
        Some(verb) => out.push_str(&format!("%!{verb}(MISSING)")),
    }
    following.as_str()
}

/// Skips `[1]`, which names a value, and returns whether it was there.
fn index(text: &str) -> (&str, bool) {
    match text.strip_prefix('[') {
        Some(rest) => (rest.split_once(']').map_or(rest, |(_, rest)| rest), true),
        None => (text, false),
    }
}

/// Skips a width or a precision; `*` needs a separate value.
fn measure<'t>(text: &'t str, bad: &str, out: &mut String) -> &'t str {
    if let Some(rest) = text.strip_prefix('*') {
        out.push_str(bad);
        return rest;
    }
    text.trim_start_matches(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_go_makes_of_them() {
        for (text, printed) in [
            ("nothing", "nothing"),
            ("/c%d", "/c%!d(MISSING)"),
            ("100%", "100%!(NOVERB)"),
            ("a%%b", "a%b"),
            ("% d", "%!d(MISSING)"),
            ("%5.2f x", "%!f(MISSING) x"),
            ("%*d", "%!(BADWIDTH)%!d(MISSING)"),
            ("%.*f", "%!(BADPREC)%!f(MISSING)"),
            ("%[1]d", "%!d(BADINDEX)"),
            ("%[x", "%!x(BADINDEX)"),
            ("%[3]*.[2]*[1]f", "%!(BADWIDTH)%!(BADPREC)%!f(BADINDEX)"),
            ("%!", "%!!(MISSING)"),
            ("%+v%", "%!v(MISSING)%!(NOVERB)"),
            ("%é", "%!é(MISSING)"),
            ("%-010s|", "%!s(MISSING)|"),
            ("%5", "%!(NOVERB)"),
            ("%.", "%!.(MISSING)"),
            ("a%5%b", "a%b"),
            ("%[1]", "%!(NOVERB)"),
            ("%[a]d", "%!d(BADINDEX)"),
            ("%[1]%", "%"),
            ("%v%[2]s%d", "%!v(MISSING)%!s(BADINDEX)%!d(MISSING)"),
        ] {
            assert_eq!(format_without_values(text), printed, "{text}");
        }
    }
}

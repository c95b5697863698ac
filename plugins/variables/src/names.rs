//! Names by the director's rules.

use crate::codes;
use crate::error::Error;

/// A placeholder of the director's: anything between two parentheses and the next two on the same line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'t> {
    /// Its bytes in the string, parentheses included.
    pub range: std::ops::Range<usize>,
    /// What is between.
    pub inner: &'t str,
}

/// The director's placeholders in a string, from left to right. Takes time linear in its length.
pub fn scan(text: &str) -> impl Iterator<Item = Found<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text.get(from..)?.find("((")?;
            let inner = &text[start + 2..];
            let line = &inner[..inner.find('\n').unwrap_or(inner.len())];
            match line.find("))") {
                Some(length) => {
                    from = start + length + 4;
                    return Some(Found {
                        range: start..from,
                        inner: &inner[..length],
                    });
                }
                // Nothing else on this line ends either.
                None => from = start + 2 + line.len(),
            }
        }
    })
}

// === impl Found ===

impl Found<'_> {
    /// Whether this map key is a placeholder. Otherwise the director takes the key as plain text.
    pub fn is_whole_key(&self, key: &str) -> bool {
        self.range == (0..key.len()) && !self.inner.contains('(')
    }
}

/// The name in a placeholder, without `!`.
///
/// # Errors
/// A name that the director refuses.
pub fn in_placeholder(inner: &str) -> Result<&str, Error> {
    characters(inner, "-_./!")?;
    slashes(inner)?;
    check_dots(inner).map_err(|why| failure(inner, &format!("syntax error: {why}")))?;
    let name = inner.strip_prefix('!').unwrap_or(inner);
    if name.is_empty() || name.contains('!') {
        let why = "contains invalid character '!'. If it is included for spiff, it should only be at the beginning of the \
                   name. Note: it will not be considered a part of the name";
        return Err(failure(inner, why));
    }
    Ok(name)
}

/// A name in the `variables` section.
///
/// # Errors
/// A name that the director refuses.
pub fn in_section(name: &str) -> Result<(), Error> {
    characters(name, "-_/")?;
    slashes(name)
}

fn failure(name: &str, why: &str) -> Error {
    Error::new(codes::INVALID_NAME, format!("Variable name '{name}' {why}"))
}

fn characters(name: &str, others: &str) -> Result<(), Error> {
    if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c)) {
        return Ok(());
    }
    let why = "must only contain alphanumeric, underscores, dashes, or forward slash characters";
    Err(failure(name, why))
}

fn slashes(name: &str) -> Result<(), Error> {
    if name.ends_with('/') {
        return Err(failure(name, "must not end with a forward slash"));
    }
    if name.contains("//") {
        return Err(failure(name, "must not contain two consecutive forward slashes"));
    }
    Ok(())
}

fn check_dots(name: &str) -> Result<(), &'static str> {
    let (before, last) = name.rsplit_once('/').unwrap_or(("", name));
    match last {
        _ if before.contains('.') => Err("Must not contain dots before the last slash"),
        _ if last.starts_with('.') => Err("Must not have segment starting with a dot"),
        _ if last.ends_with('.') => Err("Must not end name with a dot"),
        _ if last.contains("..") => Err("Must not contain consecutive dots"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_two_parentheses_enclose_on_one_line_is_a_placeholder() {
        let inner = |text| scan(text).map(|found| found.inner).collect::<Vec<_>>();
        assert_eq!(inner("((a)) (( b )) (())"), ["a", " b ", ""]);
        assert_eq!(inner("(((x)))"), ["(x"]);
        assert_eq!(inner("((a\n))((b))"), ["b"]);
        assert_eq!(inner("((a) ((b))"), ["a) ((b"]);
        assert_eq!(inner("((a"), Vec::<&str>::new());
        assert_eq!(scan(&"((".repeat(1_000_000)).count(), 0);
        assert_eq!(inner("((ü\n((é))"), ["é"]);
    }

    #[test]
    fn names_are_checked_in_the_director_s_words() {
        for (inner, name) in [
            ("a", "a"),
            ("!a", "a"),
            ("/d/n.k.l", "/d/n.k.l"),
            ("a-b_C.1", "a-b_C.1"),
        ] {
            assert_eq!(in_placeholder(inner), Ok(name));
        }
        let only = "must only contain alphanumeric, underscores, dashes, or forward slash characters";
        let bang = "contains invalid character '!'. If it is included for spiff, it should only be at the beginning of the \
                    name. Note: it will not be considered a part of the name";
        for (inner, why) in [
            ("", only),
            (" x ", only),
            ("ü", only),
            ("a/", "must not end with a forward slash"),
            ("a//b", "must not contain two consecutive forward slashes"),
            ("a.b/c", "syntax error: Must not contain dots before the last slash"),
            ("/a/.b", "syntax error: Must not have segment starting with a dot"),
            ("a.", "syntax error: Must not end name with a dot"),
            ("a..b", "syntax error: Must not contain consecutive dots"),
            ("!", bang),
            ("a!", bang),
            ("!!a", bang),
        ] {
            assert_eq!(
                in_placeholder(inner).unwrap_err().message,
                format!("Variable name '{inner}' {why}")
            );
        }
        assert!(in_section("/a/b-C_1").is_ok() && in_section("a.b").is_err() && in_section("!a").is_err());
    }
}

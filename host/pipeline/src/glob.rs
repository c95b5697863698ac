//! Patterns of paths as BOSH matches them, in `files` of a package's spec and in `bosh logs --only`: `**` is any number
//! of directories, `*` and `?` match names that begin with a dot too, and `{a,b}` may contain slashes.

use std::collections::BTreeMap;

/// Patterns that one may expand to: `{a,b}{c,d}..` doubles with each brace.
const MAX_ALTERNATIVES: usize = 1024;

/// A pattern, with its alternatives written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    alternatives: Vec<Vec<String>>,
}

// === impl Pattern ===

impl Pattern {
    /// Reads a pattern; `None` if it is malformed, leads out of the directory, or has too many alternatives.
    pub fn read(text: &str) -> Option<Self> {
        let mut expanded = Vec::new();
        expand(text, &mut expanded)?;
        let alternatives = expanded.iter().map(|one| components(one)).collect::<Option<_>>()?;
        Some(Self { alternatives })
    }

    /// The paths that it matches, sorted; they are relative to the directory of the pattern. Only paths below the part
    /// without wildcards are compared: a release has thousands of files, and hundreds of patterns.
    pub fn select<'f, V>(&self, files: &'f BTreeMap<String, V>) -> BTreeMap<&'f str, &'f V> {
        let mut found = BTreeMap::new();
        for pattern in &self.alternatives {
            let literal = pattern.iter().take_while(|part| is_literal(part)).count();
            let prefix = pattern.get(..literal).unwrap_or_default().join("/");
            if literal == pattern.len() {
                found.extend(files.get_key_value(&prefix).map(|(path, value)| (path.as_str(), value)));
                continue;
            }
            let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
            let below = files
                .range(prefix.clone()..)
                .take_while(|(path, _)| path.starts_with(&prefix));
            let matching = below.filter(|(path, _)| match_path(pattern, &names(path)));
            found.extend(matching.map(|(path, value)| (path.as_str(), value)));
        }
        found
    }

    pub fn matches(&self, path: &str) -> bool {
        let names = names(path);
        self.alternatives.iter().any(|pattern| match_path(pattern, &names))
    }

    /// The first directory of all paths that it matches, if it is the same.
    pub fn directory(&self) -> Option<&str> {
        let mut all = self.alternatives.iter().map(|pattern| match pattern.as_slice() {
            [first, _, ..] if is_literal(first) => Some(first.as_str()),
            _ => None,
        });
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    }
}

fn is_literal(part: &str) -> bool {
    !part.contains(['*', '?', '[', '\\'])
}

fn names(path: &str) -> Vec<&str> {
    path.split('/').collect()
}

/// Replaces the first `{..}` by each of its alternatives, and so on.
fn expand(text: &str, into: &mut Vec<String>) -> Option<()> {
    let Some(begin) = find(text, '{') else {
        into.push(text.to_owned());
        return (into.len() <= MAX_ALTERNATIVES).then_some(());
    };
    let (before, rest) = (text.get(..begin)?, text.get(begin + 1..)?);
    let (options, after) = alternatives(rest)?;
    for option in options {
        expand(&format!("{before}{option}{after}"), into)?;
    }
    Some(())
}

/// The alternatives up to the closing brace, and what follows it.
fn alternatives(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut depth, mut begin, mut escaped) = (1, 0, false);
    let mut options = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => {
                options.push(text.get(begin..at)?);
                begin = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            options.push(text.get(begin..at)?);
            return Some((options, text.get(at + 1..)?));
        }
    }
    None
}

/// Position of a letter that is not escaped.
fn find(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    text.find(|letter: char| {
        let is_wanted = !escaped && letter == wanted;
        escaped = !escaped && letter == '\\';
        is_wanted
    })
}

/// The components, as `filepath.Join` cleans them.
fn components(pattern: &str) -> Option<Vec<String>> {
    let mut parts: Vec<String> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => {
                // A malformed class must be an error even where nothing is compared with it.
                match_name(part, "")?;
                parts.push(part.to_owned());
            }
        }
    }
    (!parts.is_empty()).then_some(parts)
}

fn match_path(pattern: &[String], names: &[&str]) -> bool {
    let (Some((first, rest)), Some((name, below))) = (pattern.split_first(), names.split_first()) else {
        return pattern.is_empty() && names.is_empty();
    };
    if first == "**" {
        return rest.is_empty() || match_path(rest, names) || match_path(pattern, below);
    }
    match_name(first, name) == Some(true) && match_path(rest, below)
}

/// Compares one name; `None` if the pattern is malformed. Stars are retried from the last one only, so that long names
/// cannot take exponential time.
fn match_name(pattern: &str, name: &str) -> Option<bool> {
    let pattern = tokens(pattern)?;
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut here) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(at), name.get(here)) {
            (Some(Token::Star), _) => {
                retry = Some((at, here));
                at += 1;
                continue;
            }
            (None, None) => return Some(true),
            (Some(token), Some(letter)) if token.accepts(*letter) => {
                at += 1;
                here += 1;
                continue;
            }
            _ => {}
        }
        match retry {
            Some((star, from)) if from < name.len() => {
                retry = Some((star, from + 1));
                at = star + 1;
                here = from + 1;
            }
            _ => return Some(false),
        }
    }
}

enum Token {
    Star,
    Any,
    Letter(char),
    Class { negated: bool, ranges: Vec<(char, char)> },
}

// === impl Token ===

impl Token {
    fn accepts(&self, letter: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::Letter(own) => *own == letter,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != *negated
            }
        }
    }
}

fn tokens(pattern: &str) -> Option<Vec<Token>> {
    let mut letters = pattern.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(letter) = letters.next() {
        tokens.push(match letter {
            '*' => Token::Star,
            '?' => Token::Any,
            '\\' => Token::Letter(letters.next()?),
            '[' => class(&mut letters)?,
            letter => Token::Letter(letter),
        });
    }
    Some(tokens)
}

fn class(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let negated = letters.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        let low = match letters.next()? {
            ']' => break,
            '-' => return None,
            '\\' => letters.next()?,
            letter => letter,
        };
        let high = if letters.next_if_eq(&'-').is_some() {
            match letters.next()? {
                '-' | ']' => return None,
                '\\' => letters.next()?,
                letter => letter,
            }
        } else {
            low
        };
        ranges.push((low, high));
    }
    (!ranges.is_empty() || negated).then_some(Token::Class { negated, ranges })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_the_bosh_cli() {
        for (pattern, path, expected) in [
            ("**/*", "a", true),
            ("**/*", "a/b/.c", true),
            ("a/**/*", "a/b", true),
            ("a/**/*", "b/a", false),
            ("a/**", "a/b/c", true),
            ("a/*", "a/b/c", false),
            ("a**", "ab", true),
            ("a**", "a/b", false),
            ("*.go", ".go", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("{a,b/c}/*.tgz", "b/c/d.tgz", true),
            ("{a,b{1,2}}x", "b2x", true),
            ("{,x}a", "a", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("./a//b", "a/b", true),
            ("x/../a", "a", true),
            ("go*linux*.tar.gz", "go1.23.linux-amd64.tar.gz", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXb", false),
            ("a/**/d", "a/d", true),
            ("a/**/d", "a/b/c/d", true),
            ("a/**/d", "b/d", false),
        ] {
            let files = BTreeMap::from([(path.to_owned(), ())]);
            let read = Pattern::read(pattern).unwrap();
            let found = [read.select(&files).contains_key(path), read.matches(path)];
            assert_eq!(found, [expected; 2], "{pattern} {path}");
        }
        for bad in ["[a", "a{b", "../a", "", "[-a]", "a\\"] {
            assert_eq!(Pattern::read(bad), None, "{bad}");
        }
        assert_eq!(Pattern::read(&"{a,b}".repeat(11)), None);
    }

    #[test]
    fn the_directory_is_known_if_no_other_matches() {
        let directory = |text: &str| Pattern::read(text).unwrap().directory().map(String::from);
        for text in ["a/*", "a/b", "{a/*,a/b}", "./a/b"] {
            assert_eq!(directory(text).as_deref(), Some("a"), "{text}");
        }
        for text in ["*/a", "a", "{a,b}/*", "**", "{a/*,*}"] {
            assert_eq!(directory(text), None, "{text}");
        }
    }
}

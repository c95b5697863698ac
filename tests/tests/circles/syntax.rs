//! The parts of a module's source that say what it imports. Reads tokens, not Rust's whole grammar.

use std::collections::BTreeSet;

/// A name that a module has from a `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// `crate::plan::Plan`, in parts; of `crate::plan::*` without the star.
    pub path: Vec<String>,
    /// The name in this module; `None` for all names.
    pub name: Option<String>,
}

/// What one source file has.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub uses: Vec<Use>,
    /// Paths in expressions and types that begin with `crate`, `super` or `self`.
    pub paths: Vec<Vec<String>>,
    /// Names that are defined in the file.
    pub items: BTreeSet<String>,
    /// Files that only tests have.
    pub test_modules: Vec<String>,
}

/// Reads a file.
pub fn read(text: &str) -> Source {
    let code = code(text);
    let tokens = tokens(&code);
    let (tokens, test_modules) = without_tests(&tokens);
    let mut source = Source {
        test_modules,
        ..Source::default()
    };
    let mut rest = tokens.as_slice();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (*first, tail.first().copied()) {
            ("use", Some(next)) if next != "<" => rest = tree(tail, &[], &mut source.uses),
            ("crate" | "super" | "self", Some("::")) => {
                let length = 1 + tail
                    .chunks_exact(2)
                    .take_while(|pair| pair[0] == "::" && is_name(pair[1]))
                    .count();
                source.paths.push(tokens_at(first, tail, length));
                rest = &tail[2 * (length - 1)..];
            }
            ("fn" | "struct" | "enum" | "trait" | "const" | "static" | "type" | "union", Some(name)) => {
                source.items.insert(name.to_string());
            }
            _ => {}
        }
    }
    source
}

fn tokens_at(first: &str, tail: &[&str], length: usize) -> Vec<String> {
    let others = tail.iter().skip(1).step_by(2).take(length - 1);
    [first].into_iter().chain(others.copied()).map(String::from).collect()
}

/// Reads one tree of a `use`, and returns the tokens after it.
fn tree<'t, 's>(mut tokens: &'t [&'s str], prefix: &[String], uses: &mut Vec<Use>) -> &'t [&'s str] {
    let mut path = prefix.to_vec();
    loop {
        match tokens {
            ["::", tail @ ..] => tokens = tail,
            ["{", tail @ ..] => {
                tokens = tail;
                while !matches!(tokens, [] | ["}", ..]) {
                    tokens = tree(tokens, &path, uses);
                    tokens = tokens.strip_prefix(&[","]).unwrap_or(tokens);
                }
                return tokens.get(1..).unwrap_or_default();
            }
            ["*", tail @ ..] => {
                uses.push(Use { path, name: None });
                return tail;
            }
            ["as", name, tail @ ..] => {
                uses.push(Use {
                    path,
                    name: Some((*name).to_string()),
                });
                return tail;
            }
            // Of `plan::{self}`.
            ["self", tail @ ..] if !prefix.is_empty() => tokens = tail,
            [name, tail @ ..] if is_name(name) => {
                path.push((*name).to_string());
                tokens = tail;
            }
            _ => {
                let name = path.last().cloned();
                uses.push(Use { path, name });
                return tokens;
            }
        }
    }
}

/// Drops the items below `#[cfg(test)]`, and returns the names of modules among them that are files.
fn without_tests<'s>(tokens: &[&'s str]) -> (Vec<&'s str>, Vec<String>) {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut rest = tokens;
    while let [first, tail @ ..] = rest {
        match rest.strip_prefix(&TEST) {
            Some(tail) => {
                let (item, after) = tail.split_at(item_length(tail));
                rest = after;
                if let [.., "mod", name, ";"] = item {
                    modules.push((*name).to_string());
                }
            }
            None => {
                kept.push(*first);
                rest = tail;
            }
        }
    }
    (kept, modules)
}

/// Number of tokens up to the end of the item: its `;`, or the end of its braces.
fn item_length(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(*token, ";" | "}") {
            return at + 1;
        }
    }
    tokens.len()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::`, and all other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            c if inside(c) => rest.find(|c| !inside(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        let (token, tail) = rest.split_at(length);
        tokens.push(token);
        rest = tail.trim_start();
    }
    tokens
}

/// The text with a space in place of each comment and literal.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_name = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match comment(rest).or_else(|| literal(rest, in_name)) {
            Some(length) => {
                code.push(' ');
                rest = rest.get(length..).unwrap_or_default();
            }
            None => {
                code.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    code
}

/// Bytes of the comment that the text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let (mut at, mut depth) = (2, 1);
    let inside = text.strip_prefix("/*")?;
    let mut bytes = inside.as_bytes().windows(2);
    while depth > 0 {
        match bytes.next() {
            Some(b"/*") => depth += 1,
            Some(b"*/") => depth -= 1,
            Some(_) => {}
            None => return Some(text.len()),
        }
        at += 1;
    }
    Some(at + 1)
}

/// Bytes of the text or character literal that the text begins with.
fn literal(text: &str, in_name: bool) -> Option<usize> {
    if let Some(raw) = text.strip_prefix('r').filter(|_| !in_name) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inside = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
        return Some(2 + hashes + length);
    }
    if let Some(escaped) = text.strip_prefix("'\\") {
        // The escaped character may be a quote.
        return Some(3 + escaped.get(1..)?.find('\'')? + 1);
    }
    if let Some(inside) = text.strip_prefix('\'') {
        let mut chars = inside.chars();
        let length = chars.next()?.len_utf8();
        // Otherwise it is a lifetime.
        return (chars.next() == Some('\'')).then_some(2 + length);
    }
    let inside = text.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '"' if !escaped => return Some(at + 2),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    Some(text.len())
}

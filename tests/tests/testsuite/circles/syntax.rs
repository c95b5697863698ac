//! The parts of a module's source that say what it imports. Reads tokens, not Rust's whole grammar.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
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
    let tokens = tokens(text.parse().unwrap());
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
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

/// Names, `::`, and all other characters one by one, without literals.
fn tokens(stream: TokenStream) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for token in stream {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace | Delimiter::None => ("{", "}"),
                };
                tokens.push(open.into());
                tokens.extend(self::tokens(group.stream()));
                tokens.push(close.into());
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' && tokens.last().is_some_and(|last| last == ":") => {
                tokens.pop();
                tokens.push("::".into());
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => tokens.push(token.to_string()),
            TokenTree::Literal(_) => {}
        }
    }
    tokens
}

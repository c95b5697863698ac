//! Sub-keys: `((a.b.c))` is what is at `/b/c` in the value of `a`.

use crate::codes;
use crate::error::Error;
use boson_document::{Tree, go};

/// One step of the path, by go-patch's rules. A placeholder's alphabet leaves only these of its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'k> {
    Key(&'k str),
    Index(i64),
    AfterLast,
}

/// Finds as `bosh interpolate` does: an integer is an index; where that finds nothing, a key.
///
/// # Errors
/// No such key, or a value of another type on the way; in the words of the second try.
pub fn in_value<'v>(value: &'v Tree, keys: &[&str]) -> Result<&'v Tree, Error> {
    let last = keys.len().saturating_sub(1);
    let tokens: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(index, key)| token(key, index == last))
        .collect();
    let texts: Vec<_> = tokens.iter().map(|token| text(*token)).collect();
    if let Ok(found) = descend(value, &tokens, &texts) {
        return Ok(found);
    }
    let as_keys = tokens.iter().zip(&texts).map(|(token, text)| match token {
        Token::Index(_) => Token::Key(text),
        other => *other,
    });
    descend(value, &as_keys.collect::<Vec<_>>(), &texts)
}

/// Finds as the director does: maps only.
///
/// # Errors
/// A value on the way that is no map, or lacks the key; `name` is the variable's, with sub-keys.
pub fn in_maps<'v>(value: &'v Tree, name: &str) -> Result<&'v Tree, Error> {
    let root = name.split('.').next().unwrap_or(name);
    let fail = |code, message: String| {
        let text = format!("Failed to fetch variable '{root}' from config server: Expected parent {message}");
        Error::new(code, text)
    };
    let (mut found, mut parent) = (value, root.len());
    for key in name.split('.').skip(1) {
        let so_far = &name[..parent];
        let Some(map) = found.as_map() else {
            return Err(fail(codes::WRONG_PARENT, format!("'{so_far}' to be a hash")));
        };
        let member = map.get(key);
        found = member.ok_or_else(|| fail(codes::MISSING_SUB_KEY, format!("'{so_far}' hash to have key '{key}'")))?;
        parent += 1 + key.len();
    }
    Ok(found)
}

fn token(key: &str, is_last: bool) -> Token<'_> {
    match key.parse() {
        _ if is_last && key == "-" => Token::AfterLast,
        Ok(index) => Token::Index(index),
        Err(_) => Token::Key(key),
    }
}

fn text(token: Token<'_>) -> String {
    match token {
        Token::Key(key) => key.to_string(),
        Token::Index(index) => index.to_string(),
        Token::AfterLast => "-".to_string(),
    }
}

fn descend<'v>(value: &'v Tree, tokens: &[Token<'_>], texts: &[String]) -> Result<&'v Tree, Error> {
    let mut found = value;
    for (depth, token) in tokens.iter().enumerate() {
        let path = || format!("/{}", texts[..=depth].join("/"));
        found = match *token {
            Token::Key(key) => member(found, key, path)?,
            Token::Index(index) => item(found, index, path)?,
            Token::AfterLast => {
                let place = path();
                let why = "not supported in find operations";
                let message = format!("Expected not to find after last index token in path '{place}' ({why})");
                return Err(Error::new(codes::WRONG_PARENT, message));
            }
        };
    }
    Ok(found)
}

fn member<'v>(value: &'v Tree, key: &str, path: impl Fn() -> String) -> Result<&'v Tree, Error> {
    let Some(map) = value.as_map() else {
        return Err(mismatch("a map", value, path));
    };
    let missing = || Error::new(codes::MISSING_SUB_KEY, go::missing_key(key, path(), map));
    map.get(key).ok_or_else(missing)
}

fn item(value: &Tree, index: i64, path: impl Fn() -> String) -> Result<&Tree, Error> {
    let Tree::Array(items) = value else {
        return Err(mismatch("an array", value, path));
    };
    let found = go::index(index, items.len()).and_then(|at| items.get(at));
    let missing = || Error::new(codes::MISSING_SUB_KEY, go::missing_index(index, items.len(), path()));
    found.ok_or_else(missing)
}

fn mismatch(wanted: &str, found: &Tree, path: impl Fn() -> String) -> Error {
    Error::new(codes::WRONG_PARENT, go::mismatch(wanted, path(), found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    const VALUE: &str = r#"{"k": {"z": "deep", "1": "one"}, "l": [1, "two", {"three": 3}], "7": {"x": 1}, "e": {},
                            "-": "dash", "": {"": "empty"}, "f": {"\u0000": ".inf"}, "b": {"\u0000false": 1}, "n": null}"#;

    #[test]
    fn finds_by_key_and_by_index_and_by_digits_as_key() {
        let value = json::parse(VALUE).unwrap();
        let cases: [(&[&str], &str); 12] = [
            (&[], VALUE),
            (&["k", "z"], r#""deep""#),
            (&["k", "1"], r#""one""#),
            (&["k", "01"], r#""one""#),
            (&["l", "1"], r#""two""#),
            (&["l", "001"], r#""two""#),
            (&["l", "-1", "three"], "3"),
            (&["l", "-3"], "1"),
            (&["7", "x"], "1"),
            (&["", ""], r#""empty""#),
            (&["n"], "null"),
            (&["e"], "{}"),
        ];
        for (keys, want) in cases {
            assert_eq!(in_value(&value, keys), Ok(&json::parse(want).unwrap()), "{keys:?}");
        }
    }

    #[test]
    fn what_is_not_found_is_reported_in_go_patch_s_words() {
        let value = json::parse(VALUE).unwrap();
        let all = "found map keys: '', '-', '7', 'b', 'e', 'f', 'k', 'l', 'n'";
        let cases: [(&[&str], String); 10] = [
            (&["x"], format!("Expected to find a map key 'x' for path '/x' ({all})")),
            (
                &["k", "q", "r"],
                "Expected to find a map key 'q' for path '/k/q' (found map keys: '1', 'z')".into(),
            ),
            (
                &["e", "x"],
                "Expected to find a map key 'x' for path '/e/x' (found no other map keys)".into(),
            ),
            (
                &["b", "x"],
                "Expected to find a map key 'x' for path '/b/x' (found map keys: '')".into(),
            ),
            (
                &["l", "9"],
                "Expected to find a map at path '/l/9' but found '[]interface {}'".into(),
            ),
            (
                &["l", "x"],
                "Expected to find a map at path '/l/x' but found '[]interface {}'".into(),
            ),
            (
                &["k", "z", "y"],
                "Expected to find a map at path '/k/z/y' but found 'string'".into(),
            ),
            (
                &["n", "y"],
                "Expected to find a map at path '/n/y' but found '<nil>'".into(),
            ),
            (
                &["f", "y"],
                "Expected to find a map at path '/f/y' but found 'float64'".into(),
            ),
            (
                &["l", "-"],
                "Expected not to find after last index token in path '/l/-' (not supported in find operations)".into(),
            ),
        ];
        for (keys, want) in cases {
            assert_eq!(in_value(&value, keys).unwrap_err().message, want, "{keys:?}");
        }
    }

    #[test]
    fn the_director_knows_maps_only() {
        let value = json::parse(VALUE).unwrap();
        assert_eq!(in_maps(&value, "v.k.z"), Ok(&Tree::from("deep")));
        assert_eq!(in_maps(&value, "v.k.1"), Ok(&Tree::from("one")));
        let message = |name| in_maps(&value, name).unwrap_err().message;
        let fetch = "Failed to fetch variable 'v' from config server: Expected parent";
        assert_eq!(message("v.l.1"), format!("{fetch} 'v.l' to be a hash"));
        assert_eq!(message("v.k.q"), format!("{fetch} 'v.k' hash to have key 'q'"));
        assert_eq!(message("v.q.q"), format!("{fetch} 'v' hash to have key 'q'"));
    }
}

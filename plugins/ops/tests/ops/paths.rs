//! The grammar of paths: what each piece is, what is refused, and how a path is printed.

use boson_ops::path::{Modifier, Path, Token};

fn key(key: &str) -> Token {
    Token::Key {
        key: key.into(),
        optional: false,
    }
}

fn maybe(key: &str) -> Token {
    Token::Key {
        key: key.into(),
        optional: true,
    }
}

fn index(index: i64) -> Token {
    Token::Index {
        index,
        modifiers: Vec::new(),
    }
}

fn matching(key: &str, value: &str) -> Token {
    Token::Matching {
        key: key.into(),
        value: value.into(),
        optional: false,
        modifiers: Vec::new(),
    }
}

fn maybe_matching(key: &str, value: &str) -> Token {
    Token::Matching {
        key: key.into(),
        value: value.into(),
        optional: true,
        modifiers: Vec::new(),
    }
}

fn with(token: Token, shifts: &[Modifier]) -> Token {
    let modifiers = shifts.to_vec();
    match token {
        Token::Index { index, .. } => Token::Index { index, modifiers },
        Token::Matching {
            key, value, optional, ..
        } => Token::Matching {
            key,
            value,
            optional,
            modifiers,
        },
        other => other,
    }
}

/// Path, its tokens, and how it is printed where that differs.
fn cases() -> Vec<(&'static str, Vec<Token>, Option<&'static str>)> {
    use Modifier::{After, Before, Next, Prev};
    vec![
        ("", vec![], None),
        ("/", vec![key("")], None),
        ("//", vec![key(""), key("")], None),
        ("/ ", vec![key(" ")], None),
        ("/a/", vec![key("a"), key("")], None),
        ("/a/b", vec![key("a"), key("b")], None),
        ("/key?", vec![maybe("key")], None),
        ("/a?/b/c", vec![maybe("a"), maybe("b"), maybe("c")], None),
        (
            "/a/b?/c?/d",
            vec![key("a"), maybe("b"), maybe("c"), maybe("d")],
            Some("/a/b?/c/d"),
        ),
        ("/key??", vec![maybe("key?")], None),
        ("/?", vec![maybe("")], None),
        ("/0", vec![index(0)], None),
        (
            "/007/+5/-2/-0",
            vec![index(7), index(5), index(-2), index(0)],
            Some("/7/5/-2/0"),
        ),
        ("/0?", vec![maybe("0")], None),
        (
            "/+/1_000/0x1/1.0",
            vec![key("+"), key("1_000"), key("0x1"), key("1.0")],
            None,
        ),
        ("/9223372036854775808", vec![key("9223372036854775808")], None),
        ("/-", vec![Token::AfterLast], None),
        ("/-/a", vec![key("-"), key("a")], None),
        ("/-?", vec![maybe("-")], None),
        ("/a?/-", vec![maybe("a"), Token::AfterLast], None),
        ("/name=val", vec![matching("name", "val")], None),
        ("/name=val?", vec![maybe_matching("name", "val")], None),
        ("/name=val??", vec![maybe_matching("name", "val?")], None),
        ("/a?/n=v", vec![maybe("a"), maybe_matching("n", "v")], None),
        ("/n?=v", vec![matching("n?", "v")], None),
        (
            "/=/==/=v/a=b=c",
            vec![
                matching("", ""),
                matching("", "="),
                matching("", "v"),
                matching("a", "b=c"),
            ],
            None,
        ),
        ("/name=val:before", vec![with(matching("name", "val"), &[Before])], None),
        (
            "/name=v?:after",
            vec![with(maybe_matching("name", "v"), &[After])],
            None,
        ),
        ("/-1:prev:before", vec![with(index(-1), &[Prev, Before])], None),
        ("/1:next:next", vec![with(index(1), &[Next, Next])], None),
        ("/~0~1~7/~01/~71", vec![key("~/:"), key("~1"), key(":1")], None),
        ("/~2/~/a~", vec![key("~2"), key("~"), key("a~")], Some("/~02/~0/a~0")),
        ("/n~1m=a~7b", vec![matching("n/m", "a:b")], None),
        ("/~71:prev", vec![], None),
        ("/é=ü", vec![matching("é", "ü")], None),
    ]
}

#[test]
fn pieces_are_distinguished() {
    for (text, tokens, printed) in cases() {
        if text == "/~71:prev" {
            assert!(
                Path::parse(text).is_err(),
                "the body is the key `:1`, and keys have no modifiers"
            );
            continue;
        }
        let path = Path::parse(text).unwrap_or_else(|failure| panic!("{text}: {}", failure.message));
        assert_eq!(path.tokens(), tokens, "{text}");
        assert_eq!(path.to_string(), printed.unwrap_or(text), "{text}");
    }
}

#[test]
fn what_is_printed_reads_the_same() {
    for (text, tokens, _) in cases() {
        let Ok(path) = Path::parse(text) else { continue };
        assert_eq!(
            Path::parse(&path.to_string()).map(|again| again.tokens() == tokens),
            Ok(true),
            "{text}"
        );
    }
}

#[test]
fn wrong_paths_are_refused_in_the_words_of_bosh() {
    let unknown = |found: &str| {
        format!(
            "Expected to find one of the following modifiers: 'prev', 'next', 'before', or 'after' but found '{found}'"
        )
    };
    let on_key = || "Expected not to find any modifiers with key token".to_string();
    let cases = [
        ("a", "Expected to start with '/'".to_string()),
        (" /a", "Expected to start with '/'".to_string()),
        (
            "/-:prev",
            "Expected not to find any modifiers with after last index token".to_string(),
        ),
        ("/a:before", on_key()),
        ("/a?:before", on_key()),
        ("/:prev", on_key()),
        ("/-:prev/a", on_key()),
        ("/0:bad", unknown("bad")),
        ("/0:", unknown("")),
        ("/0:Prev", unknown("Prev")),
        ("/n=v:after?", unknown("after?")),
        // The text names the first modifier, even though the second is the wrong one.
        ("/0:prev:bad", unknown("prev")),
        ("/a/0:bad/-:prev", unknown("bad")),
    ];
    for (text, message) in cases {
        assert_eq!(
            Path::parse(text).map_err(|failure| failure.message),
            Err(message),
            "{text}"
        );
    }
}

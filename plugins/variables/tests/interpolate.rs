//! Interpolation by the rules of `bosh interpolate`, case by case.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use boson_document::{Diagnostic, Map, Tree, json};
use boson_variables::{Interpolated, Rules, codes, interpolate};

const VALUES: &str = r#"{"x": "ex", "y": 7, "x-y": "dash", "/abs/x": "absolute", "x_1": "under", "ü": "uml", "m": {"k": {"z": "deep"}},
    "i": 42, "big": 18446744073709551615, "zero": -0, "f": 1.5, "huge": 100000000000000000000, "inf": {"\u0000": ".inf"},
    "b": true, "n": null, "l": [1, "two", {"three": 3}], "one": "((two))", "two": 2, "a": "A((b2))", "b2": "B", "": "empty"}"#;

fn values(text: &str) -> Map {
    json::parse(text).unwrap().as_object().unwrap().clone()
}

fn run(document: &str, values_text: &str) -> Result<Interpolated, Vec<Diagnostic>> {
    interpolate(json::parse(document).unwrap(), &values(values_text), Rules::Cli).map(|(done, _)| done)
}

fn text(document: &str) -> String {
    json::to_text(&run(document, VALUES).unwrap().document)
}

fn errors(document: &str) -> Vec<String> {
    let reported = run(document, VALUES).unwrap_err();
    reported
        .iter()
        .map(|d| format!("{}: {}", d.pointer_text(), d.message))
        .collect()
}

#[test]
fn a_whole_string_becomes_the_value_with_its_type() {
    for (placeholder, want) in [
        ("((x))", r#""ex""#),
        ("((!x))", r#""ex""#),
        ("(( x ))", r#""ex""#),
        ("((x ))", r#""ex""#),
        ("((i))", "42"),
        ("((f))", "1.5"),
        ("((b))", "true"),
        ("((n))", "null"),
        ("((inf))", r#"{"\u0000":".inf"}"#),
        ("((l))", r#"[1,"two",{"three":3}]"#),
        ("((l.1))", r#""two""#),
        ("((l.-1.three))", "3"),
        ("((m.k))", r#"{"z":"deep"}"#),
        ("((m/k))", r#""((m/k))""#),
        ("((m.k/z))", r#""deep""#),
        ("((/abs/x))", r#""absolute""#),
        ("((ü))", r#""uml""#),
        ("((one))", r#""((two))""#),
        ("((.x))", r#""((.x))""#),
    ] {
        if placeholder != "((.x))" {
            assert_eq!(
                text(&format!(r#"["{placeholder}"]"#)),
                format!("[{want}]"),
                "{placeholder}"
            );
        }
    }
    assert_eq!(text(r#""((i))""#), "42");
}

#[test]
fn strings_and_integers_become_part_of_a_string() {
    for (string, want) in [
        ("pre-((x))-post", "pre-ex-post"),
        ("((x))((x))((y))", "exex7"),
        ("z((!x))z", "zexz"),
        ("((i))/((big))/((zero))", "42/18446744073709551615/0"),
        ("((nope))-((x))", "((nope))-ex"),
        ("in-((m.k.z))", "in-deep"),
        // Looked up, but not replaced: not the form that BOSH replaces.
        ("y(( x ))y((x))", "y(( x ))yex"),
        // A value is not scanned again.
        ("((a))((b2))", "A((b2))B"),
        ("((one))((two))", "((two))2"),
        ("((x y)) (()) (x) ((x)", "((x y)) (()) (x) ((x)"),
    ] {
        assert_eq!(text(&format!(r#"["{string}"]"#)), format!(r#"["{want}"]"#), "{string}");
    }
}

#[test]
fn keys_are_replaced_too_and_keep_the_type() {
    for (document, want) in [
        (r#"{"((x))":1,"b":2}"#, r#"{"ex":1,"b":2}"#),
        (r#"{"-((x))-":1}"#, r#"{"-ex-":1}"#),
        (
            r#"{"((i))":1,"((b))":2,"((n))":3}"#,
            r#"{"\u000042":1,"\u0000true":2,"\u0000null":3}"#,
        ),
        (r#"{"\u0000false":"((x))"}"#, r#"{"\u0000false":"ex"}"#),
        (r#"{"\u0000\"\\u0000((x))\"":1}"#, r#"{"\u0000\"\\u0000ex\"":1}"#),
        (r#"{"((x))":{"((x))":"((x))"}}"#, r#"{"ex":{"ex":"ex"}}"#),
        (r#"{"n":{"\u0000":".inf"}}"#, r#"{"n":{"\u0000":".inf"}}"#),
    ] {
        assert_eq!(text(document), want, "{document}");
    }
    assert_eq!(
        errors(r#"{"((l))":1}"#),
        ["/((l)): Expected the value of a map key to be a scalar but found '[]interface {}'"]
    );
}

#[test]
fn of_keys_that_become_the_same_the_literal_one_wins_and_a_warning_says_so() {
    for document in [r#"{"ex":1,"((x))":2}"#, r#"{"((x))":2,"ex":1}"#] {
        let reply = interpolate(json::parse(document).unwrap(), &values(VALUES), Rules::Cli);
        let (done, warnings) = reply.unwrap();
        assert_eq!(json::to_text(&done.document), r#"{"ex":1}"#);
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].code, codes::KEY_COLLISION);
        assert_eq!(warnings[0].pointer_text(), "/((x))");
    }
    assert_eq!(text(r#"{"((x))":1,"((!x))":2}"#), r#"{"ex":2}"#);
    assert_eq!(text(r#"{"((!x))":2,"((x))":1}"#), r#"{"ex":2}"#);
}

#[test]
fn what_cannot_be_put_in_is_refused_in_bosh_s_words_without_the_value() {
    let tail = "Supported types for interpolation within a string are integers and strings.";
    for (name, kind, value) in [
        ("f", "float64", "<redacted>"),
        ("huge", "float64", "<redacted>"),
        ("inf", "float64", "<redacted>"),
        ("b", "bool", "<redacted>"),
        ("n", "<nil>", "<nil>"),
        ("l", "[]interface {}", "<redacted>"),
        ("m.k", "map[interface {}]interface {}", "<redacted>"),
    ] {
        let want = format!("/a: Invalid type '{kind}' for value '{value}' and variable '{name}'. {tail}");
        assert_eq!(errors(&format!(r#"{{"a": "x(({name}))"}}"#)), [want]);
        assert_eq!(
            errors(&format!(r#"{{"a": "x(( {name} ))"}}"#)).len(),
            1,
            "with spaces it is looked up all the same"
        );
    }
}

#[test]
fn a_missing_sub_key_is_an_error_and_all_of_them_are_reported() {
    assert_eq!(
        errors(r#"{"a": "((m.nope))", "b": ["-((m.k.q))"], "c": "((x.y))", "d": "((q.r))"}"#),
        [
            "/a: Finding variable 'm.nope': Expected to find a map key 'nope' for path '/nope' (found map keys: 'k')",
            "/b/0: Finding variable 'm.k.q': Expected to find a map key 'q' for path '/k/q' (found map keys: 'z')",
            "/c: Finding variable 'x.y': Expected to find a map at path '/y' but found 'string'",
        ]
    );
}

#[test]
fn what_has_no_value_stays_and_is_reported_once_by_its_root_name() {
    let done = run(r#"{"k": ["((q.a))", "((!q)) ((p))"], "((r))": "((x))"}"#, VALUES).unwrap();
    assert_eq!(
        json::to_text(&done.document),
        r#"{"k":["((q.a))","((!q)) ((p))"],"((r))":"ex"}"#
    );
    let missing: Vec<_> = done
        .missing
        .iter()
        .map(|m| format!("{} {}", m.name, m.pointer))
        .collect();
    assert_eq!(missing, ["p /k/1", "q /k/0", "r /((r))"]);
    assert_eq!(done.used, ["x"]);
}

#[test]
fn definitions_whose_variable_has_a_value_leave_the_document() {
    let document = r#"{"variables": [{"name": "x", "type": "password"}, {"name": "q", "type": "password"}, {"name": "y"},
        {"name": "/abs/x"}], "a": "((x))"}"#;
    let done = run(document, VALUES).unwrap();
    assert_eq!(
        json::to_text(&done.document),
        r#"{"variables":[{"name":"q","type":"password"}],"a":"ex"}"#
    );
    assert_eq!(done.missing[0].name, "q");
    assert_eq!(done.used, ["/abs/x", "x", "y"]);
    assert_eq!(text(r#"{"variables":[{"name":"x"}]}"#), r#"{"variables":[]}"#);
    assert_eq!(text(r#"{"variables":null}"#), r#"{"variables":null}"#);
    assert_eq!(
        text(r#"[{"variables":[{"name":"x"}]}]"#),
        r#"[{"variables":[{"name":"x"}]}]"#
    );
}

#[test]
fn a_definition_that_is_not_there_once_cannot_be_taken_out() {
    for (document, want) in [
        (
            r#"{"variables": [{"name": "x"}, {"name": "x"}]}"#,
            "/variables/1: Expected to find exactly one matching array item for path '/variables/name=x' but found 2",
        ),
        (
            r#"{"variables": [{"name": "/abs/x"}, {"name": "/abs/x"}]}"#,
            "/variables/1: Expected to find exactly one matching array item for path '/variables/name=~1abs~1x' but found 2",
        ),
        (
            r#"{"variables": [{"type": ""}]}"#,
            "/variables: Expected to find exactly one matching array item for path '/variables/name=' but found 0",
        ),
    ] {
        assert_eq!(errors(document), [want]);
    }
}

#[test]
fn a_section_that_bosh_cannot_decode_is_refused() {
    for (section, want) in [
        (
            r#"{"a": 1}"#,
            "/variables: yaml: unmarshal errors: cannot unmarshal !!map into []template.VariableDefinition",
        ),
        (
            r#""((x))""#,
            "/variables: yaml: unmarshal errors: cannot unmarshal !!str into []template.VariableDefinition",
        ),
        (
            r#"[7]"#,
            "/variables/0: yaml: unmarshal errors: cannot unmarshal !!int into template.VariableDefinition",
        ),
        (
            r#"[{"name": []}]"#,
            "/variables/0/name: yaml: unmarshal errors: cannot unmarshal !!seq into string",
        ),
    ] {
        assert_eq!(errors(&format!(r#"{{"variables": {section}}}"#)), [want]);
    }
}

#[test]
fn a_variable_is_not_found_while_its_options_are_not() {
    let document = r#"{"a": "((x))", "b": "((y))", "c": "((q))", "variables": [
        {"name": "x", "type": "certificate", "options": {"ca": "((q))"}}, {"name": "y", "options": ["((x))"]}]}"#;
    let done = run(document, VALUES).unwrap();
    let want =
        r#"{"a":"((x))","b":7,"c":"((q))","variables":[{"name":"x","type":"certificate","options":{"ca":"((q))"}}]}"#;
    assert_eq!(
        json::to_text(&done.document),
        want,
        "y has what it refers to: x is given, though not found"
    );
    assert_eq!(done.missing.len(), 1, "x is not reported itself");
    assert_eq!(
        (done.missing[0].name.as_str(), done.missing[0].pointer.as_str()),
        ("q", "/c")
    );
    let found = run(&document.replace("((q))", "((i))"), VALUES).unwrap();
    assert_eq!(
        json::to_text(&found.document),
        r#"{"a":"ex","b":7,"c":42,"variables":[]}"#
    );
}

#[test]
fn options_that_come_back_to_their_variable_are_an_error() {
    let defined = |kind: &str| {
        format!(
            r#"{{"variables": [{{"name": "x", {kind} "options": ["((y.k))"]}}, {{"name": "y", {kind} "options": {{"a": "((x))"}}}}]}}"#
        )
    };
    let cycle = |name: &str, sub: &str, other: &str, other_sub: &str| {
        format!(
            "Interpolating variable '{name}' definition options: Finding variable '{other}{other_sub}': \
             Interpolating variable '{other}' definition options: Finding variable '{name}{sub}': Detected recursion"
        )
    };
    let sections = "Getting all variables from variable definitions sections";
    let want = [format!("/variables/0: {sections}: {}", cycle("x", "", "y", ".k"))];
    assert_eq!(errors(&defined(r#""type": "password","#)), want);
    assert_eq!(
        errors(&defined(""))[0],
        format!(
            "/variables/0/options/0: Finding variable 'y.k': {}",
            cycle("y", ".k", "x", "")
        )
    );
    let own = r#"{"variables": [{"name": "x", "type": "t", "options": "((x))"}]}"#;
    let want = "Interpolating variable 'x' definition options: Finding variable 'x': Detected recursion";
    assert_eq!(errors(own), [format!("/variables/0: {sections}: {want}")]);
}

#[test]
fn what_is_wrong_in_options_is_reported_with_the_variable() {
    let document = r#"{"variables": [{"name": "x", "type": "t", "options": {"a": "((m.q))"}}]}"#;
    let reported = errors(document);
    let sections = "Getting all variables from variable definitions sections";
    assert_eq!(
        reported[0],
        format!(
            "/variables/0: {sections}: Interpolating variable 'x' definition options: Finding variable 'm.q': \
             Expected to find a map key 'q' for path '/q' (found map keys: 'k')"
        )
    );
    let reported = errors(r#"{"variables": [{"name": "y", "type": "t", "options": "-((f))"}]}"#);
    let want =
        format!("/variables/0: {sections}: Interpolating variable 'y' definition options: Invalid type 'float64'");
    assert!(reported[0].starts_with(&want), "{}", reported[0]);
}

#[test]
fn long_chains_of_options_end_in_an_error_and_not_in_a_crash() {
    let entry = |n: usize| format!(r#"{{"name": "v{n}", "type": "t", "options": "((v{}))"}}"#, n + 1);
    let all: Vec<_> = (0..3000).map(entry).collect();
    let reported = errors(&format!(r#"{{"variables": [{}]}}"#, all.join(",")));
    assert!(
        reported[0].ends_with("Expected at most 64 variables whose options refer to each other"),
        "{}",
        reported[0]
    );
    let backwards: Vec<_> = (0..3000).rev().map(entry).collect();
    assert!(run(&format!(r#"{{"variables": [{}]}}"#, backwards.join(",")), VALUES).is_ok());
}

#[test]
fn a_value_may_not_make_the_document_too_deep() {
    let nested = |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    let deep = format!(r#"{{"v": {}}}"#, nested(100, ""));
    assert!(run(&nested(28, r#""((v))""#), &deep).is_ok());
    let reported = run(&nested(29, r#""((v))""#), &deep).unwrap_err();
    assert_eq!(reported[0].code, codes::TOO_DEEP);
}

#[test]
fn many_definitions_take_linear_time() {
    let entries: Vec<_> = (0..20_000)
        .map(|n| format!(r#"{{"name": "v{n}", "options": {{"ca": "((x))"}}}}"#))
        .collect();
    let document = format!(r#"{{"variables": [{}]}}"#, entries.join(","));
    let all: Tree = (0..20_000)
        .map(|n| (format!("v{n}"), Tree::from("v")))
        .chain([("x".to_string(), "ex".into())])
        .collect();
    #[allow(clippy::disallowed_methods, reason = "this test is about time")]
    let started = std::time::Instant::now();
    let (done, _) = interpolate(json::parse(&document).unwrap(), all.as_object().unwrap(), Rules::Cli).unwrap();
    assert_eq!(done.document, json::parse(r#"{"variables": []}"#).unwrap());
    assert!(started.elapsed().as_secs() < 10);
}

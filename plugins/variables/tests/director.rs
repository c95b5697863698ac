//! Interpolation and validation by the director's rules.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use boson_document::{Diagnostic, Map, json};
use boson_variables::{Interpolated, Rules, codes, interpolate, plan};

const VALUES: &str = r#"{"x": "ex", "i": 7, "huge": 100000000000000000000, "f": 1.5, "n": null, "l": [1], "m": {"k": {"z": "deep"}}, "/d/n": "abs"}"#;

fn run(document: &str) -> Result<Interpolated, Vec<Diagnostic>> {
    let values: Map = json::parse(VALUES).unwrap().as_object().unwrap().clone();
    interpolate(json::parse(document).unwrap(), &values, Rules::Director).map(|(done, _)| done)
}

fn reported(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics
        .iter()
        .map(|d| format!("{}: {}", d.pointer_text(), d.message))
        .collect()
}

#[test]
fn values_take_the_place_of_their_placeholders() {
    for (document, want) in [
        (
            r#"["((x))","((!x))","((m.k))","((n))","((f))"]"#,
            r#"["ex","ex",{"z":"deep"},null,1.5]"#,
        ),
        (
            r#"["a((x))((i))","((m.k.z))-((/d/n))","((huge))!"]"#,
            r#"["aex7","deep-abs","100000000000000000000!"]"#,
        ),
        (r#"{"((x))":"((i))"}"#, r#"{"ex":7}"#),
        (r#"{"a((x))":1,"(( x ))b":2}"#, r#"{"a((x))":1,"(( x ))b":2}"#),
        (r#"["((q))-((x))","(x)"]"#, r#"["((q))-ex","(x)"]"#),
        (
            r#"{"variables":[{"name":"x","type":"t"},{"name":"q","type":"t"}]}"#,
            r#"{"variables":[{"name":"q","type":"t"}]}"#,
        ),
    ] {
        assert_eq!(json::to_text(&run(document).unwrap().document), want, "{document}");
    }
    let done = run(r#"["((q.a))","((x))","((p))"]"#).unwrap();
    assert_eq!(
        done.missing.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(),
        ["p", "q"]
    );
    assert_eq!(done.used, ["x"]);
}

#[test]
fn all_that_is_wrong_is_reported_at_once() {
    let document = r#"{"a": "((x y))", "b": ["((m.q))", "((l.0))", "-((f))-"], "c": "a((n))", "d": "((x.k))"}"#;
    let only = "must only contain alphanumeric, underscores, dashes, or forward slash characters";
    let fetch = "config server: Expected parent";
    let refused = "The value should be a String or an Integer.";
    assert_eq!(
        reported(&run(document).unwrap_err()),
        [
            format!("/a: Variable name 'x y' {only}"),
            format!("/b/0: Failed to fetch variable 'm' from {fetch} 'm' hash to have key 'q'"),
            format!("/b/1: Failed to fetch variable 'l' from {fetch} 'l' to be a hash"),
            format!("/b/2: Failed to substitute variable: Can not replace '((f))' in '<redacted>'. {refused}"),
            format!("/c: Failed to substitute variable: Can not replace '((n))' in '<redacted>'. {refused}"),
            format!("/d: Failed to fetch variable 'x' from {fetch} 'x' to be a hash"),
        ]
    );
}

#[test]
fn the_plan_lists_definitions_and_references() {
    let document = json::parse(
        r#"{"a": "((x.k)) ((q))", "((x))": 1, "k((z))": 2, "variables": [
            {"name": "ca", "type": "certificate", "options": {"is_ca": true}, "update_mode": "converge"},
            {"name": "p", "type": "password", "options": false, "consumes": null, "update": {}, "nope": 1}]}"#,
    );
    let (plan, warnings) = plan(&document.unwrap(), Rules::Director).unwrap();
    let names: Vec<_> = plan
        .references
        .iter()
        .map(|r| format!("{} {}", r.name, r.pointer))
        .collect();
    assert_eq!(names, ["q /a", "x /a"]);
    let [ca, p] = &plan.definitions[..] else { panic!() };
    assert_eq!(
        (ca.name.as_str(), ca.kind.as_deref(), ca.update_mode.as_deref()),
        ("ca", Some("certificate"), Some("converge"))
    );
    assert_eq!(json::to_text(&ca.options), r#"{"is_ca":true}"#);
    assert!(p.options.is_null() && p.consumes.is_null() && p.pointer == "/variables/1");
    assert_eq!(
        reported(&warnings),
        ["/variables/1/nope: Variable 'p' has a key that has no effect: 'nope'"]
    );
}

#[test]
fn the_section_is_checked_in_the_director_s_order_and_words() {
    for (section, want) in [
        (
            "{}",
            "/variables: Property 'variables' value ({}) did not match the required type 'Array'",
        ),
        (
            "null",
            "/variables: Property 'variables' value (nil) did not match the required type 'Array'",
        ),
        (r#"[{}, 7]"#, "/variables/1: All 'variables' elements should be Hashes"),
        (
            r#"[{"type": "t"}]"#,
            "/variables/0: At least one of the variables is missing the 'name' key; 'name' must be specified",
        ),
        (
            r#"[{"name": null}]"#,
            "/variables/0/name: At least one of the variables has an empty 'name'; 'name' must not be empty or nil",
        ),
        (
            r#"[{"name": " "}]"#,
            "/variables/0/name: At least one of the variables has an empty 'name'; 'name' must not be empty or nil",
        ),
        (
            r#"[{"name": 7}]"#,
            "/variables/0/name: At least one of the variables has a 'name' that is no String: '7'",
        ),
        (
            r#"[{"name": "a"}]"#,
            "/variables/0: Type for variable 'a' is missing; 'type' must be specified",
        ),
        (
            r#"[{"name": "a", "type": null}]"#,
            "/variables/0/type: Type for variable 'a' is nil; 'type' must not be nil",
        ),
        (
            r#"[{"name": "a", "type": 7}]"#,
            "/variables/0/type: Type for variable 'a' must be a String, but was '7'",
        ),
        (
            r#"[{"name": "a", "type": ""}]"#,
            "/variables/0/type: Type for variable 'a' is empty; 'type' must not be empty",
        ),
        (
            r#"[{"name": "a", "type": "t", "consumes": []}]"#,
            "/variables/0/consumes: Consumes for variable 'a' must be a Hash or nil",
        ),
        (
            r#"[{"name": "b", "type": "t"}, {"name": "a", "type": "t", "options": 1}, {"name": "a", "type": "t"}]"#,
            "/variables/1: Some of the variables have duplicate names, eg: 'a'",
        ),
        (
            r#"[{"name": "a", "type": "t", "options": []}]"#,
            "/variables/0/options: options of variable with name 'a' is not a Hash",
        ),
        (
            r#"[{"name": "a", "type": "t", "update_mode": 1}]"#,
            "/variables/0/update_mode: Update mode for variable 'a' must be a String, but was '1'",
        ),
    ] {
        let document = json::parse(&format!(r#"{{"variables": {section}}}"#)).unwrap();
        assert_eq!(
            reported(&plan(&document, Rules::Director).unwrap_err()),
            [want],
            "{section}"
        );
    }
}

#[test]
fn names_and_consumers_are_checked_all_together() {
    let document = r#"{"variables": [{"name": "a.b", "type": "t"}, {"name": "c/", "type": "t"},
        {"name": "p", "type": "password", "consumes": {"common_name": {}}},
        {"name": "c", "type": "certificate", "consumes": {"common_name": null, "alternative_name": {"from": "x"}, "q": {}}}], "z": "(( x ))"}"#;
    let only = "must only contain alphanumeric, underscores, dashes, or forward slash characters";
    let acceptable = "Acceptable consumer types are: alternative_name, common_name";
    assert_eq!(
        reported(&plan(&json::parse(document).unwrap(), Rules::Director).unwrap_err()),
        [
            format!("/variables/0/name: Variable name 'a.b' {only}"),
            "/variables/1/name: Variable name 'c/' must not end with a forward slash".to_string(),
            "/variables/2/consumes: Variable 'p' can not define 'consumes' key for type 'password'".to_string(),
            "/variables/3/consumes/common_name: Consumer 'common_name' of variable 'c' must be a Hash".to_string(),
            format!(
                "/variables/3/consumes/q: Consumer name 'q' is not a valid consumer for variable 'c'. {acceptable}"
            ),
            format!("/z: Variable name ' x ' {only}"),
        ]
    );
}

#[test]
fn two_definitions_with_one_name_cannot_be_taken_out() {
    let reported = run(r#"{"variables": [{"name": "x"}, {"name": "x"}]}"#).unwrap_err();
    assert_eq!(reported[0].code, codes::NO_SINGLE_DEFINITION);
}

#[test]
fn the_plan_of_the_command_line_checks_nothing_of_this() {
    let document =
        json::parse(r#"{"variables": [{"name": 7}, {"name": "a", "type": true}, null], "a": "(( q ))", "k((z))": 1}"#);
    let (plan, _) = plan(&document.unwrap(), Rules::Cli).unwrap();
    let names: Vec<_> = plan
        .definitions
        .iter()
        .map(|d| (d.name.as_str(), d.kind.as_deref()))
        .collect();
    assert_eq!(names, [("7", None), ("a", Some("true")), ("", None)]);
    assert_eq!(
        plan.references.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(),
        ["q", "z"]
    );
}

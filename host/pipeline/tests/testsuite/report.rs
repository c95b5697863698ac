//! The text that users read in case of an error.

use boson_pipeline::report::{Sources, entries, summary, text};
use boson_pipeline::stage::Origin;
use boson_pipeline::{Diagnostic, Severity, yaml};

const MANIFEST: &str = "\
name: nats
instance_groups:
- name: api
  azs: [z1]
  jobs:
  - {name: uaa, release: uaa}
";

const OPS: &str = "\
- type: replace
  path: /instance_groups/name=api/jobs/-
  value:
    name: nats
    properties: {port: none}
";

fn sources() -> Sources {
    let mut sources = Sources::default();
    sources.add_document(yaml::read("manifest.yml", MANIFEST).unwrap(), false);
    sources.add_document(yaml::read("ops/nats.yml", OPS).unwrap(), false);
    sources.add_document(
        yaml::read("vars.yml", "password: hunter2\nlist: [{name: hunter3}]\n").unwrap(),
        true,
    );
    sources.add_text(
        "uaa/config.erb",
        "<% if_p('a') do |a| %>\n  port: <%= a.fetch(:x) %>\n<% end %>\n",
    );
    sources
}

fn result(mut sources: Sources) -> Sources {
    let mut tree = yaml::read("", MANIFEST).unwrap().tree;
    let job = yaml::read("", OPS).unwrap().tree.as_array().unwrap()[0]
        .get("value")
        .unwrap()
        .clone();
    let group = &mut tree.get_mut("instance_groups").unwrap().as_array_mut().unwrap()[0];
    group.get_mut("jobs").unwrap().as_array_mut().unwrap().push(job);
    let origin = Origin {
        pointer: "/instance_groups/0/jobs/1".into(),
        document: "ops/nats.yml".into(),
        source: "/0/value".into(),
    };
    sources.add_result("manifest.yml", "manifest.yml", tree, &[origin]);
    sources
}

fn shown(diagnostic: Diagnostic, sources: &Sources) -> String {
    text(&[diagnostic], sources, false)
}

#[test]
fn a_pointer_becomes_a_line_with_its_value_underlined() {
    let diagnostic = Diagnostic::reported_error("ops-invalid-path", "Expected to find a map key 'x'")
        .in_document("ops/nats.yml")
        .at("/0/path")
        .help("add `?` to the key to create it");
    let expected = "\
error[ops-invalid-path]: Expected to find a map key 'x'
 --> ops/nats.yml:2:9
  |
2 |   path: /instance_groups/name=api/jobs/-
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  = path: /0/path
  = help: add `?` to the key to create it

";
    assert_eq!(shown(diagnostic, &sources()), expected);
}

#[test]
fn a_value_that_is_not_a_scalar_is_shown_by_its_key() {
    let diagnostic = Diagnostic::reported_warning("links-unused", "this has no effect")
        .in_document("manifest.yml")
        .at("/instance_groups/0/azs");
    let expected = "\
warning[links-unused]: this has no effect
 --> manifest.yml:4:3
  |
4 |   azs: [z1]
  |   ^^^
  = path: /instance_groups/name=api/azs

";
    assert_eq!(shown(diagnostic, &sources()), expected);
}

#[test]
fn a_value_from_an_ops_file_is_shown_there() {
    let diagnostic = Diagnostic::reported_error("bpm-bad-port", "this is no port")
        .in_document("manifest.yml")
        .at("/instance_groups/0/jobs/1/properties/port");
    let expected = "\
error[bpm-bad-port]: this is no port
 --> ops/nats.yml:5:24
  |
5 |     properties: {port: none}
  |                        ^^^^
  = path: /instance_groups/name=api/jobs/name=nats/properties/port

";
    assert_eq!(shown(diagnostic.clone(), &result(sources())), expected);
    // Without a document it is about the main one.
    let mut diagnostic = diagnostic;
    diagnostic.place.document = None;
    let mut sources = result(sources());
    sources.set_main("manifest.yml");
    assert_eq!(shown(diagnostic, &sources), expected);
    // Values that no ops file changed keep their place.
    let diagnostic = Diagnostic::reported_error("x", "y")
        .in_document("manifest.yml")
        .at("/instance_groups/0/jobs/0/name");
    assert!(shown(diagnostic, &sources).contains("--> manifest.yml:6:12\n"));
}

#[test]
fn templates_are_shown_by_line() {
    let diagnostic = Diagnostic::reported_error("render-error", "undefined method 'fetch'")
        .in_document("uaa/config.erb")
        .on_line(2, None);
    let expected = "\
error[render-error]: undefined method 'fetch'
 --> uaa/config.erb:2:3
  |
2 |   port: <%= a.fetch(:x) %>
  |   ^^^^^^^^^^^^^^^^^^^^^^^^

";
    assert_eq!(shown(diagnostic, &sources()), expected);
}

#[test]
fn the_yaml_reader_points_at_what_it_found() {
    let broken = "a:\n  b: c: d\n";
    let diagnostic = yaml::read("broken.yml", broken).unwrap_err();
    let mut sources = sources();
    sources.add_text("broken.yml", broken);
    let expected = "\
error[yaml-syntax]: mapping values are not allowed in this context
 --> broken.yml:2:7
  |
2 |   b: c: d
  |       ^
  = help: a plain value that holds `: ` needs quotes; or the indentation is off

";
    assert_eq!(shown(diagnostic, &sources), expected);
}

#[test]
fn secret_documents_show_places_and_no_text() {
    for pointer in ["/password", "/list/0/name", "/list/0"] {
        let shown = shown(
            Diagnostic::reported_error("x", "y").in_document("vars.yml").at(pointer),
            &sources(),
        );
        assert!(!shown.contains("hunter") && shown.contains("--> vars.yml:"), "{shown}");
    }
    let by_line = Diagnostic::reported_error("x", "y")
        .in_document("vars.yml")
        .on_line(1, Some(1));
    assert_eq!(shown(by_line, &sources()), "error[x]: y\n --> vars.yml:1:1\n\n");
    assert!(!format!("{:?}", sources()).contains("hunter"));
    assert!(sources().documents().all(|text| !text.contains("hunter")));
}

#[test]
fn unknown_documents_and_missing_places_are_no_problem() {
    let plain = Diagnostic::reported_error("x", "y");
    assert_eq!(shown(plain.clone(), &sources()), "error[x]: y\n\n");
    let unknown = plain.clone().in_document("missing.yml").at("/a/b~1c");
    assert_eq!(
        shown(unknown, &sources()),
        "error[x]: y\n --> missing.yml\n  = path: /a/b~1c\n\n"
    );
    let beyond = plain.clone().in_document("manifest.yml").at("/instance_groups/7/name");
    assert!(shown(beyond, &sources()).contains("--> manifest.yml:2:1\n"));
    let line = plain.in_document("uaa/config.erb").on_line(4_000_000_000, Some(7));
    assert!(shown(line, &sources()).contains("--> uaa/config.erb:4000000000:7\n"));
}

#[test]
fn several_lines_stay_together_and_escapes_do_not_reach_the_terminal() {
    let diagnostic = Diagnostic::reported_error("ops-\u{1b}[0m", "first\n{\n  \"Type\": \"x\"\n}\u{1b}]0;title\u{7}")
        .in_document("a\u{1b}[2J\nb.yml")
        .help("one\ntwo\r\u{202e}");
    let expected = "\
error[ops-␛[0m]: first
  {
    \"Type\": \"x\"
  }␛]0;title␇
 --> a␛[2J␊b.yml
  = help: one
          two␍\\u{202e}

";
    assert_eq!(shown(diagnostic, &sources()), expected);
    let mut sources = sources();
    sources.add_text("evil.erb", "a\u{1b}[31mb\u{202e}\n");
    assert!(
        !shown(
            Diagnostic::reported_error("x", "y")
                .in_document("evil.erb")
                .on_line(1, None),
            &sources
        )
        .contains('\u{1b}')
    );
}

#[test]
fn colors_are_codes_around_the_same_text() {
    let diagnostic = Diagnostic::reported_warning("x", "y")
        .in_document("manifest.yml")
        .at("/name")
        .help("z");
    let colored = text(std::slice::from_ref(&diagnostic), &sources(), true);
    assert!(colored.starts_with("\u{1b}[1;33mwarning[x]\u{1b}[0m\u{1b}[1m: y\u{1b}[0m\n"));
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(plain + rest, shown(diagnostic, &sources()));
}

#[test]
fn documents_without_text_show_their_value() {
    let mut sources = Sources::default();
    sources.add_tree("input", &yaml::read("", "{b: [1, {name: x, c: d}]}").unwrap().tree);
    let expected = "\
error[x]: y
 --> input
  |
  | - c: d
  |      ^
  = path: /b/name=x/c

";
    assert_eq!(
        shown(
            Diagnostic::reported_error("x", "y").in_document("input").at("/b/1/c"),
            &sources
        ),
        expected
    );
}

#[test]
fn programs_get_the_same_places() {
    let diagnostics = [
        Diagnostic::reported_error("a", "b")
            .in_document("manifest.yml")
            .at("/instance_groups/0/azs/0")
            .help("c"),
        Diagnostic {
            severity: Severity::Info,
            ..Diagnostic::reported_error("d", "e")
        },
    ];
    let json = serde_json::to_string(&entries(&diagnostics, &sources())).unwrap();
    assert_eq!(
        json,
        "[{\"severity\":\"error\",\"code\":\"a\",\"message\":\"b\",\"file\":\"manifest.yml\",\"line\":4,\"column\":9,\
         \"path\":\"/instance_groups/name=api/azs/0\",\"help\":\"c\"},\
         {\"severity\":\"info\",\"code\":\"d\",\"message\":\"e\"}]"
    );
}

#[test]
fn a_summary_has_one_entry_for_each_kind_and_errors_in_full() {
    let ignored = |group: usize| {
        let pointer = format!("/instance_groups/{group}/azs");
        Diagnostic::reported_warning("bpm-ignored-key", "Key 'azs' has no effect")
            .in_document("manifest.yml")
            .at(pointer)
    };
    let property = |name: &str, line| {
        Diagnostic::reported_warning("links-unused-property", format!("Property '{name}' is not declared"))
            .in_document("manifest.yml")
            .on_line(line, None)
            .help("check its spelling")
    };
    let wrong = Diagnostic::reported_error("links-wrong-type", "wrong")
        .in_document("manifest.yml")
        .at("/name");
    let all = [
        ignored(0),
        property("a", 1),
        ignored(0),
        property("b", 2),
        property("c", 3),
        property("d", 4),
        property("e", 5),
        wrong,
    ];
    let expected = "\
error[links-wrong-type]: wrong
 --> manifest.yml:1:7
  |
1 | name: nats
  |       ^^^^
  = path: /name

warning[bpm-ignored-key]: Key 'azs' has no effect (2 times)
 --> manifest.yml:4:3

warning[links-unused-property]: Property 'a' is not declared (5 times)
  = for: 'a', 'b', 'c' and 2 more
 --> manifest.yml:1:1, 2:1, 3:1 and 2 more
  = help: check its spelling

";
    assert_eq!(summary(&all, &sources(), false), expected);
}

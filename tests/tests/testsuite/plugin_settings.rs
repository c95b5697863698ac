//! Settings of plugins on the command line: which plugin gets which, which are refused, and which only cause a warning.

use boson_tests::component::component;
use boson_tests::patcher::{BASE, Data, Patcher};
use boson_tests::{Ran, golden, host};
use std::fs;
use std::path::Path;

/// A deployment that can be converted.
fn deployment() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    scratch
}

fn convert(directory: &Path, more: &[&str]) -> Ran {
    let mut arguments = vec!["convert", "manifest.yml", "--release", "release"];
    arguments.extend(more);
    host(directory, arguments).unwrap()
}

#[track_caller]
fn fails_with(ran: &Ran, code: &str, words: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("error[{code}]")), "{}", ran.stderr);
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
}

fn label(name: &str, value: &str) -> String {
    format!(r#"[{{"op": "add", "path": "/metadata/labels/{name}", "value": "{value}"}}]"#)
}

/// A plugin of `variables` whose plan fails with its settings as the message: they come after the request (28 bytes)
/// and the context's deployment (28 bytes).
fn reporter() -> Vec<u8> {
    let schema = r#"{"properties": {"rules": {"type": "object"}}}"#;
    let mut data = Data::default();
    let description = ["reporter", "1.0.0", schema].map(|text| data.text(text));
    let code = data.text("reporter-settings-received");
    let described = data.words(&[description.as_flattened(), &[0; 4]].concat());
    let diagnostic = data.words(&[&[0][..], &code, &[0; 23]].concat());
    let failure = data.words(&[1, diagnostic, 1]);
    let bytes = data.escaped();
    let interface = "boson:variables/interpolation@1.0.0";
    let text = format!(
        r#"(module
            (memory (export "memory") 64)
            (global $free (mut i32) (i32.const 65536))
            (data (i32.const {BASE}) "{bytes}")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.get $free)
                (global.set $free (i32.and (i32.add (i32.add (global.get $free) (local.get 3)) (i32.const 7)) (i32.const -8))))
            (func (export "boson:types/about@1.0.0#describe") (result i32) i32.const {described})
            (func (export "{interface}#interpolate") (param i32) (result i32) unreachable)
            (func (export "{interface}#plan") (param $call i32) (result i32)
                (i32.store (i32.const {}) (i32.load offset=56 (local.get $call)))
                (i32.store (i32.const {}) (i32.load offset=60 (local.get $call)))
                (i32.const {failure})))"#,
        diagnostic + 12,
        diagnostic + 16,
    );
    component(&text, "variables").unwrap()
}

#[test]
fn a_plugin_gets_its_settings_unchanged() {
    let scratch = deployment();
    fs::write(scratch.path().join("reporter.wasm"), reporter()).unwrap();
    let plugin = ["--plugin", "variables=reporter.wasm"];
    for (settings, received) in [
        (None, "{}"),
        // Any name is free: the host adds nothing to settings.
        (
            Some("{rules: {strict: true}, only: [x]}\n"),
            r#"{"rules":{"strict":true},"only":["x"]}"#,
        ),
    ] {
        fs::write(scratch.path().join("rules.yml"), settings.unwrap_or_default()).unwrap();
        let given = ["--plugin-settings", "variables=rules.yml"];
        let given = if settings.is_some() { &given[..] } else { &[] };
        let ran = convert(scratch.path(), &[&plugin, given].concat());
        fails_with(
            &ran,
            "reporter-settings-received",
            &format!("[reporter-settings-received]: {received}"),
        );
    }
}

#[test]
fn a_plugin_that_requires_settings_fails_without_them() {
    let scratch = deployment();
    let patcher = Patcher {
        schema: r#"{"required": ["team"]}"#,
        ..Patcher::default()
    };
    patcher.write(scratch.path(), "labels.wasm").unwrap();
    let ran = convert(scratch.path(), &["--plugin", "resources=labels.wasm"]);
    fails_with(&ran, "plugin-settings", "\"team\" is a required property");
    assert!(
        ran.stderr.contains("--plugin-settings resources:labels=FILE"),
        "{}",
        ran.stderr
    );
    let ran = host(scratch.path(), ["plugin", "list", "--plugin", "resources=labels.wasm"]).unwrap();
    assert!(
        ran.code == 0 && ran.stdout.contains("patcher"),
        "only to list it: {}",
        ran.stderr
    );
    let ran = host(scratch.path(), ["plugin", "pack", "resources", "labels.wasm"]).unwrap();
    fails_with(&ran, "plugin-settings", "\"team\" is a required property");
    assert!(
        ran.stderr.contains("set its settings with --settings FILE"),
        "{}",
        ran.stderr
    );
}

#[test]
fn every_keyword_of_a_schema_counts_and_errors_name_file_and_line() {
    let scratch = deployment();
    let patcher = Patcher {
        schema: r##"{"$defs": {"team": {"type": "string", "pattern": "^[a-z]+$"}}, "patternProperties": {"^team-": {"$ref": "#/$defs/team"}},
            "properties": {"ports": {"uniqueItems": true, "contains": {"const": 80}}}, "if": {"required": ["ports"]}, "then": {"required": ["team-a"]}}"##,
        ..Patcher::default()
    };
    patcher.write(scratch.path(), "labels.wasm").unwrap();
    let given = [
        "--plugin",
        "resources=labels.wasm",
        "--plugin-settings",
        "resources=settings.yml",
    ];
    for (settings, place, words) in [
        (
            "ports: [80]\nteam-a: a1\n",
            "settings.yml:2:1",
            "it does not match \"^[a-z]+$\"",
        ),
        (
            "team-a: a\nports: [80, 80]\n",
            "settings.yml:2:1",
            "it has non-unique elements",
        ),
        (
            "team-a: a\nports: [8080]\n",
            "settings.yml:2:1",
            "it has no item that `contains` of the schema requires",
        ),
        ("ports: [80]\n", "settings.yml:1:1", "\"team-a\" is a required property"),
    ] {
        fs::write(scratch.path().join("settings.yml"), settings).unwrap();
        let ran = convert(scratch.path(), &given);
        fails_with(&ran, "plugin-settings", words);
        assert!(
            ran.stderr.contains(&format!("--> {place}\n")),
            "{place}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_schema_whose_check_does_not_end_is_refused() {
    let scratch = deployment();
    // Each reference doubles the work.
    let doubling = (0..60).map(|nth| {
        let next = format!(r##"{{"$ref": "#/$defs/d{}"}}"##, nth + 1);
        format!(r#""d{nth}": {{"allOf": [{next}, {next}]}}"#)
    });
    let defs: Vec<String> = doubling.collect();
    let schema = format!(
        r##"{{"$defs": {{{}, "d60": {{"minimum": 1}}}}, "properties": {{"a": {{"$ref": "#/$defs/d0"}}}}}}"##,
        defs.join(", ")
    );
    let patcher = Patcher {
        schema: schema.leak(),
        ..Patcher::default()
    };
    patcher.write(scratch.path(), "labels.wasm").unwrap();
    fs::write(scratch.path().join("settings.yml"), "a: 1\n").unwrap();
    let given = ["--settings", "settings.yml", "labels.wasm"];
    let ran = host(
        scratch.path(),
        [&["run-plugin", "--input", "/dev/null"][..], &given].concat(),
    )
    .unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let ran = host(scratch.path(), [&["plugin", "pack", "resources"][..], &given].concat()).unwrap();
    fails_with(
        &ran,
        "plugin-settings",
        "their check against its schema needs too much processor time",
    );
}

#[test]
fn settings_are_checked_before_single_calls_and_tests() {
    let scratch = deployment();
    let patcher = Patcher {
        schema: r#"{"type": "array", "minItems": 1}"#,
        ..Patcher::default()
    };
    patcher.write(scratch.path(), "labels.wasm").unwrap();
    fs::write(scratch.path().join("none.json"), "[]").unwrap();
    fs::write(scratch.path().join("a.json"), label("team", "a")).unwrap();
    let case = scratch.path().join("cases/one");
    fs::create_dir_all(&case).unwrap();
    let call = |context: &str| {
        let view = r#"{"target": "quarks", "manifest": {}, "groups": [], "objects": []}"#;
        let call =
            format!(r#"{{"stage": "resources", "function": "transform", "view": {view}, "context": {context}}}"#);
        fs::write(case.join("call.json"), call).unwrap();
    };
    let replay = ["run-plugin", "labels.wasm", "--replay", "cases/one"];
    let test = ["plugin", "test", "labels.wasm", "cases", "--update"];
    for command in [&replay[..], &test] {
        let run = |more: &[&str]| host(scratch.path(), [command, more].concat()).unwrap();
        call("{}");
        let without = run(&[]);
        assert_eq!(without.code, 1, "{}", without.stdout);
        for words in [
            "error[plugin-settings]",
            "it is not of type \"array\"",
            "set its settings with --settings FILE",
        ] {
            assert!(without.stderr.contains(words), "{words}: {}", without.stderr);
        }
        let wrong = run(&["--settings", "none.json"]);
        assert!(wrong.stderr.contains("--> none.json:1:1\n"), "{}", wrong.stderr);
        let right = run(&["--settings", "a.json"]);
        assert_eq!(right.code, 0, "{}{}", right.stdout, right.stderr);
        // A call may bring its own.
        call(r#"{"settings": []}"#);
        let wrong = run(&[]);
        let said = format!("{}{}", wrong.stdout, wrong.stderr);
        assert!(wrong.code == 1 && said.contains("it has less than 1 item"), "{said}");
        assert!(
            said.contains("call.json") && said.contains("/context/settings"),
            "{said}"
        );
    }
    let described = host(scratch.path(), ["run-plugin", "labels.wasm", "--call", "describe"]).unwrap();
    assert_eq!(described.code, 0, "{}", described.stderr);
}

#[test]
fn two_versions_are_compared_with_their_own_settings() {
    let scratch = deployment();
    let patcher = Patcher {
        schema: r#"{"type": "array", "minItems": 1}"#,
        ..Patcher::default()
    };
    patcher.write(scratch.path(), "one.wasm").unwrap();
    fs::copy(scratch.path().join("one.wasm"), scratch.path().join("two.wasm")).unwrap();
    fs::write(scratch.path().join("a.json"), label("team", "a")).unwrap();
    fs::write(scratch.path().join("b.json"), label("team", "b")).unwrap();
    let diff = |versions: [&str; 2], settings: &[&str]| {
        let start = [
            "plugin",
            "diff",
            versions[0],
            versions[1],
            "manifest.yml",
            "--release",
            "release",
        ];
        let settings = settings.iter().flat_map(|one| ["--plugin-settings", one]);
        host(scratch.path(), start.into_iter().chain(settings)).unwrap()
    };
    for given in [
        &["resources=a.json"][..],
        &["resources:one=a.json"],
        &["resources:patcher=a.json"],
    ] {
        let ran = diff(["none", "one.wasm"], given);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            ran.stdout.contains("/metadata/labels/team: \"a\" added"),
            "{}",
            ran.stdout
        );
    }
    let ran = diff(
        ["one.wasm", "two.wasm"],
        &["resources:one=a.json", "resources:two=b.json"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("/metadata/labels/team: \"a\" -> \"b\""),
        "{}",
        ran.stdout
    );
    let ran = diff(["none", "one.wasm"], &["resources:other=a.json"]);
    fails_with(
        &ran,
        "plugin-settings-unused",
        "there is no plugin 'other' of the stage 'resources'",
    );
}

#[test]
fn a_plugin_that_cannot_describe_itself_fails_before_the_conversion() {
    let scratch = deployment();
    for (patcher, code, words) in [
        (
            Patcher {
                traps: true,
                ..Patcher::default()
            },
            "plugin-trapped",
            "labels.wasm",
        ),
        (
            Patcher {
                schema: "{",
                ..Patcher::default()
            },
            "plugin-malformed-reply",
            "has a settings schema that is not JSON",
        ),
        (
            Patcher {
                schema: r#"{"properties": {"team": {"type": "strnig"}}}"#,
                ..Patcher::default()
            },
            "plugin-malformed-reply",
            "has a settings schema that is not a JSON Schema: at '/properties/team/type'",
        ),
    ] {
        patcher.write(scratch.path(), "labels.wasm").unwrap();
        let ran = convert(scratch.path(), &["--plugin", "resources=labels.wasm"]);
        fails_with(&ran, code, words);
        assert!(!ran.stderr.contains("[render-"), "{}", ran.stderr);
    }
}

#[test]
fn each_of_several_plugins_has_its_own_settings_and_a_label_that_two_set_is_reported() {
    let scratch = deployment();
    Patcher::default().write(scratch.path(), "labels.wasm").unwrap();
    fs::copy(scratch.path().join("labels.wasm"), scratch.path().join("more.wasm")).unwrap();
    fs::write(scratch.path().join("a.json"), label("first", "a")).unwrap();
    fs::write(scratch.path().join("b.json"), label("second", "b")).unwrap();
    let given = |settings: [&str; 2]| {
        let plugins = [
            "--plugin",
            "resources=labels.wasm",
            "--plugin",
            "resources:other=more.wasm",
        ];
        let settings = ["--plugin-settings", settings[0], "--plugin-settings", settings[1]];
        convert(scratch.path(), &[plugins, settings].concat())
    };
    for settings in [
        ["resources:labels=a.json", "resources:other=b.json"],
        ["resources=a.json", "resources:other=b.json"],
    ] {
        let ran = given(settings);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            ran.stdout.contains("\n    first: a\n") && ran.stdout.contains("\n    second: b\n"),
            "{}",
            ran.stdout
        );
        assert!(!ran.stderr.contains("bundle-field-conflict"), "{}", ran.stderr);
    }
    fs::write(scratch.path().join("b.json"), label("first", "b")).unwrap();
    let ran = given(["resources:labels=a.json", "resources:other=b.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("\n    first: b\n"), "{}", ran.stdout);
    let line = ran
        .stderr
        .lines()
        .find(|line| line.contains("bundle-field-conflict"))
        .unwrap();
    for words in ["Service 'demo-web'", "'/metadata/labels/first'", "to different values"] {
        assert!(line.contains(words), "{line}");
    }
    fails_with(
        &given(["resources:labels=a.json", "resources:typo=b.json"]),
        "plugin-settings-unused",
        "there is no plugin 'typo' of the stage 'resources' for these settings",
    );
    fails_with(
        &given(["resources:other=a.json", "resources:other=b.json"]),
        "plugin-settings-twice",
        "plugin 'other' has settings in two files: 'a.json' and 'b.json'",
    );
    let ran = convert(scratch.path(), &["--plugin-settings", "resources=a.json"]);
    fails_with(
        &ran,
        "plugin-settings-unused",
        "there is no plugin of the stage 'resources'",
    );
}

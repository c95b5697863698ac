//! `host blame` with plugins of the stage `resources`. What the built-in rule makes is in `golden/blame`.

use boson_tests::patcher::Patcher;
use boson_tests::wrapper::wrapper;
use boson_tests::{golden, host};
use std::fs;

#[test]
fn the_last_plugin_that_wrote_a_field_is_named_with_its_digest() {
    let scratch = tempfile::tempdir().unwrap();
    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    Patcher::default().write(scratch.path(), "labels.wasm").unwrap();
    fs::copy(scratch.path().join("labels.wasm"), scratch.path().join("more.wasm")).unwrap();
    let label = |value: &str| format!(r#"[{{"op": "add", "path": "/metadata/labels/team", "value": "{value}"}}]"#);
    fs::write(scratch.path().join("a.json"), label("a")).unwrap();
    fs::write(scratch.path().join("b.json"), label("b")).unwrap();
    let blame = |field: &str, plugins: &[&str]| {
        let mut arguments = vec![
            "blame",
            "service/demo-web",
            field,
            "manifest.yml",
            "--release",
            "release",
        ];
        arguments.extend(plugins);
        let ran = host(scratch.path(), arguments).unwrap();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let one = [
        "--plugin",
        "resources=labels.wasm",
        "--plugin-settings",
        "resources:labels=a.json",
    ];
    let two = [
        "--plugin",
        "resources:other=more.wasm",
        "--plugin-settings",
        "resources:other=b.json",
    ];
    let by_one = blame("metadata.labels.team", &one);
    assert!(
        by_one.starts_with("Service/demo-web /metadata/labels/team\n= \"a\"\n"),
        "{by_one}"
    );
    assert!(by_one.contains("\nplugin 'labels.wasm', sha256:"), "{by_one}");
    assert!(
        by_one.contains(": added /metadata/labels/team to Service/demo-web\n"),
        "{by_one}"
    );
    let both = [one, two].concat();
    let by_two = blame("metadata.labels.team", &both);
    assert!(by_two.contains("\nplugin 'other', sha256:"), "{by_two}");
    assert!(
        by_two.contains(": changed /metadata/labels/team of Service/demo-web\n"),
        "{by_two}"
    );
    assert!(
        by_two.contains("  not known: which part of the view it used"),
        "{by_two}"
    );
    for (shown, file) in [(&by_one, "a.json"), (&by_two, "b.json")] {
        let setting = format!("  from /0/value of the settings of the plugin\n     --> {file}:1:");
        assert!(shown.contains(&setting), "{setting}: {shown}");
    }
    let of_host = blame("metadata.labels['app.kubernetes.io/managed-by']", &both);
    assert!(
        of_host.contains("\nhost: added /metadata/labels/app.kubernetes.io~1managed-by"),
        "{of_host}"
    );
    let of_rule = blame("spec.clusterIP", &both);
    assert!(
        of_rule.contains("\nbpm: made Service/demo-web from the instance group 'web'"),
        "{of_rule}"
    );
}

#[test]
fn what_the_rule_wrote_is_not_of_the_wrappers_around_it() {
    let scratch = tempfile::tempdir().unwrap();
    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    let functions = ["convert-deployment", "convert-group"];
    let around = wrapper("bpm", "conversion", &functions, 1, "").unwrap();
    fs::write(scratch.path().join("around.wasm"), around).unwrap();
    let arguments = [
        "blame",
        "service/demo-web",
        "spec.clusterIP",
        "manifest.yml",
        "--release",
        "release",
    ];
    let bare = host(scratch.path(), arguments).unwrap();
    let twice = ["--plugin", "bpm=around.wasm", "--plugin", "bpm:outer=around.wasm"];
    let wrapped = host(scratch.path(), arguments.iter().chain(&twice)).unwrap();
    assert!(bare.stdout.contains("\nbpm: made Service/demo-web"), "{}", bare.stdout);
    assert_eq!(wrapped.stdout, bare.stdout, "{}", wrapped.stderr);
}

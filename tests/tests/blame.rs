//! `host blame` with plugins of the stage `resources`. What the built-in rule makes is in `golden/blame`.

#![allow(clippy::unwrap_used, reason = "in the functions that tests share, too")]

use boson_tests::patcher::Patcher;
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
        by_two.contains("not known: which part of its input or settings it used"),
        "{by_two}"
    );
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

//! Places in diagnostics of plugins of the stage `checks`: in the manifest, and in objects.

use boson_tests::component::component;
use boson_tests::patcher::{BASE, Data};
use boson_tests::{golden, host};
use std::fs;

/// A plugin that reports a warning at the number of instances of the first group, and one at the replicas of the
/// workload that is made of it.
fn check() -> Vec<u8> {
    let mut data = Data::default();
    let [code, message, document, place] = [
        "theirs-single",
        "one instance",
        "manifest",
        "/instance_groups/0/instances",
    ]
    .map(|text| data.text(text));
    let object = ["quarks.cloudfoundry.org/v1alpha1", "QuarksStatefulSet", "demo-web"].map(|text| data.text(text));
    let field = data.text("/spec/template/spec/replicas");
    let [name, version, schema] = ["theirs", "1.0.0", "{}"].map(|text| data.text(text));
    let description = data.words(&[[name, version, schema].as_flattened(), &[0; 4]].concat());
    // Severity, code, message; place; nothing related, no help and so on.
    let one = |place: Vec<usize>| [&[1][..], &code, &message, &place, &[0; 10]].concat();
    let in_manifest = [&[1, 0][..], &document, &[1], &place, &[0; 4]].concat();
    let in_object = [&[1, 2][..], object.as_flattened(), &[1], &field].concat();
    let diagnostics = data.words(&[one(in_manifest), one(in_object)].concat());
    let reply = data.words(&[diagnostics, 2]);
    let module = format!(
        r#"(module
            (memory (export "memory") 64)
            (data (i32.const {BASE}) "{}")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
            (func (export "boson:types/about@1.0.0#describe") (result i32) (i32.const {description}))
            (func (export "boson:checks/policy@1.0.0#check") (param i32) (result i32) (i32.const {reply})))"#,
        data.escaped()
    );
    component(&module, "checks").unwrap()
}

#[test]
fn a_check_points_at_the_manifest_and_at_the_object_that_the_user_gets() {
    let scratch = tempfile::tempdir().unwrap();
    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    fs::write(scratch.path().join("check.wasm"), check()).unwrap();
    let ops = "- {type: replace, path: /instance_groups/0/instances?, value: 1}\n";
    fs::write(scratch.path().join("ops.yml"), ops).unwrap();
    let convert = |more: &[&str]| {
        let plugin = [
            "convert",
            "manifest.yml",
            "--release",
            "release",
            "--warnings",
            "all",
            "--plugin",
            "checks=check.wasm",
        ];
        let ran = host(scratch.path(), plugin.iter().chain(more)).unwrap();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stderr
    };
    let plain = convert(&[]);
    for part in ["manifest.yml:8:14\n", "StatefulSet/demo-web-v1", "/spec/replicas"] {
        assert!(plain.contains(part), "{part}: {plain}");
    }
    assert!(
        !plain.contains("Quarks") && !plain.contains("/spec/template"),
        "{plain}"
    );
    let of_operator = convert(&["--target", "quarks", "-o", "ops.yml"]);
    for part in [
        "ops.yml:1:",
        "QuarksStatefulSet/demo-web",
        "/spec/template/spec/replicas",
    ] {
        assert!(of_operator.contains(part), "{part}: {of_operator}");
    }
}

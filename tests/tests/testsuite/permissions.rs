//! What plugins may do on the command line: options of `host convert`, as an administrator gives them to the operator.
//! The rules are tested beside them, in `host/pipeline/tests/testsuite/permissions.rs`.

use boson_tests::patcher::Patcher;
use boson_tests::{Ran, golden, host};
use std::fs;

/// Converts with a plugin that sets the label `team`.
fn convert(more: &[&str]) -> Ran {
    let scratch = tempfile::tempdir().unwrap();
    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    Patcher::default().write(scratch.path(), "labels.wasm").unwrap();
    let patch = r#"[{"op": "add", "path": "/metadata/labels/team", "value": "a"}]"#;
    fs::write(scratch.path().join("a.json"), patch).unwrap();
    let mut arguments = vec!["convert", "manifest.yml", "--release", "release"];
    arguments.extend([
        "--plugin",
        "resources:mine=labels.wasm",
        "--plugin-settings",
        "resources=a.json",
    ]);
    arguments.extend(more);
    host(scratch.path(), arguments).unwrap()
}

#[test]
fn a_label_may_be_set_if_it_is_allowed_to_the_plugin_by_one_of_its_names() {
    for more in [
        &[][..],
        &["--allow-label", "team"],
        &["--allow-label", "example.com/*,mine:te*"],
        // Its own name.
        &["--allow-label", "patcher:team"],
        &["--allow-label", "boson-system/mine:team"],
        &["--allow-annotation", "other"],
    ] {
        let ran = convert(more);
        assert_eq!(ran.code, 0, "{more:?}: {}", ran.stderr);
    }
    for more in [
        &["--allow-label", "example.com/*"][..],
        &["--allow-label", "other:team"],
    ] {
        let ran = convert(more);
        assert_eq!(ran.code, 1, "{more:?}");
        for part in [
            "error[bundle-key-not-allowed]: Service 'demo-web': it sets the label 'team' in metadata.labels (made by plugin \
             'mine', sha256:",
            "help: an administrator can allow it with --allow-label mine:team",
        ] {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_permission_that_cannot_be_given_is_refused_before_anything_is_read() {
    for (permission, words) in [
        (
            ["--allow-kind", "rbac.authorization.k8s.io/v1/RoleBinding"],
            "only custom resources can be added",
        ),
        (
            ["--allow-kind", "mine:quarks.cloudfoundry.org/v1alpha1/BOSHDeployment"],
            "a plugin could create other deployments",
        ),
        (["--allow-kind", "v1/ServiceAccount"], "expected GROUP/VERSION/Kind"),
        (["--allow-privilege", "mine:hostNetworks"], "unknown privilege"),
        (["--allow-label", "a/b/c:team"], "expected PLUGIN or NAMESPACE/PLUGIN"),
    ] {
        let ran = convert(&permission);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{permission:?}");
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let kinds = "example.com/v1/Widget,example.org/v1/Widget";
    let ran = convert(&["--allow-kind", kinds]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("error[kinds-conflict]"), "{}", ran.stderr);
}

//! Wrappers: plugins that call the rule of their stage.

use boson_tests::component::{component, core_module};
use boson_tests::wrapper::{COMMON, wrapper};
use boson_tests::{Ran, golden, host, host_with_input};
use std::fs;
use std::path::Path;

fn ops(calls: usize, extra: &str) -> Vec<u8> {
    wrapper("ops", "operations", &["apply", "find"], calls, extra).unwrap()
}

/// A core module of the stage `ops` whose `find` returns its document; it writes to its standard output first.
fn core(write: &str) -> Vec<u8> {
    let module = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32))) {COMMON}
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) {write}
                (i32.store (i32.const 4100) (i32.load (local.get 0)))
                (i32.store (i32.const 4104) (i32.load offset=4 (local.get 0)))
                (i32.const 4096)))"#
    );
    core_module(&module, "ops", "ops", &[]).unwrap()
}

#[test]
fn a_core_module_becomes_a_component_wherever_a_plugin_is_expected() {
    let write = "(drop (call $write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 8192)))";
    let folder = folder(&[("core.wasm", core(write))]);
    let call = r#"{"request": {"document": {"a": 12345678901234567890}, "document-name": "m", "path": ""}}"#;
    let arguments = ["run-plugin", "core.wasm", "--call", "find"];
    let ran = host_with_input(folder.path(), arguments, call.as_bytes()).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains(r#""a": 12345678901234567890"#), "{}", ran.stdout);
    let ran = host(folder.path(), ["plugin", "inspect", "core.wasm"]).unwrap();
    for line in [
        "name     theirs 1.0.0",
        "stage    ops: replaces the rule",
        "imports  boson:types/types@1.0.0",
        "settings: none",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {} {}", ran.stdout, ran.stderr);
    }
    let ran = host(folder.path(), ["plugin", "pack", "ops", "core.wasm", "--uncompressed"]).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("replaces: ops") && ran.stdout.contains("plugin.wasm: AGFzbQ0A"),
        "a component"
    );
    let pack = ["plugin", "pack", "ops", "core.wasm", "--image", "team/ops:1"];
    let ran = host(folder.path(), pack).unwrap();
    let wanted = "error[plugin-document]: plugin.yaml: 'image' must begin with the host of its registry";
    assert!(ran.code == 1 && ran.stderr.contains(wanted), "{}", ran.stderr);
}

/// A rule of the stage `ops` with this body.
fn rule(body: &str) -> Vec<u8> {
    let module = format!(
        r#"(module {COMMON}
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) {body})
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) unreachable))"#
    );
    component(&module, "ops").unwrap()
}

/// Files of a manifest with one ops file, and these components.
fn folder(components: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
    write("manifest.yml", b"name: demo\nbig: 12345678901234567890\n");
    write("ops.yml", b"- {type: replace, path: /ratio?, value: 1.5}\n");
    components.iter().for_each(|(name, bytes)| write(name, bytes));
    folder
}

/// Applies the ops file with these plugins of the stage `ops`, in this order.
fn apply(folder: &Path, plugins: &[&str]) -> Ran {
    let mut arguments = vec![
        "interpolate".to_string(),
        "manifest.yml".into(),
        "-o".into(),
        "ops.yml".into(),
    ];
    arguments.extend(plugins.iter().map(|file| format!("--plugin=ops={file}")));
    host(folder, arguments).unwrap()
}

#[test]
fn a_wrapper_returns_what_the_rule_below_replies() {
    let folder = folder(&[("one.wasm", ops(1, "")), ("twice.wasm", ops(2, ""))]);
    let wanted = "big: 12345678901234567890\nname: demo\nratio: 1.5\n";
    for plugins in [
        &[][..],
        &["one.wasm"],
        &["twice.wasm"],
        &["one.wasm", "twice.wasm", "one.wasm"],
    ] {
        let ran = apply(folder.path(), plugins);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, wanted),
            "{plugins:?}: {}",
            ran.stderr
        );
    }
    let ran = apply(folder.path(), &["one.wasm"; 4]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("is one wrapper too many: a rule may have 3"),
        "{}",
        ran.stderr
    );
}

#[test]
fn errors_of_the_rule_below_are_those_of_the_call() {
    let folder = folder(&[("one.wasm", ops(1, ""))]);
    fs::write(folder.path().join("ops.yml"), "- {type: remove, path: /missing}\n").unwrap();
    let [plain, wrapped] = [&[][..], &["one.wasm"]].map(|plugins| apply(folder.path(), plugins));
    assert_eq!((plain.code, wrapped.code), (1, 1));
    let head = |text: &str| text.lines().take(4).map(str::to_string).collect::<Vec<_>>();
    let (plain, wrapped) = (head(&plain.stderr), head(&wrapped.stderr));
    assert!(plain[0].starts_with("error[ops-missing-key]"), "{plain:?}");
    assert!(
        wrapped[0].starts_with(&plain[0]) && wrapped[0].contains("(reported by plugin 'one.wasm'"),
        "{wrapped:?}"
    );
    assert_eq!(plain[1..], wrapped[1..], "the same place");
}

#[test]
fn a_rule_that_fails_below_a_wrapper_is_named() {
    let folder = folder(&[
        ("one.wasm", ops(1, "")),
        ("trap.wasm", rule("unreachable")),
        ("loop.wasm", rule("(loop (br 0)) unreachable")),
        ("many.wasm", ops(17, "")),
    ]);
    for (plugins, code, words) in [
        (
            ["trap.wasm", "one.wasm"],
            "plugin-trapped",
            "plugin 'trap.wasm' stopped with a trap",
        ),
        // A wrapper may be given first.
        (
            ["one.wasm", "loop.wasm"],
            "plugin-out-of-fuel",
            "plugin 'loop.wasm' used up its",
        ),
        (
            ["one.wasm", "many.wasm"],
            "plugin-out-of-fuel",
            "was called more than 16 times by the plugin that wraps it",
        ),
    ] {
        let ran = apply(folder.path(), &plugins);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("error[{code}]")), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
}

#[test]
fn a_wrapper_and_its_rule_have_one_memory_limit() {
    // 300 MiB each.
    let grow = "(drop (memory.grow (i32.const 4800)))";
    let folder = folder(&[
        ("large.wasm", ops(1, grow)),
        ("rule.wasm", rule(&format!("{grow} unreachable"))),
    ]);
    let ran = apply(folder.path(), &["large.wasm"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = apply(folder.path(), &["rule.wasm", "large.wasm"]);
    assert!(
        ran.stderr.contains("error[plugin-over-memory]: plugin 'rule.wasm'"),
        "{}",
        ran.stderr
    );
}

#[test]
fn every_stage_with_a_rule_can_be_wrapped_and_the_rule_keeps_its_settings() {
    let scratch = tempfile::tempdir().unwrap();
    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    fs::write(scratch.path().join("uids.yml"), "uids: {demo: 1234}\n").unwrap();
    let convert = |plugin: Option<&str>| {
        let mut arguments = vec!["convert", "manifest.yml", "--release", "release"];
        arguments.extend(["--plugin-settings", "bpm:bpm=uids.yml", "--vars-store", "vars.yml"]);
        let plugin = plugin.map(|stage| format!("--plugin={stage}:mine={stage}.wasm"));
        arguments.extend(plugin.as_deref());
        host(scratch.path(), arguments).unwrap()
    };
    let plain = convert(None);
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    for (stage, interface, functions) in [
        ("ops", "operations", &["apply", "find"][..]),
        ("variables", "interpolation", &["plan", "interpolate"]),
        ("links", "resolution", &["resolve", "addresses"]),
        ("render", "templates", &["render"]),
        ("bpm", "conversion", &["convert-deployment", "convert-group"]),
    ] {
        let component = wrapper(stage, interface, functions, 1, "").unwrap();
        fs::write(scratch.path().join(format!("{stage}.wasm")), component).unwrap();
        let wrapped = convert(Some(stage));
        assert_eq!(
            (wrapped.code, &wrapped.stdout),
            (0, &plain.stdout),
            "{stage}: {}",
            wrapped.stderr
        );
    }
}

#[test]
fn a_wrapper_can_be_for_some_instance_groups_only() {
    let scratch = tempfile::tempdir().unwrap();
    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    let idle =
        "- {type: replace, path: /instance_groups/-, value: {name: idle, instances: 1, stemcell: default, jobs: []}}";
    fs::write(scratch.path().join("idle.yml"), idle).unwrap();
    for (stage, interface, functions) in [
        ("render", "templates", &["render"][..]),
        ("bpm", "conversion", &["convert-deployment", "convert-group"]),
    ] {
        let traps = wrapper(stage, interface, functions, 1, "unreachable").unwrap();
        fs::write(scratch.path().join(format!("{stage}.wasm")), traps).unwrap();
        let convert = |groups: Option<&str>| {
            let mut arguments = vec!["convert", "manifest.yml", "-o", "idle.yml", "--release", "release"];
            let plugin = format!("--plugin={stage}:mine={stage}.wasm");
            arguments.extend([plugin.as_str(), "--vars-store", "vars.yml"]);
            let groups = groups.map(|groups| format!("--plugin-instance-groups={stage}:mine={groups}"));
            arguments.extend(groups.as_deref());
            host(scratch.path(), arguments).unwrap()
        };
        let unknown = convert(Some("web,wbe"));
        assert!(
            unknown.code == 1 && unknown.stderr.contains("the manifest has no instance group 'wbe'"),
            "{}",
            unknown.stderr
        );
        let converted = "[bpm-no-ports]: Instance group 'web' has no ports";
        for groups in [None, Some("web")] {
            let failed = convert(groups);
            assert!(
                failed.code != 0 && failed.stderr.contains("error[plugin-trapped]"),
                "{}",
                failed.stderr
            );
            assert!(!failed.stderr.contains(converted), "{}", failed.stderr);
        }
        // It is not called for 'web', which the rules convert. `bpm` converts groups without jobs, too.
        let other = convert(Some("idle"));
        assert!(other.stderr.contains(converted), "{}", other.stderr);
        assert_eq!(other.code, i32::from(stage == "bpm"), "{}", other.stderr);
    }
}

#[test]
fn a_restriction_to_groups_that_has_no_effect_is_an_error() {
    let folder = folder(&[("one.wasm", ops(1, ""))]);
    let run = |option: &str| host(folder.path(), ["convert", "manifest.yml", option]).unwrap();
    let ran = run("--plugin-instance-groups=bpm:mine=web");
    let wanted = "error[plugin-groups-unused]: --plugin-instance-groups: there is no wrapper 'mine' of the stage 'bpm'";
    assert!(ran.code == 1 && ran.stderr.contains(wanted), "{}", ran.stderr);
    let ran = run("--plugin-instance-groups=links=web");
    let wanted = "a plugin of the stage 'links' serves all instance groups";
    assert!(ran.code == 2 && ran.stderr.contains(wanted), "{}", ran.stderr);
    let pack = ["plugin", "pack", "ops", "one.wasm", "--instance-group", "web"];
    let ran = host(folder.path(), pack).unwrap();
    let wanted = "error[plugin-option]: --instance-group is for wrappers of the stages 'render' and 'bpm'";
    assert!(ran.code == 1 && ran.stderr.contains(wanted), "{}", ran.stderr);
}

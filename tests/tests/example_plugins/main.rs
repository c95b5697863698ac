//! The plugins of docs/examples/plugins, and those that `host plugin new` creates, are built as their pages say, and do
//! what they say.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that is left out says so")]

mod default_builds;
mod released;

use boson_tests::{copy, golden, host, host_with_input, root};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Held while plugins in Rust are made: those of the same name are compiled to the same file of [`target`].
static RUST: Mutex<()> = Mutex::new(());

/// Where plugins in Rust are compiled, for all runs.
fn target() -> PathBuf {
    let binary = boson_tests::binary().unwrap();
    binary.ancestors().nth(2).unwrap().join("examples")
}

/// Whether this compiler has the standard library for WebAssembly. Debian's builds it, with other options. A test that
/// needs it is left out otherwise.
fn has_target() -> bool {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(output.stdout).unwrap();
    let found = Path::new(sysroot.trim())
        .join("lib/rustlib/wasm32-unknown-unknown")
        .is_dir();
    if !found {
        eprintln!("left out: this compiler has no standard library for wasm32-unknown-unknown");
    }
    found
}

/// Whether a compiler is installed. A test that needs a missing one is left out.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--help").output().is_ok();
    if !found {
        eprintln!("left out: there is no {program}");
    }
    found
}

/// Runs a program that has to succeed.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let (out, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{command:?}: {out}{error}");
}

/// Builds an example in Rust with the versions of this workspace, without network. Its dependencies are compiled once
/// for all runs.
fn build(example: &str, scratch: &Path) -> PathBuf {
    let folder = scratch.join("docs/examples/plugins").join(example);
    copy(&root().join("docs/examples/plugins").join(example), &folder).unwrap();
    copy(&root().join("wit"), &scratch.join("wit")).unwrap();
    copy(&root().join("sdk"), &scratch.join("sdk")).unwrap();
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let target = target();
    run(Command::new(env!("CARGO"))
        .args(["build", "--release", "--offline", "--target", "wasm32-unknown-unknown"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target));
    let module = format!("{}.wasm", example.replace('-', "_"));
    target.join("wasm32-unknown-unknown/release").join(module)
}

/// Codes and pointers of the diagnostics of a reply.
fn found(reply: &str) -> Vec<(String, String)> {
    let reply: Value = serde_json::from_str(reply).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let place = |one: &Value| text(&one["place"]["object"]["pointer"]);
    let all = reply.as_array().unwrap().iter();
    all.map(|one| (text(&one["code"]), place(one))).collect()
}

#[test]
fn the_check_in_rust_finds_what_its_page_lists() {
    if !has_target() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let module = build("security-policy", scratch.path());
    let container = json!({"name": "p", "securityContext": {"privileged": true, "runAsUser": 0}});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "e"}, "spec": {"type": "NodePort"},
    });
    let view = json!({"target": "kubernetes", "manifest": {}, "groups": [], "objects": [set, service]});
    let call = json!({"view": view}).to_string();
    let arguments = ["run-plugin", module.to_str().unwrap()];
    let ran = host_with_input(scratch.path(), arguments, call.as_bytes()).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let pod = "/spec/template/spec/containers/0";
    let wanted = [
        (
            "security-policy-privileged",
            format!("{pod}/securityContext/privileged"),
        ),
        ("security-policy-root", pod.to_string()),
        ("security-policy-exposed", "/spec/type".to_string()),
    ];
    let wanted = wanted.map(|(code, pointer)| (code.to_string(), pointer));
    assert_eq!(found(&ran.stdout), wanted, "{}", ran.stdout);

    golden::case("convert/small").write_inputs(scratch.path()).unwrap();
    let plugin = format!("checks={}", module.display());
    let arguments = [
        "convert",
        "manifest.yml",
        "--release",
        "release",
        "--enforce-checks",
        "--plugin",
        &plugin,
    ];
    let ran = host(scratch.path(), arguments).unwrap();
    assert_eq!(ran.code, 0, "a deployment without violations: {}", ran.stderr);
}

#[test]
fn the_crate_for_plugins_in_rust_passes_its_tests() {
    let scratch = tempfile::tempdir().unwrap();
    copy(&root().join("wit"), &scratch.path().join("wit")).unwrap();
    let folder = scratch.path().join("sdk/rust");
    copy(&root().join("sdk/rust"), &folder).unwrap();
    provide(&folder, "rust");
    let target = target();
    for feature in ["resources", "bpm"] {
        run(Command::new(env!("CARGO"))
            .args(["test", "--offline", "--features", feature])
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target));
    }
}

/// Arguments of `host convert` for the example deployment.
fn nats() -> Vec<String> {
    let nats = root().join("docs/examples/nats");
    let path = |name: &str| nats.join(name).to_str().unwrap().to_string();
    let mut arguments = vec![path("manifest.yml"), "-o".into(), path("ops/scale.yml")];
    arguments.extend(["-v", "system_domain=example.com"].map(String::from));
    for release in ["messaging", "smoke"] {
        arguments.extend(["--release".into(), path(&format!("releases/{release}"))]);
    }
    arguments
}

#[test]
fn the_javascript_example_passes_its_case_and_opens_only_what_links_need() {
    if !has("componentize-qjs") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("example");
    copy(&root().join("docs/examples/plugins/network-policies"), &folder).unwrap();
    let ran = host(&folder, ["plugin", "wit", "resources", "--out", "wit"]).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let package: Value = serde_json::from_str(&fs::read_to_string(folder.join("package.json")).unwrap()).unwrap();
    let build = package["scripts"]["build"].as_str().unwrap();
    run(Command::new("sh").args(["-c", build]).current_dir(&folder));
    let ran = host(&folder, ["plugin", "test", "network-policies.wasm", "cases"]).unwrap();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);

    let deployment = nats();
    let diff = ["plugin", "diff", "none", "network-policies.wasm"].map(String::from);
    let ran = host(&folder, diff.iter().chain(&deployment)).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in [
        "+ NetworkPolicy/nats-broker",
        "objects: 3 added, 0 removed, 0 changed",
        "    objects of the kind NetworkPolicy",
    ] {
        assert!(ran.stdout.lines().any(|found| found == line), "{line}: {}", ran.stdout);
    }
    fs::write(folder.join("settings.yml"), "open: [gateway, brokr]\n").unwrap();
    let plugin = [
        "convert",
        "--plugin",
        "resources=network-policies.wasm",
        "--plugin-settings",
        "resources=settings.yml",
    ]
    .map(String::from);
    let ran = host(&folder, plugin.iter().chain(&deployment)).unwrap();
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .contains("error[network-policies-no-group]: there is no instance group 'brokr'"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("settings.yml:1:17"), "{}", ran.stderr);
}

#[test]
fn the_python_example_passes_its_cases_and_needs_the_administrators_permission() {
    if !has("componentize-py") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("example");
    copy(&root().join("docs/examples/plugins/push-secrets"), &folder).unwrap();
    let ran = host(&folder, ["plugin", "wit", "resources", "--out", "wit"]).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let page = fs::read_to_string(folder.join("README.md")).unwrap();
    let build = page.lines().find_map(|line| line.strip_prefix("$ .venv/bin/")).unwrap();
    run(Command::new("sh").args(["-c", build]).current_dir(&folder));
    let ran = host(&folder, ["plugin", "test", "push-secrets.wasm", "cases"]).unwrap();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);

    let convert = |settings: &str, more: &[&str]| {
        fs::write(folder.join("settings.yml"), settings).unwrap();
        let plugin = [
            "convert",
            "--plugin",
            "resources=push-secrets.wasm",
            "--plugin-settings",
            "resources=settings.yml",
        ];
        let arguments = plugin.iter().chain(more).map(ToString::to_string).chain(nats());
        host(&folder, arguments).unwrap()
    };
    let refused = convert("store: vault\n", &[]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    for part in [
        "error[bundle-kind-not-allowed]: PushSecret '",
        "(made by plugin 'push-secrets.wasm', sha256:",
        "help: an administrator can allow it with --allow-kind \
         push-secrets:external-secrets.io/v1alpha1/PushSecret",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    let permission = "push-secrets:external-secrets.io/v1alpha1/PushSecret";
    assert!(page.contains(permission), "the page allows it, too");
    let allowed = convert("store: vault\n", &["--allow-kind", permission]);
    assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    assert!(allowed.stdout.contains("kind: PushSecret"), "{}", allowed.stdout);
    let wrong = convert("store: vault\nonly: [brokr]\n", &["--allow-kind", permission]);
    assert!(
        wrong.stderr.contains("error[push-secrets-no-variable]") && wrong.stderr.contains("settings.yml:2:8"),
        "{}",
        wrong.stderr
    );
}

/// Creates a plugin.
fn create(scratch: &Path, stage: &str, language: &str) -> PathBuf {
    let name = format!("my-{stage}");
    let ran = host(scratch, ["plugin", "new", &name, "--stage", stage, "--lang", language]).unwrap();
    assert_eq!(ran.code, 0, "{stage} {language}: {}", ran.stderr);
    scratch.join(name)
}

/// Creates a plugin of each of these stages, and runs `make test` in it with what is installed here. Those that are no
/// wrappers also pass the tests for plugins in general.
fn make_and_test(language: &str, stages: &[&str], variables: &[String]) {
    let scratch = tempfile::tempdir().unwrap();
    for stage in stages {
        let folder = create(scratch.path(), stage, language);
        provide(&folder, language);
        let _alone = (language == "rust").then(|| RUST.lock());
        run(&mut make(&folder, "test", variables));
        if ["resources", "checks"].contains(stage) {
            let plugin = format!("my-{stage}.wasm");
            let ran = host(&folder, ["plugin", "test", &plugin, "--conformance", "--fuzz", "200"]).unwrap();
            assert_eq!(ran.code, 0, "{stage} {language}: {}", ran.stdout);
        }
    }
}

fn make(folder: &Path, target: &str, variables: &[String]) -> Command {
    let mut make = Command::new("make");
    let host = boson_tests::binary().unwrap();
    make.arg(target).arg(format!("HOST={}", host.display())).args(variables);
    make.current_dir(folder).env("CARGO_NET_OFFLINE", "true");
    make
}

/// A change of a source: what is replaced, and what is added to the end.
struct Change<'a> {
    file: &'a str,
    from: &'a str,
    to: &'a str,
    end: &'a str,
}

/// Builds a new plugin with a changed source; its folder.
fn changed(scratch: &Path, language: &str, stage: &str, change: &Change<'_>) -> PathBuf {
    let folder = create(scratch, stage, language);
    provide(&folder, language);
    let file = folder.join(change.file);
    let source = fs::read_to_string(&file).unwrap();
    assert!(source.contains(change.from), "{source}");
    fs::write(&file, source.replacen(change.from, change.to, 1) + change.end).unwrap();
    let compiler = match language {
        "js" => "componentize-qjs",
        _ => "componentize-py",
    };
    run(&mut make(&folder, "all", &[format!("COMPONENTIZE={compiler}")]));
    folder
}

/// A plugin that prints and raises an exception in its function `broken`: `run-plugin` shows both, a conversion the
/// exception.
fn exceptions_are_reported(language: &str, stage: &str, change: &Change<'_>, exception: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let folder = changed(scratch.path(), language, stage, change);
    let source = fs::read_to_string(folder.join(change.file)).unwrap();
    // The change ends with the line that raises it.
    let line = source.lines().count();
    let function = if stage == "checks" { "check" } else { "transform" };
    let file = change.file;
    let exception = format!("raised an exception: {exception}; at broken ({file}:{line}) < {function} ({file}:");
    let plugin = format!("my-{stage}.wasm");
    let ran = host(&folder, ["run-plugin", &plugin, "--replay", "cases/example"]).unwrap();
    assert!(
        ran.stderr.starts_with("objects: 2\nerror[plugin-exception]"),
        "{}",
        ran.stderr
    );
    let inspected = host(&folder, ["plugin", "inspect", &plugin]).unwrap();
    assert!(!inspected.stdout.contains("wasi"), "{}", inspected.stdout);
    let plugin = format!("{stage}={plugin}");
    let arguments = ["convert", "--plugin", &plugin].map(String::from);
    let converted = host(&folder, arguments.iter().chain(&nats())).unwrap();
    assert_eq!(converted.code, 1, "{}", converted.stderr);
    for shown in [&ran.stderr, &converted.stderr] {
        assert!(shown.contains(&exception), "{exception}: {shown}");
    }
    assert!(!converted.stderr.contains("objects: "), "{}", converted.stderr);
}

#[test]
fn exceptions_in_javascript_are_reported_with_their_text_and_place() {
    if !has("componentize-qjs") {
        return;
    }
    let exception = "TypeError: cannot read property 'name' of undefined";
    for (stage, head) in [
        ("resources", "  transform(view, context) {\n"),
        ("checks", "  check(view) {\n"),
    ] {
        let change = Change {
            file: "plugin.js",
            from: head,
            to: &format!("{head}    console.log(\"objects:\", 2);\n    broken(view.objects);\n"),
            end: "\nconst broken = (objects) => objects.nothing.name;\n",
        };
        exceptions_are_reported("js", stage, &change, exception);
    }
}

#[test]
fn exceptions_in_python_are_reported_with_their_text_and_place() {
    if !has("componentize-py") {
        return;
    }
    let change = Change {
        file: "plugin.py",
        from: "-> List[Diagnostic]:\n",
        to: "-> List[Diagnostic]:\n        print(\"objects:\", 2)\n        broken({})\n",
        end: "\n\ndef broken(groups):\n    return groups[\"nothing\"]\n",
    };
    exceptions_are_reported("python", "checks", &change, "KeyError: 'nothing'");
}

/// The component that `make` builds of a new plugin in this folder.
fn made(folder: &Path, stage: &str, language: &str, variables: &[(&str, &Path)]) -> Vec<u8> {
    fs::create_dir_all(folder).unwrap();
    let plugin = create(folder, stage, language);
    provide(&plugin, language);
    let mut make = Command::new("make");
    make.arg(format!("HOST={}", boson_tests::binary().unwrap().display()));
    make.current_dir(&plugin).env("CARGO_NET_OFFLINE", "true");
    for (name, value) in variables {
        make.env(name, value);
    }
    let _alone = (language == "rust").then(|| RUST.lock());
    run(&mut make);
    fs::read(plugin.join(format!("my-{stage}.wasm"))).unwrap()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn a_new_plugin_in_rust_has_the_same_bytes_in_every_directory() {
    if !has_target() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo"));
    // Kept for the next run, which then compiles only what has changed.
    let one = target();
    let elsewhere = one.join("elsewhere/deeper");
    fs::create_dir_all(&elsewhere).unwrap();
    let (other, moved) = (elsewhere.join("target"), elsewhere.join("moved-home"));
    let _ = fs::remove_file(&moved);
    std::os::unix::fs::symlink(&home, &moved).unwrap();
    let first = made(
        &scratch.path().join("a"),
        "checks",
        "rust",
        &[("CARGO_TARGET_DIR", &one)],
    );
    let variables = [("CARGO_TARGET_DIR", other.as_path()), ("CARGO_HOME", &moved)];
    let second = made(&scratch.path().join("b/deeper"), "checks", "rust", &variables);
    assert!(
        first == second,
        "{} and {} bytes, or other ones",
        first.len(),
        second.len()
    );
    for place in [scratch.path(), &home] {
        assert!(
            !contains(&first, place.to_str().unwrap()),
            "it names {}",
            place.display()
        );
    }
}

#[test]
fn a_new_plugin_in_go_has_the_same_bytes_in_every_directory() {
    if !has("wit-bindgen") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let places = ["a", "b/deeper"].map(|place| scratch.path().join(place));
    let [first, second] = places.map(|place| made(&place, "checks", "go", &[]));
    assert!(
        first == second,
        "{} and {} bytes, or other ones",
        first.len(),
        second.len()
    );
}

const STAGES: [&str; 7] = ["ops", "variables", "links", "render", "bpm", "resources", "checks"];

#[test]
fn new_plugins_in_rust_pass_their_tests() {
    if has_target() {
        make_and_test("rust", &STAGES, &[format!("CARGO_TARGET_DIR={}", target().display())]);
    }
}

#[test]
fn new_plugins_in_javascript_pass_their_tests() {
    if has("componentize-qjs") {
        make_and_test("js", &STAGES, &["COMPONENTIZE=componentize-qjs".to_string()]);
    }
}

#[test]
fn new_plugins_in_python_pass_their_tests() {
    if has("componentize-py") {
        make_and_test(
            "python",
            &["checks", "bpm"],
            &["COMPONENTIZE=componentize-py".to_string()],
        );
    }
}

#[test]
fn new_plugins_in_go_pass_their_tests() {
    if has("wit-bindgen") {
        make_and_test("go", &STAGES, &[]);
    }
}

/// What a build of a new plugin downloads otherwise.
fn provide(folder: &Path, language: &str) {
    match language {
        "rust" => drop(fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap()),
        "js" => fs::create_dir(folder.join("node_modules")).unwrap(),
        "python" => fs::create_dir_all(folder.join(".venv/bin")).unwrap(),
        _ => {}
    }
}

/// Runs the commands of the guide that need no cluster.
fn follow_the_guide(language: &str, compiler: &str) {
    let scratch = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("docs"), scratch.path().join("docs")).unwrap();
    let page = fs::read_to_string(root().join("docs/first-plugin.md")).unwrap();
    let binary = boson_tests::binary().unwrap();
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let target = target();
    let commands = page.lines().filter_map(|line| line.strip_prefix("$ "));
    let mut ran = 0;
    for command in commands.filter(|command| !command.starts_with("kubectl ")) {
        let command = command.split(" | kubectl ").next().unwrap();
        let command = command.replace("--lang js", &format!("--lang {language}"));
        run(Command::new("sh")
            .args(["-c", &command])
            .current_dir(scratch.path())
            .env("PATH", &path)
            .env("COMPONENTIZE", compiler)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", &target));
        if ran == 0 {
            provide(&scratch.path().join("my-labels"), language);
        }
        ran += 1;
    }
    assert_eq!(ran, 10, "the guide has other commands: check that each is run");
}

#[test]
fn the_guide_works_in_javascript() {
    if has("componentize-qjs") {
        follow_the_guide("js", "componentize-qjs");
    }
}

#[test]
fn the_guide_works_in_rust() {
    if has_target() {
        follow_the_guide("rust", "");
    }
}

#[test]
fn the_guide_works_in_python() {
    if has("componentize-py") {
        follow_the_guide("python", "componentize-py");
    }
}

#[test]
fn the_guide_works_in_go() {
    if has("wit-bindgen") {
        follow_the_guide("go", "");
    }
}

#[test]
fn a_directory_that_exists_is_not_changed() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("mine")).unwrap();
    let ran = host(
        scratch.path(),
        ["plugin", "new", "mine", "--stage", "checks", "--lang", "js"],
    )
    .unwrap();
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("error[plugin-exists]: 'mine' already exists"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_dir(scratch.path().join("mine")).unwrap().count(), 0);
    let ran = host(
        scratch.path(),
        ["plugin", "new", "../Mine", "--stage", "checks", "--lang", "js"],
    )
    .unwrap();
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

/// Before anything is compiled: in these languages, `host` makes the component.
#[test]
fn make_says_at_once_that_there_is_no_host() {
    for language in ["rust", "go"] {
        let scratch = tempfile::tempdir().unwrap();
        let folder = create(scratch.path(), "checks", language);
        for target in ["all", "test"] {
            let mut make = Command::new("make");
            let made = make
                .args(["HOST=no-such-host", target])
                .current_dir(&folder)
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&made.stderr);
            assert!(!made.status.success(), "{language} {target}");
            assert!(
                error.contains("there is no program 'no-such-host'") && !error.contains("Compiling"),
                "{language} {target}: {error}"
            );
        }
    }
}

//! Generated plugins against the loader, and generated inputs against plugins: nothing makes the host crash, hang or
//! grow without bound, and everything that fails does so with an error of a known class.
//!
//! The same numbers always give the same plugins. `BOSON_FUZZ=1000..51000` tries other numbers than the first ones, as
//! CONTRIBUTING says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use boson_componentize::component;
use boson_document::json;
use boson_sandbox::json_call::{JsonCallError, JsonReply};
use boson_sandbox::{Cache, Error, ErrorKind, Limits, Plugin, Sandbox, Source};
use boson_tests::cluster::peak;
use boson_tests::component::component as built;
use boson_tests::random::seeds;
use boson_tests::wrapper::COMMON;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Numbers of plugins that each run tries: some seconds.
const SEEDS: Range<u64> = 0..100;
/// Memory that this process may have had at the end, in bytes.
const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// The core functions of a plugin of each stage that takes few kinds of arguments, and a call.
const STAGES: [(&str, &str, &[&str], &str); 3] = [
    (
        "ops",
        "boson:ops/operations@1.0.0",
        &["apply", "find"],
        r#"{"request": {"document": {"a": 1}, "document-name": "m.yml", "path": "/a"}}"#,
    ),
    (
        "render",
        "boson:render/templates@1.0.0",
        &["render"],
        r#"{"request": {"templates": [{"name": "a", "text": "b"}], "spec": {}}}"#,
    ),
    (
        "checks",
        "boson:checks/policy@1.0.0",
        &["check"],
        r#"{"view": {"target": "quarks", "manifest": {}, "groups": [], "objects": [{}]}}"#,
    ),
];

fn sandbox() -> Sandbox {
    let limits = Limits {
        fuel: 5_000_000,
        deadline: Duration::from_secs(20),
        memory: 64 << 20,
        ..Limits::default()
    };
    Sandbox::new(limits, Cache::new(None, boson_tests::binary().ok())).unwrap()
}

/// Writes generated files to a folder. The generator is built beside the tests, once for all runs.
fn generate(folder: &Path) {
    let shapes = STAGES.iter().map(|(stage, interface, functions, _)| {
        let file = folder.join(format!("{stage}.shape"));
        let one = |name: &&str| format!(r#"(func (export "{interface}#{name}") (param i32) (result i32) unreachable)"#);
        let functions: String = functions.iter().map(one).collect();
        let shape = format!(
            r#"(module (memory (export "memory") 1) {functions}
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
                (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable))"#
        );
        fs::write(&file, wat::parse_str(shape).unwrap()).unwrap();
        file
    });
    let shapes: Vec<PathBuf> = shapes.collect();
    let numbers = seeds(SEEDS);
    let target = boson_tests::binary().unwrap().ancestors().nth(2).unwrap().join("smith");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--offline", "--locked", "--"])
        .arg(folder)
        .args([numbers.start, numbers.end - numbers.start].map(|number| number.to_string()))
        .args(shapes)
        .current_dir(boson_tests::root().join("tests/smith"))
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the generator does not run; `.ci/setup check` gets its crates: {said}"
    );
}

/// What happened, by class.
#[derive(Debug, Default)]
struct Outcomes(BTreeMap<String, usize>);

impl Outcomes {
    fn add(&mut self, class: &str) {
        *self.0.entry(class.to_string()).or_default() += 1;
    }

    fn count(&self, class: &str) -> usize {
        self.0.get(class).copied().unwrap_or(0)
    }
}

/// Checks that a failure is one of a known class, with a message for one line.
fn known(file: &str, failure: &Error) {
    let message = &failure.message;
    assert!(
        message.len() < 1100 && !message.contains(char::is_control),
        "{file}: {message:?}"
    );
    for defect in ["has a defect", "ended the compiler", "without a reason", "panicked"] {
        assert!(!message.contains(defect), "{file}: {message}");
    }
}

/// Loads a component, describes it and calls its function, twice.
fn run(sandbox: &Sandbox, file: &str, bytes: &[u8], outcomes: &mut Outcomes) {
    let plugin = match sandbox.load(file, bytes, Source::Bytes(file.into())) {
        Ok(plugin) => plugin,
        Err(failure) => {
            known(file, &failure);
            return outcomes.add(&format!("load: {:?}", failure.kind));
        }
    };
    if let Err(failure) = plugin.describe(sandbox) {
        known(file, &failure);
    }
    outcomes.add("loaded");
    let stage = STAGES.iter().find(|(stage, ..)| *stage == plugin.stage.name());
    let (.., functions, call) = stage.unwrap();
    let [one, two] = [(); 2].map(|()| called(sandbox, file, &plugin, functions, call));
    assert_eq!(one, two, "{file}: two calls differ");
    outcomes.add(&format!("call: {}", one.0));
}

/// The class of a call, its reply, and the fuel that it took.
fn called(sandbox: &Sandbox, file: &str, plugin: &Plugin, functions: &[&str], call: &str) -> (String, String, u64) {
    let function = functions.last().unwrap();
    match sandbox.call_json(plugin, function, &json::parse(call).unwrap()) {
        Ok(JsonReply {
            value,
            failed,
            measures,
        }) => {
            let class = if failed { "err" } else { "ok" };
            (class.into(), json::to_text(&value), measures.fuel)
        }
        Err(JsonCallError::Plugin(failure, measures)) => {
            known(file, &failure);
            assert_ne!(failure.kind, ErrorKind::Deadline, "{file}: fuel bounds it before");
            (format!("{:?}", failure.kind), failure.to_string(), measures.fuel)
        }
        Err(JsonCallError::Arguments(message)) => panic!("{file}: {message}"),
    }
}

#[test]
fn generated_plugins_neither_crash_the_host_nor_fill_its_memory() {
    let (folder, sandbox, mut outcomes) = (tempfile::tempdir().unwrap(), sandbox(), Outcomes::default());
    generate(folder.path());
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    files.sort();
    assert!(
        files.len() as u64 > seeds(SEEDS).end - seeds(SEEDS).start,
        "{}",
        files.len()
    );
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(&file).unwrap();
        let component = if boson_componentize::is_core_module(&bytes) {
            component(&bytes)
        } else {
            Ok(bytes)
        };
        match component {
            Ok(component) => run(&sandbox, name, &component, &mut outcomes),
            Err(error) => {
                assert!(error.to_string().len() < 10_000, "{name}");
                outcomes.add("no component");
            }
        }
    }
    let are_many = seeds(SEEDS).count() >= SEEDS.count();
    assert!(!are_many || outcomes.count("loaded") > 10, "{outcomes:?}");
    assert!(!are_many || outcomes.count("load: Refused") > 10, "{outcomes:?}");
    let peak = peak(std::process::id()).unwrap();
    assert!(peak < MAX_MEMORY_BYTES, "{} MiB: {outcomes:?}", peak >> 20);
}

/// A generator of numbers.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % bound.max(1)
    }
}

/// The bytes with one or two of them changed, removed or repeated.
fn mutated(bytes: &[u8], seed: u64) -> Vec<u8> {
    let (mut bytes, mut random) = (bytes.to_vec(), random(seed));
    for _ in 0..=random(2) {
        let at = 8 + random(bytes.len() - 9);
        match random(4) {
            0 => bytes[at] = u8::try_from(random(256)).unwrap(),
            1 => bytes[at] ^= 1 << random(8),
            2 => drop(bytes.remove(at)),
            _ => {
                let end = (at + 1 + random(40)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

/// The beginning and the end of the data of the first custom section whose name begins like this.
fn section(module: &[u8], name: &str) -> Range<usize> {
    let payloads = wasmparser::Parser::new(0).parse_all(module);
    let found = payloads.filter_map(Result::ok).find_map(|payload| match payload {
        wasmparser::Payload::CustomSection(section) if section.name().starts_with(name) => {
            Some(section.range().end - section.data().len()..section.range().end)
        }
        _ => None,
    });
    found.unwrap()
}

/// Commands, because a world can overflow the stack of the process that reads it.
#[test]
fn changed_worlds_of_modules_end_no_command() {
    let (folder, mut outcomes) = (tempfile::tempdir().unwrap(), Outcomes::default());
    let functions = ["apply", "find"].map(|name| {
        format!(r#"(func (export "boson:ops/operations@1.0.0#{name}") (param i32) (result i32) unreachable)"#)
    });
    let module = format!("(module {COMMON} {})", functions.concat());
    let core = boson_tests::component::core_module(&module, "ops", "ops", &[]).unwrap();
    let world = section(&core, "component-type");
    for seed in seeds(SEEDS) {
        let (mut changed, mut random) = (core.clone(), random(seed));
        for _ in 0..=random(2) {
            changed[world.start + random(world.len())] ^= 1 << random(8);
        }
        fs::write(folder.path().join("changed.wasm"), changed).unwrap();
        let ran = boson_tests::host(folder.path(), ["plugin", "pack", "ops", "changed.wasm"]).unwrap();
        assert!(
            ran.code == 0 || ran.code == 1 && ran.stderr.contains("error[plugin-"),
            "{seed}: {} {}",
            ran.code,
            ran.stderr
        );
        outcomes.add(["packed", "refused"][usize::from(ran.code == 1)]);
    }
    let are_many = seeds(SEEDS).count() >= SEEDS.count();
    assert!(!are_many || outcomes.count("refused") > 10, "{outcomes:?}");
}

#[test]
fn changed_components_and_modules_neither_crash_the_host_nor_fill_its_memory() {
    let (sandbox, mut outcomes) = (sandbox(), Outcomes::default());
    let module = format!(
        r#"(module {COMMON}
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32)
                (i32.store (i32.const 4100) (i32.load (local.get 0)))
                (i32.store (i32.const 4104) (i32.load offset=4 (local.get 0)))
                (i32.const 4096)))"#
    );
    let whole = built(&module, "ops").unwrap();
    let core = boson_tests::component::core_module(&module, "ops", "ops", &[]).unwrap();
    for seed in seeds(SEEDS) {
        run(
            &sandbox,
            &format!("component {seed}"),
            &mutated(&whole, seed),
            &mut outcomes,
        );
        if let Ok(made) = component(&mutated(&core, seed)) {
            run(&sandbox, &format!("module {seed}"), &made, &mut outcomes);
        }
    }
    let are_many = seeds(SEEDS).count() >= SEEDS.count();
    assert!(!are_many || outcomes.count("loaded") > 0, "{outcomes:?}");
    assert!(!are_many || outcomes.count("load: Refused") > 5, "{outcomes:?}");
}

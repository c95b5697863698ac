//! Many hostile plugins at once.

use super::{limits, normal, ops};
use boson_budget::Budget;
use boson_document::{Tree, json};
use boson_pipeline::Stages;
use boson_pipeline::stage::{CheckPolicy, Named, StageError};
use boson_sandbox::{Account, Cache, ErrorKind, Plugin, Plugins, Sandbox, Source};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Hostile calls at a time.
const HOSTILE_CALLS: usize = 64;
/// Normal calls, which have to come to an end between them.
const NORMAL_CALLS: usize = 200;
/// Memory of the operator's container (deploy/operator), and the parts of it that calls and the host may have.
const CONTAINER_BYTES: u64 = 2 << 30;

/// Bodies of `find`, each with the code of its failure.
const BODIES: [(&str, ErrorKind); 6] = [
    ("(loop (br 0)) unreachable", ErrorKind::OutOfFuel),
    (
        "(loop (drop (memory.grow (i32.const 16))) (br 0)) unreachable",
        ErrorKind::OverMemory,
    ),
    ("unreachable", ErrorKind::Trapped),
    ("(drop (call $find (local.get 0))) unreachable", ErrorKind::TooDeep),
    (
        "(i32.store8 (i32.const 4096) (i32.const 1)) (i32.store (i32.const 4104) (i32.const -1)) (i32.const 4096)",
        ErrorKind::Malformed,
    ),
    (
        "(memory.fill (i32.const 8192) (i32.const 32) (i32.const 400000)) (i32.store (i32.const 4100) (i32.const 8192))
         (i32.store (i32.const 4104) (i32.const 400000)) (i32.const 4096)",
        ErrorKind::Malformed,
    ),
];

fn load(sandbox: &Sandbox, component: &[u8]) -> Plugin {
    sandbox
        .load("theirs", component, Source::Bytes("theirs".into()))
        .unwrap()
}

/// Calls `find` for a namespace.
fn find(sandbox: &Sandbox, plugin: &Plugin, namespace: &str) -> Result<Tree, StageError> {
    let account = Account::new(namespace, sandbox.limits().conversion_fuel);
    let mut plugins = Plugins::new(sandbox.clone()).with_account(account);
    plugins.add(plugin.clone(), true, CheckPolicy::default()).unwrap();
    let tree = json::parse(r#"{"a": 1}"#).unwrap();
    let document = Named::new("m.yml", &tree);
    plugins.find(document, "/a").map(|(value, _)| value)
}

#[test]
fn sixty_four_hostile_calls_neither_stop_nor_change_normal_ones() {
    let budget = Budget::of_many(CONTAINER_BYTES, 2);
    let sandbox = Sandbox::new(limits(), Cache::none())
        .unwrap()
        .with_budget(budget.clone());
    let hostile = BODIES.map(|(body, kind)| (load(&sandbox, &ops(body, "")), kind));
    let normal = load(&sandbox, &normal());
    let (done, failed) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for nth in 0..HOSTILE_CALLS {
            let (sandbox, done, failed) = (&sandbox, &done, &failed);
            let (plugin, kind) = &hostile[nth % hostile.len()];
            // Again and again: the test ends only because normal calls get their turns.
            scope.spawn(move || {
                loop {
                    let Err(StageError::Plugin(failure)) = find(sandbox, plugin, "hostile") else {
                        panic!("{kind:?}");
                    };
                    assert_eq!(failure.code, kind.code().name, "{}", failure.message);
                    failed.fetch_add(1, Ordering::Relaxed);
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for _ in 0..NORMAL_CALLS {
            let value = find(&sandbox, &normal, "calm").unwrap();
            assert_eq!(json::to_text(&value), "7");
            assert!(budget.held() <= budget.bytes());
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(failed.load(Ordering::Relaxed) >= HOSTILE_CALLS);
    assert_eq!(budget.held(), 0, "memory is returned");
}

#[test]
fn a_cache_is_filled_only_up_to_its_bound() {
    const MAX_CACHE_BYTES: u64 = 512 << 10;
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("compiled");
    let cache = Cache::bounded(Some(directory.clone()), None, MAX_CACHE_BYTES, limits().deadline);
    let sandbox = Sandbox::new(limits(), cache).unwrap();
    let size = || -> u64 {
        let entries = std::fs::read_dir(&directory).unwrap();
        entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    };
    let calm = load(&sandbox, &normal());
    let mut largest = 0;
    for nth in 0..40 {
        // Distinct components; every other one is refused.
        let start = if nth % 2 == 0 {
            "(func $s unreachable) (start $s)"
        } else {
            ""
        };
        let component = ops(&format!("(i32.const {nth}) drop unreachable"), start);
        let before = size();
        let loaded = sandbox.load("theirs", &component, Source::Bytes("theirs".into()));
        assert_eq!(loaded.is_err(), nth % 2 == 0);
        assert!(loaded.is_ok() || size() == before, "a refused component is not cached");
        assert!(size() <= MAX_CACHE_BYTES, "{} bytes", size());
        largest = largest.max(size());
    }
    assert!(
        largest > MAX_CACHE_BYTES / 2,
        "the bound was not reached: {largest} bytes"
    );
    // Those that are loaded stay, with or without a file.
    assert_eq!(json::to_text(&find(&sandbox, &calm, "calm").unwrap()), "7");
}

//! Replies that are valid and far too large for what the host does with them.

use super::{SANDBOX, is_alive, load};
use boson_document::Tree;
use boson_pipeline::stage::{CheckPolicy, Deployment, Hook, Named, Reply, Spread, StageError, View};
use boson_pipeline::{Diagnostic, Stages};
use boson_sandbox::Plugins;
use boson_tests::component::component;
use boson_tests::wrapper::COMMON;

/// Where there is room for large replies: after the memory that a plugin has from the beginning.
const LIST_ADDRESS: u32 = 8 << 16;

/// A plugin of a stage with one function.
fn plugin(stage: &str, function: &str, body: &str) -> Plugins {
    let module = format!(
        r#"(module {COMMON} (data (i32.const 3000) "theirs-odd")
            (func (export "boson:{stage}/{function}") (param i32) (result i32) (local $to i32) (local $n i32) {body}))"#
    );
    let plugin = load(&component(&module, stage).unwrap()).unwrap();
    let mut plugins = Plugins::new(SANDBOX.clone());
    plugins.add(plugin, true, CheckPolicy::ENFORCED).unwrap();
    plugins
}

fn deployment() -> Deployment {
    Deployment {
        name: "nats".into(),
        namespace: "default".into(),
        cluster_domain: "cluster.local".into(),
        operator_image: String::new(),
        registry: None,
        spread: Spread::Total,
    }
}

fn hook<'a>(deployment: &'a Deployment, manifest: &'a Tree) -> Hook<'a> {
    let view = View {
        target: "quarks",
        manifest: Named::new("manifest.yml", manifest),
        groups: &[],
        objects: &[],
    };
    Hook {
        nth: 0,
        deployment,
        view,
    }
}

/// Repeats a body: `$to` is the address of each record of this size.
fn repeated(count: u32, size: u32, body: &str) -> String {
    format!(
        "(local.set $to (i32.const {LIST_ADDRESS})) (local.set $n (i32.const {count}))
         (loop {body} (local.set $to (i32.add (local.get $to) (i32.const {size})))
            (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))"
    )
}

#[test]
fn a_hundred_thousand_diagnostics_are_reported_as_five_hundred() {
    let count = 100_000;
    let record = "(i32.store8 (local.get $to) (i32.const 1))
        (i32.store offset=4 (local.get $to) (i32.const 3000)) (i32.store offset=8 (local.get $to) (i32.const 10))
        (i32.store offset=12 (local.get $to) (i32.const 3000)) (i32.store offset=16 (local.get $to) (i32.const 10))";
    let body = format!(
        "(drop (memory.grow (i32.const 200))) {}
         (i32.store (i32.const 4096) (i32.const {LIST_ADDRESS})) (i32.store (i32.const 4100) (i32.const {count}))
         (i32.const 4096)",
        repeated(count, 104, record)
    );
    let plugins = plugin("checks", "policy@1.0.0#check", &body);
    let reply: Reply<()> = plugins.check(hook(&deployment(), &Tree::object()));
    let ((), found) = reply.unwrap();
    assert_eq!(found.len(), 501);
    let last = found.last().unwrap();
    assert_eq!(
        (last.code.as_str(), last.message.as_str()),
        ("plugin-many-diagnostics", "99500 more diagnostics are not shown")
    );
    is_alive();
}

/// The failure of a plugin of `resources` that adds one text as this number of objects. The text is a list of this
/// number of items.
fn added(objects: u32, items: u32) -> Diagnostic {
    let text = LIST_ADDRESS + objects * 36;
    let record = format!(
        "(i32.store8 (local.get $to) (i32.const 2)) (i32.store offset=4 (local.get $to) (i32.const {text}))
         (i32.store offset=8 (local.get $to) (i32.const {}))",
        2 * items + 1
    );
    let body = format!(
        "(drop (memory.grow (i32.const 100))) {}
         (local.set $to (i32.const {text})) (local.set $n (i32.const {items})) (i32.store8 (local.get $to) (i32.const 91))
         (loop (i32.store16 offset=1 (local.get $to) (i32.const 0x2c30))
            (local.set $to (i32.add (local.get $to) (i32.const 2)))
            (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
         (i32.store8 (local.get $to) (i32.const 93))
         (i32.store (i32.const 4100) (i32.const {LIST_ADDRESS})) (i32.store (i32.const 4104) (i32.const {objects}))
         (i32.const 4096)",
        repeated(objects, 36, &record)
    );
    let plugins = plugin("resources", "transformation@1.0.0#transform", &body);
    match plugins.transform(hook(&deployment(), &Tree::object())) {
        Err(StageError::Plugin(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_values_of_all_documents_of_a_reply_count_together() {
    // Each has fewer values than one document may have.
    let failure = added(20, 1_500_000);
    assert_eq!(failure.code, "plugin-over-output", "{failure:?}");
    assert!(failure.message.contains("it has too many values"), "{failure:?}");
    is_alive();
}

//! Rows about calls of one namespace while another makes hostile ones.

use crate::measure::{Sample, time};
use crate::table::Row;
use anyhow::{Result, bail, ensure};
use boson_budget::Budget;
use boson_document::{Tree, json};
use boson_pipeline::Stages;
use boson_pipeline::stage::{CheckPolicy, Named};
use boson_sandbox::{Account, Cache, Limits, Plugin, Plugins, Sandbox, Source};
use boson_tests::component::component;
use boson_tests::wrapper::COMMON;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Hostile calls that are made at a time; the budget of a namespace lets some of them run.
const HOSTILE_CALLS: usize = 64;
const CALLS: usize = 200;
/// Memory of the operator's container.
const CONTAINER_BYTES: u64 = 2 << 30;

/// A plugin whose `find` has this body.
fn plugin(sandbox: &Sandbox, find: &str) -> Result<Plugin> {
    let module = format!(
        r#"(module {COMMON} (data (i32.const 3000) "7")
            (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
            (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) {find}))"#
    );
    let component = component(&module, "ops")?;
    Ok(sandbox.load("theirs", &component, Source::Bytes("theirs".into()))?)
}

/// Calls `find` for a namespace.
fn find(sandbox: &Sandbox, plugin: &Plugin, namespace: &str, tree: &Tree) -> Result<Option<Tree>> {
    let account = Account::new(namespace, sandbox.limits().conversion_fuel);
    let mut plugins = Plugins::new(sandbox.clone()).with_account(account);
    plugins.add(plugin.clone(), true, CheckPolicy::default())?;
    Ok(plugins
        .find(Named { name: "m.yml", tree }, "/a")
        .ok()
        .map(|(value, _)| value))
}

/// A call alone, and beside hostile ones that loop until their fuel is used up.
pub fn crowd() -> Result<Vec<Row>> {
    let limits = Limits {
        fuel: 1_000_000_000,
        ..Limits::default()
    };
    let sandbox = Sandbox::new(limits, Cache::none())?.with_budget(Budget::of_many(CONTAINER_BYTES, 2));
    let seven =
        "(i32.store (i32.const 4100) (i32.const 3000)) (i32.store (i32.const 4104) (i32.const 1)) (i32.const 4096)";
    let (normal, hostile) = (plugin(&sandbox, seven)?, plugin(&sandbox, "(loop (br 0)) unreachable")?);
    let tree = json::parse(r#"{"a": 7}"#)?;
    let call = || {
        let reply = find(&sandbox, &normal, "calm", &tree)?;
        ensure!(reply == Some(7_i64.into()), "the plugin replies 7");
        Ok(())
    };
    let sample = || -> Result<Sample> {
        let times: Result<Vec<f64>> = (0..CALLS).map(|_| Ok(time(call)?.wall)).collect();
        Ok(Sample::of(times?))
    };
    sample()?;
    let alone = sample()?;
    let done = AtomicBool::new(false);
    let beside = thread::scope(|scope| {
        let attack = || -> Result<()> {
            while !done.load(Ordering::Relaxed) {
                if find(&sandbox, &hostile, "hostile", &tree)?.is_some() {
                    bail!("the plugin loops");
                }
            }
            Ok(())
        };
        let attackers: Vec<_> = (0..HOSTILE_CALLS).map(|_| scope.spawn(attack)).collect();
        let beside = sample();
        done.store(true, Ordering::Relaxed);
        for attacker in attackers {
            match attacker.join() {
                Ok(result) => result?,
                Err(_) => bail!("an attacker panicked"),
            }
        }
        beside
    })?;
    let (alone, median, p99) = (alone.median(), beside.median(), beside.percentile(99));
    let details =
        format!("median of {CALLS}: {median:.2} ms, p99 {p99:.2} ms; alone {alone:.2} ms; the hostile calls loop");
    Ok(vec![Row::below(
        "a call beside 64 hostile ones of another namespace",
        median,
        10.0,
        "ms",
        &details,
    )])
}

//! The engine: one configuration for compiling and running, narrowed to what the contract needs.

use crate::cache::{self, Cache};
use crate::error::{Error, ErrorKind};
use crate::limits::{Limits, MAX_WRAPPERS};
use crate::telemetry::console::Console;
use crate::telemetry::meter::Meter;
use crate::telemetry::profiler::Profiler;
use boson_budget::Budget;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig, RegallocAlgorithm,
    Strategy, WasmBacktraceDetails, WasmFeatures,
};

/// Machine code is compiled for this target's baseline, so that code shipped with the host runs on every CPU of the
/// kind.
#[cfg(target_arch = "x86_64")]
const TARGET: &str = "x86_64-unknown-linux-gnu";
#[cfg(target_arch = "aarch64")]
const TARGET: &str = "aarch64-unknown-linux-gnu";

/// How often the epoch advances. A deadline is at most this much late.
const EPOCH_INTERVAL: Duration = Duration::from_millis(10);

/// Calls that may run at once: no budget has more places. The budget limits their memory.
const MAX_CALLS: u32 = 16;
/// Instances that they may have: a call of a wrapper has one for each plugin of its chain.
const MAX_INSTANCES: u32 = MAX_CALLS * (1 + MAX_WRAPPERS);

/// Bytes of a memory that stay mapped after a call: what a rule takes for a manifest of some 100 kB. Times `MAX_CALLS`:
/// 128 MiB at most, because no more than two unused slots stay warm and a chain of wrappers is rare.
const KEPT_MEMORY_BYTES: usize = 8 << 20;

/// Bytes of a table that stay mapped after a call, of those that it has used: CRuby's has 416 kB.
const KEPT_TABLE_BYTES: usize = 512 << 10;

/// The sandbox in which plugins run.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) engine: Engine,
    pub(crate) limits: Arc<Limits>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) budget: Budget,
    pub(crate) console: Option<Console>,
    pub(crate) profiler: Option<Arc<Profiler>>,
    pub(crate) meter: Option<Arc<dyn Meter>>,
    /// Whether calls wait for memory that others hold.
    pub(crate) waits: bool,
}

// === impl Sandbox ===

impl Sandbox {
    /// An engine with its pool and its ticker, with what the container of this process has for one user.
    ///
    /// # Errors
    /// A CPU or an operating system that wasmtime does not support.
    pub fn new(limits: Limits, cache: Cache) -> Result<Self, Error> {
        let engine = pooled_engine(&limits).or_else(|error| {
            // If address space is limited (a container with a virtual memory limit), the pool cannot be reserved.
            // Slower, but with the same results.
            tracing::debug!(%error, "no instance pool; creating instances on demand");
            Engine::new(&engine_config(&limits)?)
        });
        let engine = engine.map_err(|error| {
            Error::new(
                ErrorKind::Refused,
                "any",
                format!("cannot run: no sandbox on this machine: {error:#}"),
            )
        })?;
        start_ticker(engine.weak());
        Ok(Self {
            engine,
            limits: Arc::new(limits),
            cache: Arc::new(cache),
            budget: Budget::default(),
            console: None,
            profiler: None,
            meter: None,
            waits: true,
        })
    }

    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Shows what plugins print; without a console it is dropped.
    #[must_use]
    pub fn with_console(mut self, console: Console) -> Self {
        self.console = Some(console);
        self
    }

    /// Drops what plugins print from now on.
    #[must_use]
    pub fn without_console(mut self) -> Self {
        self.console = None;
        self
    }

    /// Reports what each call uses.
    #[must_use]
    pub fn with_meter(mut self, meter: Arc<dyn Meter>) -> Self {
        self.meter = Some(meter);
        self
    }

    /// With less fuel and time for each call, which fails instead of waiting if others hold the memory that it needs:
    /// for calls that nothing may wait for.
    #[must_use]
    pub fn with_limits(mut self, fuel: u64, deadline: Duration) -> Self {
        let limits = Limits::clone(&self.limits);
        self.limits = Arc::new(Limits {
            fuel: limits.fuel.min(fuel),
            deadline: limits.deadline.min(deadline),
            ..limits
        });
        self.waits = false;
        self
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Compiles a component to machine code for engines like this one.
    ///
    /// # Caveats
    /// Takes seconds, and memory that no limit covers: foreign code is compiled in a separate process (see `cache`).
    ///
    /// # Errors
    /// Not a valid component, or not a sealed one of one stage.
    pub fn compile(&self, name: &str, component: &[u8]) -> Result<Vec<u8>, Error> {
        cache::compile(&self.engine, name, component)
    }

    /// Ticks until then, one more because the first may come at once.
    pub(crate) fn ticks_until(&self, then: Instant) -> u64 {
        let left = then.saturating_duration_since(Instant::now());
        let ticks = left.as_millis() / EPOCH_INTERVAL.as_millis();
        u64::try_from(ticks).unwrap_or(u64::MAX - 1) + 1
    }
}

fn pooled_engine(limits: &Limits) -> wasmtime::Result<Engine> {
    let mut pool = PoolingAllocationConfig::new();
    // Address space and entries of tables, not memory: what a call uses is bounded by its own limits.
    pool.total_component_instances(MAX_INSTANCES)
        .total_core_instances(MAX_INSTANCES * limits.core_instances)
        .max_core_instances_per_component(limits.core_instances)
        .total_memories(MAX_INSTANCES * limits.memories)
        .max_memories_per_component(limits.memories)
        .max_memories_per_module(limits.memories)
        .total_tables(MAX_INSTANCES * limits.tables)
        .max_tables_per_component(limits.tables)
        .max_tables_per_module(limits.tables)
        .table_elements(limits.table_elements)
        .max_memory_size(limits.memory)
        .max_component_instance_size(16 << 20)
        .max_core_instance_size(4 << 20)
        // Calls run on the caller's thread. The pool's thousand stacks for async calls would cost a thousand system
        // calls at every start.
        .total_stacks(0)
        .max_unused_warm_slots(2);
    keep_pages(&mut pool);
    let mut config = engine_config(limits)?;
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// No data of a call remains. If the kernel (Linux 6.7) reports which pages a call has written, these are reset and
/// stay mapped, so that the next call need not fault them in again. Otherwise all pages are released: keeping some
/// would mean clearing the lowest ones each time, used or not.
fn keep_pages(pool: &mut PoolingAllocationConfig) {
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes)
            .linear_memory_keep_resident(KEPT_MEMORY_BYTES)
            .table_keep_resident(KEPT_TABLE_BYTES);
    } else {
        pool.linear_memory_keep_resident(0).table_keep_resident(0);
    }
}

fn engine_config(limits: &Limits) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .target(TARGET)?
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(limits.stack)
        .cranelift_regalloc_algorithm(RegallocAlgorithm::Backtracking)
        // The same bits on every machine.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        // Copy-on-write images: CRuby's 36 MB heap is mapped, not copied. Above this size wasmtime copies page by page
        // (11 ms).
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(128 << 20)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(32))
        .native_unwind_info(false)
        // Features that the contract does not need are attack surface. By name of the proposal, because wasmtime has
        // the other setters only with crate features.
        .wasm_features(
            WasmFeatures::THREADS | WasmFeatures::GC | WasmFeatures::EXCEPTIONS,
            false,
        )
        .wasm_memory64(false)
        // Composed components need it: the adapters between their parts access the memories of both.
        .wasm_multi_memory(true)
        .concurrency_support(false);
    Ok(config)
}

/// Advances the epoch for as long as the engine lives. Always on: without a ticker, deadlines would have no effect.
fn start_ticker(engine: EngineWeak) {
    // A separate thread: a plugin may block an executor's thread.
    let spawned = std::thread::Builder::new().name("epoch".into()).spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(EPOCH_INTERVAL);
        }
    });
    if let Err(error) = spawned {
        tracing::error!(%error, "no thread for deadlines; only fuel bounds a call now");
    }
}

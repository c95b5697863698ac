//! One call: a store of its own, a fresh instance, the limits, and the sorting of what went wrong.
//!
//! # Guarantees
//! Nothing of a call survives it. The same call gives the same reply on every machine. A call that fails fails alone.

use crate::engine::Sandbox;
use crate::error::{Failure, FailureKind};
use crate::plugin::Plugin;
use std::fmt;
use std::time::{Duration, Instant};
use wasmtime::component::Instance;
use wasmtime::{ResourceLimiter, Store, Trap, WasmBacktrace};

/// What a call used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measures {
    /// Units of fuel.
    pub fuel: u64,
    /// Bytes of linear memory at most.
    pub memory: usize,
    /// Wall clock, instantiation included.
    pub elapsed: Duration,
}

/// What the store of a call carries: the count of its memory.
pub(crate) struct CallState {
    memory_limit: usize,
    memory: usize,
    table_limit: usize,
}

/// How the name of a function begins that only traps where calls nest too deep.
const TOO_DEEP: &str = "nested too deep";

/// Raised from the limiter, so that a call ends where it asks for too much instead of limping on.
#[derive(Debug)]
struct TooMuch(&'static str);

// === impl TooMuch ===

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asked for more {} than it may have", self.0)
    }
}

impl std::error::Error for TooMuch {}

// === impl CallState ===

impl ResourceLimiter for CallState {
    /// Sums over all memories; wasmtime's own limiter bounds each alone.
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.memory_limit {
            return Err(TooMuch("memory").into());
        }
        self.memory = total;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.table_limit {
            Err(TooMuch("table elements").into())
        } else {
            Ok(true)
        }
    }

    fn instances(&self) -> usize {
        16
    }

    fn tables(&self) -> usize {
        8
    }

    fn memories(&self) -> usize {
        4
    }
}

impl Sandbox {
    /// Runs `body` on a fresh instance of `plugin`.
    pub(crate) fn call<T>(
        &self,
        plugin: &Plugin,
        body: impl FnOnce(&mut Store<CallState>, &Instance) -> wasmtime::Result<T>,
    ) -> (Result<T, Failure>, Measures) {
        let _slot = self.slots.take();
        let started = Instant::now();
        let limits = &self.limits;
        let state = CallState {
            memory_limit: limits.memory,
            memory: 0,
            table_limit: limits.table_elements,
        };
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| state);
        store.set_epoch_deadline(self.deadline_ticks());
        store.set_hostcall_fuel(limits.output);
        let result = store
            .set_fuel(limits.fuel)
            .and_then(|()| plugin.pre.instantiate(&mut store))
            .and_then(|instance| body(&mut store, &instance));
        let fuel = limits.fuel - store.get_fuel().unwrap_or(0);
        let measures = Measures {
            fuel,
            memory: store.data().memory,
            elapsed: started.elapsed(),
        };
        tracing::debug!(plugin = plugin.name(), fuel, memory = measures.memory, elapsed = ?measures.elapsed, "called");
        (result.map_err(|error| self.sort(plugin.name(), &error)), measures)
    }

    /// Makes an instance of `plugin` and takes it down again: what every call costs before the plugin does anything. `elapsed` of the
    /// measures is the making alone.
    ///
    /// # Errors
    /// A component that needs more memory than a call may have, or whose start function fails.
    pub fn instantiate(&self, plugin: &Plugin) -> Result<Measures, Failure> {
        let (result, measures) = self.call(plugin, |_, _| Ok(()));
        result.map(|()| measures)
    }

    fn sort(&self, plugin: &str, error: &wasmtime::Error) -> Failure {
        let limits = &self.limits;
        let mebibytes = |bytes: usize| bytes >> 20;
        let (kind, message) = if let Some(TooMuch(what)) = error.downcast_ref() {
            let of = if *what == "memory" {
                format!("{} MiB", mebibytes(limits.memory))
            } else {
                limits.table_elements.to_string()
            };
            (
                FailureKind::OverMemory,
                format!("asked for more {what} than the {of} it may have"),
            )
        } else if let Some(trap) = error.downcast_ref::<Trap>() {
            self.sort_trap(*trap, error)
        } else if error.root_cause().to_string().contains("hostcalls") {
            // wasmtime keeps the error type of this limit to itself; its text is all there is.
            (
                FailureKind::OverOutput,
                format!("gave a reply of more than {} MiB", mebibytes(limits.output)),
            )
        } else {
            (
                FailureKind::Malformed,
                format!("gave a reply that is not of the contract: {}", error.root_cause()),
            )
        };
        let mut failure = Failure::new(kind, plugin, message);
        if kind == FailureKind::Trapped {
            failure.functions = functions(error);
        }
        failure
    }

    fn sort_trap(&self, trap: Trap, error: &wasmtime::Error) -> (FailureKind, String) {
        let limits = &self.limits;
        match trap {
            Trap::OutOfFuel => (
                FailureKind::OutOfFuel,
                format!("used up its {} units of fuel", limits.fuel),
            ),
            Trap::Interrupt => (
                FailureKind::Deadline,
                format!("ran for more than {} s", limits.deadline.as_secs()),
            ),
            trap if trap == Trap::StackOverflow || nests_too_deep(error) => {
                (FailureKind::TooDeep, "nested its calls deeper than it may".to_string())
            }
            trap => (FailureKind::Trapped, format!("stopped with a trap: {trap}")),
        }
    }
}

/// Whether the trap is a plugin's own way to end where its calls nest too deep: it says so in the name of a function, as the render
/// plugin's interpreter does where its buffer for stack frames is full.
fn nests_too_deep(error: &wasmtime::Error) -> bool {
    functions(error).iter().any(|name| name.starts_with(TOO_DEEP))
}

/// Names of the functions that were active, innermost first. Data of the plugin: bounded and cleaned of control characters.
fn functions(error: &wasmtime::Error) -> Vec<String> {
    let Some(trace) = error.downcast_ref::<WasmBacktrace>() else {
        return Vec::new();
    };
    let name = |frame: &wasmtime::FrameInfo| match frame.func_name() {
        Some(name) => name.chars().filter(|c| !c.is_control()).take(120).collect(),
        None => format!("function {}", frame.func_index()),
    };
    trace.frames().iter().take(8).map(name).collect()
}

//! One call: its own store, a fresh instance, the limits, and the classification of errors.
//!
//! # Guarantees
//! No state of a call survives it. The same call gives the same reply on every machine. A failed call does not affect
//! others.
//!
//! As a call grows, it takes memory from the budget of the process. If none is left, the call returns all of it and
//! runs again, with the maximum of a call reserved from the beginning. So it never waits while it holds memory, and
//! concurrent calls change the time of its reply, never its content.
//!
//! A wrapper calls the rule below it ([`wrapping`]). For memory and time these calls are part of its own call; only
//! fuel is counted for each.

pub(crate) mod conversions;
mod exception;
pub mod json_call;
mod profile;
pub(crate) mod reply;
pub(crate) mod wrapping;

use crate::engine::Sandbox;
use crate::error::{Error, ErrorKind};
use crate::limits;
use crate::limits::account::Account;
use crate::limits::call_state::{CallState, EndedCall, MemoryHeldError, OverLimitError};
use crate::limits::measures::Measures;
use crate::plugin::Plugin;
use crate::telemetry::frames;
use boson_budget::Class;
use std::time::Instant;
use wasmtime::component::Instance;
use wasmtime::{Store, Trap};
use wrapping::{BelowError, Rule};

/// Bytes of one page of linear memory.
pub(crate) const PAGE_BYTES: u64 = 64 << 10;

/// Prefix of the name of a function that only traps if calls nest too deep: a plugin's own way to end then, as in the
/// render plugin's interpreter when its buffer for stack frames is full.
const TOO_DEEP: &str = "nested too deep";

// === impl Sandbox ===

impl Sandbox {
    /// Runs `body` on a fresh instance of `plugin`, for this account; a second time if memory was short.
    pub(crate) fn call<T>(
        &self,
        plugin: &Plugin,
        account: &Account,
        mut body: impl FnMut(&mut Store<CallState>, &Instance) -> wasmtime::Result<T>,
    ) -> (Result<T, Error>, Measures) {
        let _span = plugin.span().entered();
        if account.is_spent() {
            return (
                Err(self.failed(plugin, fuel_spent_error(plugin, account))),
                Measures::default(),
            );
        }
        let most = self.memory_limit() as u64;
        let first = initial_memory(plugin).unwrap_or(most).min(most);
        let (mut result, mut measures) = self.attempt(plugin, account, first, &mut body);
        if first < most && result.as_ref().is_err_and(wasmtime::Error::is::<MemoryHeldError>) {
            tracing::debug!("memory is short: the call runs again, with all that it may have");
            (result, measures) = self.attempt(plugin, account, most, &mut body);
        }
        if let Some(meter) = &self.meter {
            meter.called(plugin, &measures);
        }
        account.take(measures.elapsed);
        if !account.spend(measures.fuel) {
            return (Err(self.failed(plugin, fuel_spent_error(plugin, account))), measures);
        }
        let result = result.map_err(|error| match error.downcast_ref() {
            // Counted for the rule that failed.
            Some(BelowError(error)) => error.clone(),
            None => self.failed(plugin, self.classify(plugin, &error)),
        });
        (result, measures)
    }

    /// Reports a failure of this plugin.
    pub(crate) fn failed(&self, plugin: &Plugin, error: Error) -> Error {
        if let Some(meter) = &self.meter {
            meter.failed(plugin, error.kind.code());
        }
        error
    }

    /// Runs `body` once, beginning with `memory` bytes of the budget.
    fn attempt<T>(
        &self,
        plugin: &Plugin,
        account: &Account,
        memory: u64,
        body: &mut impl FnMut(&mut Store<CallState>, &Instance) -> wasmtime::Result<T>,
    ) -> (wasmtime::Result<T>, Measures) {
        let share: wasmtime::Result<_> = if self.waits {
            let share = self.budget.hold(Class::Call, &account.holder, memory);
            share.map_err(|_| OverLimitError("memory").into())
        } else {
            let share = self.budget.try_hold(Class::Call, &account.holder, memory);
            share.ok_or_else(|| MemoryHeldError.into())
        };
        let share = match share {
            Ok(share) => share,
            Err(error) => return (Err(error), Measures::default()),
        };
        let started = Instant::now();
        let state = CallState {
            limits: self.limits.clone(),
            memory_limit: self.memory_limit(),
            memory: 0,
            peak: 0,
            share: Some(share),
            ends: started + self.limits.deadline,
            below: Rule::below(self, plugin),
            calls_below: 0,
            fuel_below: 0,
            printed: Vec::new(),
        };
        let EndedCall { result, fuel, state } = self.run(plugin, state, body);
        let measures = Measures {
            fuel: fuel.saturating_add(state.fuel_below),
            memory: state.peak,
            elapsed: started.elapsed(),
        };
        let Measures { fuel, memory, elapsed } = measures;
        tracing::debug!(fuel, memory, ?elapsed, "called");
        (result, measures)
    }

    /// Runs `body` on a fresh instance with this state.
    pub(crate) fn run<T>(
        &self,
        plugin: &Plugin,
        state: CallState,
        body: &mut impl FnMut(&mut Store<CallState>, &Instance) -> wasmtime::Result<T>,
    ) -> EndedCall<T> {
        let limits = &self.limits;
        let ticks = self.ticks_until(state.ends);
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| state);
        match &self.profiler {
            Some(profiler) => profiler.clone().watch(&mut store),
            None => store.set_epoch_deadline(ticks),
        }
        store.set_hostcall_fuel(limits.output);
        let created = store
            .set_fuel(limits.fuel)
            .and_then(|()| plugin.pre.instantiate(&mut store));
        let (result, instance) = match created {
            Ok(instance) => (body(&mut store, &instance), Some(instance)),
            Err(error) => (Err(error), None),
        };
        let fuel = limits.fuel - store.get_fuel().unwrap_or(0);
        let is_repeated = result.as_ref().is_err_and(wasmtime::Error::is::<MemoryHeldError>);
        if let Some(console) = self.console.as_ref().filter(|_| !is_repeated) {
            // An instance that has trapped cannot be called again.
            let returned = instance.filter(|_| result.is_ok());
            console.show(plugin, &mut store, returned);
        }
        let state = store.into_data();
        EndedCall { result, fuel, state }
    }

    /// Bytes that a call may have: its own limit, or less in a small container.
    fn memory_limit(&self) -> usize {
        let most = usize::try_from(self.budget.largest_call()).unwrap_or(usize::MAX);
        self.limits.memory.min(most)
    }

    /// Creates an instance of `plugin` and drops it: the cost of every call before the plugin runs. `elapsed` of the
    /// measures covers only the creation.
    ///
    /// # Errors
    /// A component that needs more memory than a call may have, or whose start function fails.
    pub fn instantiate(&self, plugin: &Plugin) -> Result<Measures, Error> {
        let (result, measures) = self.call(plugin, &Account::unbounded(), |_, _| Ok(()));
        result.map(|()| measures)
    }

    /// The failure of this plugin that an error of a call stands for.
    pub(crate) fn classify(&self, plugin: &Plugin, error: &wasmtime::Error) -> Error {
        let limits = &self.limits;
        let mebibytes = |bytes: usize| bytes >> 20;
        let (kind, message) = if let Some(OverLimitError(what)) = error.downcast_ref() {
            let of = if *what == "memory" {
                format!("{} MiB", mebibytes(self.memory_limit()))
            } else {
                limits.table_elements.to_string()
            };
            (
                ErrorKind::OverMemory,
                format!("asked for more {what} than the {of} it may have"),
            )
        } else if error.is::<MemoryHeldError>() {
            let message = "was not called, because other calls hold the memory";
            (ErrorKind::OverBudget, message.to_string())
        } else if let Some(message) = limits::exceeded_limit(limits, error) {
            (ErrorKind::Refused, message)
        } else if let Some(trap) = error.downcast_ref::<Trap>() {
            self.classify_trap(*trap, error)
        } else if error.root_cause().to_string().contains("hostcalls") {
            // wasmtime does not export the error type of this limit, only its text.
            (
                ErrorKind::OverOutput,
                format!("returned a reply of more than {} MiB", mebibytes(limits.output)),
            )
        } else {
            (
                ErrorKind::Malformed,
                format!("returned a reply that violates the contract: {}", error.root_cause()),
            )
        };
        let mut failure = plugin.failure(kind, message);
        if kind == ErrorKind::Trapped {
            failure.functions = frames::functions(error);
        }
        failure
    }

    fn classify_trap(&self, trap: Trap, error: &wasmtime::Error) -> (ErrorKind, String) {
        let limits = &self.limits;
        match trap {
            Trap::OutOfFuel => (
                ErrorKind::OutOfFuel,
                format!("used up its {} units of fuel", limits.fuel),
            ),
            Trap::Interrupt => (
                ErrorKind::Deadline,
                format!("ran for more than {} s", limits.deadline.as_secs()),
            ),
            trap if trap == Trap::StackOverflow || frames::is_active(error, |name| name.starts_with(TOO_DEEP)) => {
                (ErrorKind::TooDeep, "exceeded its stack".to_string())
            }
            trap => (ErrorKind::Trapped, format!("stopped with a trap: {trap}")),
        }
    }
}

fn fuel_spent_error(plugin: &Plugin, account: &Account) -> Error {
    let message = format!(
        "was interrupted: the conversion used up its {} units of fuel",
        account.fuel
    );
    Error::new(ErrorKind::OverBudget, plugin.name(), message)
}

/// Bytes that an instance has from the beginning; `None` if the component does not declare them.
fn initial_memory(plugin: &Plugin) -> Option<u64> {
    let needs = plugin.pre.component().resources_required()?;
    let pages = needs.max_initial_memory_size.unwrap_or(0);
    pages.checked_mul(PAGE_BYTES)?.checked_mul(needs.num_memories.into())
}

//! The import of a wrapper: calls of the rule below it, each in an instance with its own fuel.
//!
//! # Guarantees
//! A call of the rule below uses the memory share and the deadline of the wrapper's call, so it waits for nothing that
//! another call holds: chains cannot deadlock. If the rule below fails, the whole call fails with the failure of that
//! rule, whatever the wrapper would do with it.

use crate::call::json_call::exception_in;
use crate::component::interface;
use crate::engine::Sandbox;
use crate::error::{Error, ErrorKind};
use crate::limits::call_state::{Below, CallState, EndedCall, MemoryHeldError};
use crate::limits::measures::Measures;
use crate::plugin::Plugin;
use boson_pipeline::Stage;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use wasmtime::component::{Linker, Val};

/// Calls of the rule below in one call of a wrapper.
const MAX_CALLS: u32 = 16;
/// Bytes of the stack of a call below: WebAssembly's own, and that of the host's code around it.
const STACK_BYTES: usize = 4 << 20;

/// A failure of the rule below a wrapper.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BelowError(pub Error);

/// A plugin that a wrapper calls.
pub(crate) struct Rule {
    sandbox: Sandbox,
    plugin: Arc<Plugin>,
}

// === impl Rule ===

impl Rule {
    /// What this plugin wraps.
    pub(crate) fn below(sandbox: &Sandbox, wrapper: &Plugin) -> Option<Arc<dyn Below>> {
        let (sandbox, plugin) = (sandbox.clone(), wrapper.below.clone()?);
        Some(Arc::new(Self { sandbox, plugin }))
    }

    /// The state of a call of the rule, which takes the memory share of its caller.
    fn state(&self, caller: &mut CallState) -> CallState {
        CallState {
            limits: caller.limits.clone(),
            memory: caller.memory,
            peak: caller.memory,
            memory_limit: caller.memory_limit,
            share: caller.share.take(),
            ends: caller.ends,
            below: Self::below(&self.sandbox, &self.plugin),
            calls_below: 0,
            fuel_below: 0,
            printed: Vec::new(),
        }
    }

    /// Runs a function on a fresh instance.
    fn run(&self, state: CallState, function: &str, arguments: &[Val]) -> EndedCall<Val> {
        let (name, _) = interface(self.plugin.stage);
        let arguments = with_settings(arguments, &self.plugin.settings);
        self.sandbox.run(&self.plugin, state, &mut |store, instance| {
            let missing = || wasmtime::Error::msg(format!("there is no function '{function}'"));
            let index = instance.get_export_index(&mut *store, None, name);
            let index = index.and_then(|index| instance.get_export_index(&mut *store, Some(&index), function));
            let function = index.and_then(|index| instance.get_func(&mut *store, index));
            let mut reply = [Val::Bool(false)];
            function
                .ok_or_else(missing)?
                .call(&mut *store, &arguments, &mut reply)?;
            let [reply] = reply;
            Ok(reply)
        })
    }
}

impl Below for Rule {
    fn call(&self, caller: &mut CallState, function: &str, arguments: &[Val]) -> wasmtime::Result<Val> {
        caller.calls_below += 1;
        if caller.calls_below > MAX_CALLS {
            let message = format!("was called more than {MAX_CALLS} times by the plugin that wraps it");
            return Err(BelowError(self.plugin.failure(ErrorKind::OutOfFuel, message)).into());
        }
        let state = self.state(caller);
        let (started, span) = (Instant::now(), self.plugin.span());
        // Its own stack: that of the caller's thread is for one instance.
        let ended = thread::scope(|scope| {
            let thread = thread::Builder::new().name(function.into()).stack_size(STACK_BYTES);
            let run = || span.in_scope(|| self.run(state, function, arguments));
            let call = thread.spawn_scoped(scope, run)?;
            call.join().map_err(|_| wasmtime::Error::msg("the call panicked"))
        });
        let EndedCall { result, fuel, state } = ended?;
        let measures = Measures {
            fuel: fuel.saturating_add(state.fuel_below),
            memory: state.peak,
            elapsed: started.elapsed(),
        };
        if let Some(meter) = &self.sandbox.meter {
            meter.called(&self.plugin, &measures);
        }
        caller.share = state.share;
        caller.peak = caller.peak.max(state.peak);
        caller.fuel_below = caller.fuel_below.saturating_add(measures.fuel);
        let result = result.and_then(|reply| match exception_in(&reply) {
            None => Ok(reply),
            Some(message) => {
                let error = self.plugin.failure(ErrorKind::Exception, message);
                Err(BelowError(self.sandbox.failed(&self.plugin, error)).into())
            }
        });
        result.map_err(|error| {
            // MemoryHeldError: the whole call runs again, with all the memory that it may have.
            if error.is::<MemoryHeldError>() || error.is::<BelowError>() {
                return error;
            }
            let error = self.sandbox.classify(&self.plugin, &error);
            BelowError(self.sandbox.failed(&self.plugin, error)).into()
        })
    }
}

/// Connects the import of a wrapper of this stage to the rule below it, which the state of a call has.
pub(crate) fn connect(linker: &mut Linker<CallState>, stage: Stage) -> wasmtime::Result<()> {
    let (name, functions) = interface(stage);
    let mut instance = linker.instance(name)?;
    for function in functions {
        instance.func_new(function, move |mut store, _, arguments, results| {
            let caller = store.data_mut();
            let rule = caller.below.clone().ok_or_else(|| missing(stage))?;
            results.clone_from_slice(&[rule.call(caller, function, arguments)?]);
            Ok(())
        })?;
    }
    Ok(())
}

fn missing(stage: Stage) -> BelowError {
    let message = "is a wrapper, but there is no rule below it";
    BelowError(Error::new(ErrorKind::Refused, stage.name(), message))
}

/// The arguments of a call with the settings of the rule below in its context, instead of those of the wrapper.
fn with_settings(arguments: &[Val], settings: &str) -> Vec<Val> {
    let mut arguments = arguments.to_vec();
    if let Some(Val::Record(context)) = arguments.last_mut() {
        for (name, value) in context {
            if name == "settings" {
                *value = Val::String(settings.into());
            }
        }
    }
    arguments
}

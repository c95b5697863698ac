//! Samples of the stacks of calls.

use crate::limits::call_state::CallState;
use crate::telemetry::frames;
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;
use wasmtime::{Store, Trap, UpdateDeadline, WasmBacktrace};

#[derive(Clone, Debug, Default)]
pub struct Profile {
    pub calls: u32,
    /// Interruptions of these calls.
    pub samples: u32,
    /// The functions, those with the most samples first.
    pub functions: Vec<Function>,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    /// Samples in which it ran itself.
    pub own: u32,
    /// Samples in which it was active.
    pub total: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Profiler {
    samples: Mutex<Samples>,
}

#[derive(Debug, Default)]
struct Samples {
    count: u32,
    /// Own and total by name.
    functions: BTreeMap<String, (u32, u32)>,
}

// === impl Profiler ===

impl Profiler {
    /// Interrupts the calls in a store instead of ending them at the deadline, which still holds.
    pub(crate) fn watch(self: Arc<Self>, store: &mut Store<CallState>) {
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |context| {
            if Instant::now() > context.data().ends {
                return Err(Trap::Interrupt.into());
            }
            self.sample(&WasmBacktrace::force_capture(&context));
            Ok(UpdateDeadline::Continue(1))
        });
    }

    fn sample(&self, stack: &WasmBacktrace) {
        let names = frames::names(stack);
        let mut samples = self.samples.lock();
        samples.count += 1;
        if let Some(innermost) = names.first() {
            samples.functions.entry(innermost.clone()).or_default().0 += 1;
        }
        // A function may be active several times.
        for name in names.into_iter().collect::<BTreeSet<_>>() {
            samples.functions.entry(name).or_default().1 += 1;
        }
    }

    pub(crate) fn profile(&self, calls: u32) -> Profile {
        let samples = self.samples.lock();
        let functions = samples.functions.iter().map(|(name, (own, total))| Function {
            name: name.clone(),
            own: *own,
            total: *total,
        });
        let mut functions: Vec<Function> = functions.collect();
        functions.sort_by_key(|function| Reverse((function.own, function.total)));
        Profile {
            calls,
            samples: samples.count,
            functions,
        }
    }
}

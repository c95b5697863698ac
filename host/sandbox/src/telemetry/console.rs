//! The output of plugins, for debugging: only where a command has a console. A plugin imports a function that prints,
//! or keeps its output and exports a function that returns it.

use crate::component::{CONSOLE, OUTPUT};
use crate::limits::call_state::CallState;
use crate::plugin::Plugin;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::{Instance, Linker};

/// Bytes of output of one call that are kept.
const MAX_PRINTED_BYTES: usize = 1 << 20;

type Show = dyn Fn(&str, &[u8]) + Send + Sync;

/// Gets what plugins print.
#[derive(Clone)]
pub struct Console(Arc<Show>);

// === impl Console ===

impl Console {
    /// Passes the name of a plugin and what it has printed to this function, after each call in which it has.
    pub fn new(show: impl Fn(&str, &[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    /// Shows what a call has printed. `returned`: the instance, if it can be asked for what it keeps.
    pub(crate) fn show(&self, plugin: &Plugin, store: &mut Store<CallState>, returned: Option<Instance>) {
        if let Some(kept) = returned.and_then(|instance| take_output(store, &instance)) {
            store.data_mut().print(kept.as_bytes());
        }
        let printed = std::mem::take(&mut store.data_mut().printed);
        if !printed.is_empty() {
            (self.0)(plugin.name(), &printed);
        }
    }
}

/// What an instance has kept. Its reply is there already, so a failure of this call has no other effect.
fn take_output(store: &mut Store<CallState>, instance: &Instance) -> Option<String> {
    let output = instance.get_export_index(&mut *store, None, OUTPUT)?;
    let take = instance.get_export_index(&mut *store, Some(&output), "take")?;
    let take = instance.get_typed_func::<(), (String,)>(&mut *store, take);
    let taken = take.and_then(|take| take.call(&mut *store, ()));
    let taken = taken.inspect_err(|error| tracing::debug!(%error, "the output of a plugin cannot be taken"));
    taken.ok().map(|(text,)| text)
}

/// Connects the import of a component that prints.
pub(crate) fn connect(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let mut instance = linker.instance(CONSOLE)?;
    instance.func_wrap("print", |mut store, (text,): (Vec<u8>,)| {
        store.data_mut().print(&text);
        Ok(())
    })
}

// === impl CallState ===

impl CallState {
    /// Keeps a text that the instance prints, up to a limit.
    fn print(&mut self, text: &[u8]) {
        let Some(room) = MAX_PRINTED_BYTES.checked_sub(self.printed.len()) else {
            return;
        };
        self.printed.extend_from_slice(text.get(..room).unwrap_or(text));
        if text.len() > room {
            let limit = MAX_PRINTED_BYTES >> 10;
            let rest = format!("\nmore than {limit} KiB of output; the rest is not shown\n");
            self.printed.extend_from_slice(rest.as_bytes());
        }
    }
}

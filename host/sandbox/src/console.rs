//! The output of plugins, for debugging: only where a command has a console.

use crate::call_state::CallState;
use crate::component::CONSOLE;
use std::fmt;
use std::sync::Arc;
use wasmtime::component::Linker;

type Print = dyn Fn(&[u8]) + Send + Sync;

/// Gets what plugins print.
#[derive(Clone)]
pub struct Console(Arc<Print>);

// === impl Console ===

impl Console {
    /// Drops each text.
    pub(crate) fn nowhere() -> Self {
        Self::new(|_| {})
    }

    /// Passes each text to this function.
    pub fn new(print: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(print))
    }

    /// Connects the import of a component that prints.
    pub(crate) fn connect(&self, linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
        let print = self.0.clone();
        let mut instance = linker.instance(CONSOLE)?;
        instance.func_wrap("print", move |_, (text,): (Vec<u8>,)| {
            print(&text);
            Ok(())
        })
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Console")
    }
}

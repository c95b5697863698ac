//! Whether the functions of a component have the types of the contract. The engine checks them at each call, which
//! would be in the conversion of every deployment that uses the plugin.

use crate::account::Account;
use crate::bindings::exports::boson as exports;
use crate::call_state::CallState;
use crate::engine::Sandbox;
use crate::error::{Failure, FailureKind};
use crate::plugin::Plugin;
use boson_pipeline::Stage;
use wasmtime::Store;
use wasmtime::component::Instance;

// === impl Sandbox ===

impl Sandbox {
    /// Creates an instance of a plugin, and looks up its functions.
    ///
    /// # Errors
    /// As [`Sandbox::instantiate`], or a function is missing or has other types.
    pub(crate) fn try_out(&self, plugin: &Plugin) -> Result<(), Failure> {
        let mut unfit = None;
        let (result, _) = self.call(plugin, &Account::unbounded(), |store, instance| {
            unfit = look_up(plugin, store, instance).err();
            Ok(())
        });
        result?;
        unfit.map_or(Ok(()), |error| {
            let message = format!("does not have the functions of its stage: {error:#}");
            Err(plugin.failure(FailureKind::Refused, message))
        })
    }
}

fn look_up(plugin: &Plugin, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<()> {
    macro_rules! interface {
        ($path:path) => {{
            use $path as interface;
            let found = interface::GuestIndices::new(&plugin.pre)?;
            found.load(&mut *store, instance).map(drop)
        }};
    }
    interface!(exports::types::about)?;
    match plugin.stage {
        Stage::Ops => interface!(exports::ops::operations),
        Stage::Variables => interface!(exports::variables::interpolation),
        Stage::Links => interface!(exports::links::resolution),
        Stage::Render => interface!(exports::render::templates),
        Stage::Bpm => interface!(exports::bpm::conversion),
        Stage::Resources => interface!(exports::resources::transformation),
        Stage::Checks => interface!(exports::checks::policy),
    }
}

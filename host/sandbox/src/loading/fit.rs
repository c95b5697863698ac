//! Whether the functions of a component have the types of the contract. The engine checks them at each call, which
//! would be in the conversion of every deployment that uses the plugin.

use crate::bindings::exports::boson as exports;
use crate::component::{self, ABOUT};
use crate::engine::Sandbox;
use crate::error::{Error, ErrorKind};
use crate::limits::account::Account;
use crate::limits::call_state::CallState;
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
    pub(crate) fn try_out(&self, plugin: &Plugin) -> Result<(), Error> {
        let mut missing = None;
        let (result, _) = self.call(plugin, &Account::unbounded(), |store, instance| {
            missing = look_up(plugin, store, instance).err();
            Ok(())
        });
        result?;
        missing.map_or(Ok(()), |(interface, error)| {
            let exports = self.interfaces(plugin).exports;
            let found = exports.iter().find(|export| component::provides(export, interface));
            let (functions, cause) = (functions(interface, plugin.stage), error.root_cause());
            let message = format!(
                "was built for another contract: {functions} of {} is not that of {interface}, which this host \
                 offers: {cause}",
                found.map_or(interface, String::as_str)
            );
            Err(plugin.failure(ErrorKind::Refused, message))
        })
    }
}

/// `the function 'transform'`; of an interface with several functions, one of them differs.
fn functions(interface: &str, stage: Stage) -> String {
    let names: &[&str] = if interface == ABOUT {
        &["describe"]
    } else {
        component::interface(stage).1
    };
    format!("the function '{}'", names.join("' or '"))
}

/// The interface whose functions differ, and how.
fn look_up(
    plugin: &Plugin,
    store: &mut Store<CallState>,
    instance: &Instance,
) -> Result<(), (&'static str, wasmtime::Error)> {
    macro_rules! interface {
        ($path:path) => {{
            use $path as interface;
            let found = interface::GuestIndices::new(&plugin.pre);
            found.and_then(|found| found.load(&mut *store, instance).map(drop))
        }};
    }
    interface!(exports::types::about).map_err(|error| (ABOUT, error))?;
    let of_stage = match plugin.stage {
        Stage::Ops => interface!(exports::ops::operations),
        Stage::Variables => interface!(exports::variables::interpolation),
        Stage::Links => interface!(exports::links::resolution),
        Stage::Render => interface!(exports::render::templates),
        Stage::Bpm => interface!(exports::bpm::conversion),
        Stage::Resources => interface!(exports::resources::transformation),
        Stage::Checks => interface!(exports::checks::policy),
    };
    of_stage.map_err(|error| (component::interface(plugin.stage).0, error))
}

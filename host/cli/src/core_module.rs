//! Core modules that a user gives in place of components: compilers make them, and a component is made of them here.

use crate::codes;
use boson_componentize::{Console, Error};
use boson_pipeline::Diagnostic;
use boson_pipeline::packed::MAX_COMPONENT;
use std::fs::File;
use std::io::Read;
use std::panic;
use std::path::Path;

/// The component of a file that has a core module; `None` for any other file, also one that cannot be read.
///
/// # Errors
/// No component can be made of the module.
pub fn component(path: &Path, console: Console) -> Result<Option<Vec<u8>>, Box<Diagnostic>> {
    let bound = u64::try_from(MAX_COMPONENT).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let mut file = match File::open(path) {
        Ok(file) => file.take(bound),
        Err(_) => return Ok(None),
    };
    // The beginning decides: a component is read by the sandbox.
    let begin = file.by_ref().take(8).read_to_end(&mut bytes);
    if begin.is_err() || !boson_componentize::is_core_module(&bytes) || file.read_to_end(&mut bytes).is_err() {
        return Ok(None);
    }
    // A panic inside is an error about the module, and its report is nothing to users.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let made = boson_componentize::component(&bytes, console);
    panic::set_hook(hook);
    made.map(Some).map_err(|error| Box::new(refused(path, &error)))
}

fn refused(path: &Path, error: &Error) -> Diagnostic {
    let message = format!(
        "no component can be made of the core module '{}': {error}",
        path.display()
    );
    let diagnostic = Diagnostic::error(codes::PLUGIN_CORE_MODULE, message);
    match error.help() {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

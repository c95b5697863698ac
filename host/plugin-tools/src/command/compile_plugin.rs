//! `host compile-plugin`: compiles foreign code in a process that limits itself. Compilation is not covered by fuel: a
//! component made for it can use any amount of processor time and memory.

use crate::confined;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_componentize::{Error, without_wasi};
use boson_sandbox::{ASYNC_MARK, Cache, Limits, Sandbox, Task, note_answered};
use parking_lot::Mutex;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

pub fn run() -> Result<(), ExitError> {
    let component = confined::begin(Task::Compile, "component")?;
    match compile(&component) {
        Ok(code) => Ok(confined::end(&code, "machine code")?),
        Err(message) => {
            // The last line is what the parent process reports.
            output::eprint(&format!("{message}\n"));
            Err(ExitError::Input)
        }
    }
}

/// The machine code, or the reason for the failure in one sentence.
fn compile(component: &[u8]) -> Result<Vec<u8>, String> {
    let place = Arc::new(Mutex::new(String::new()));
    let noted = place.clone();
    // Of a defect in the compiler, only the place in its source is useful to users, who can report it.
    panic::set_hook(Box::new(move |panic| {
        let place = panic
            .location()
            .map(|place| format!("{}:{}", place.file(), place.line()));
        *noted.lock() = place.unwrap_or_default();
    }));
    let compiled = panic::catch_unwind(AssertUnwindSafe(|| machine_code(component)));
    let defect = |_| {
        let place = place.lock();
        Err(format!("cannot be compiled: the compiler has a defect ({place})"))
    };
    compiled.map_or_else(defect, |compiled| {
        compiled.map_err(|message| message.replace('\n', " "))
    })
}

/// The machine code of the component with WASI answered inside of it.
fn machine_code(component: &[u8]) -> Result<Vec<u8>, String> {
    let answered = without_wasi(component).map_err(|error| match error {
        Error::Async => format!("{ASYNC_MARK}{error}"),
        other => other.to_string(),
    })?;
    let component = answered.as_deref().unwrap_or(component);
    let compiled = Sandbox::new(Limits::default(), Cache::none()).and_then(|sandbox| sandbox.compile("", component));
    let mut code = compiled.map_err(|failure| failure.message)?;
    if answered.is_some() {
        note_answered(&mut code, component);
    }
    Ok(code)
}

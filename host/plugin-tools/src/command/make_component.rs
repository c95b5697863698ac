//! `host make-component`: makes a component of a foreign core module in a process that limits itself. The crates that
//! read worlds follow their nesting on the stack, and nothing can catch a stack that overflows.

use crate::confined;
use crate::core_module::Reply;
use boson_commands::exit::ExitError;
use boson_componentize::component;
use boson_sandbox::Task;
use std::panic;

pub fn run() -> Result<(), ExitError> {
    let module = confined::begin(Task::MakeComponent, "module")?;
    // A panic is reported as an error about the module; the text that Rust prints would not help users.
    panic::set_hook(Box::new(|_| {}));
    let reply = Reply::of(component(&module));
    Ok(confined::end(&reply.into_bytes(), "component")?)
}

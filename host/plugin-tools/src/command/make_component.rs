//! `host make-component`: makes a component of a foreign core module in a process that limits itself. The crates that
//! read worlds follow their nesting on the stack, and nothing can catch a stack that overflows.

use crate::confined::confine;
use crate::core_module::Reply;
use anyhow::Context;
use boson_commands::exit::ExitError;
use boson_componentize::component;
use boson_sandbox::Task;
use std::io::{Read, Write};
use std::panic;

pub fn run() -> Result<(), ExitError> {
    confine(Task::MakeComponent)?;
    let mut module = Vec::new();
    std::io::stdin()
        .read_to_end(&mut module)
        .context("cannot read the module")?;
    // A panic is reported as an error about the module; the text that Rust prints would not help users.
    panic::set_hook(Box::new(|_| {}));
    let reply = Reply::of(component(&module));
    Ok(std::io::stdout()
        .write_all(&reply.into_bytes())
        .context("cannot write the component")?)
}

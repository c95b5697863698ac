//! `host check-settings`: checks settings of a foreign plugin against its schema, in a process that limits itself.

use crate::confined::confine;
use anyhow::Context;
use boson_commands::exit::ExitError;
use boson_sandbox::{Task, settings};
use std::io::{Read, Write};
use std::panic;

pub fn run() -> Result<(), ExitError> {
    confine(Task::CheckSettings)?;
    let mut question = Vec::new();
    std::io::stdin()
        .read_to_end(&mut question)
        .context("cannot read the settings")?;
    // The text of a panic would not help users.
    panic::set_hook(Box::new(|_| {}));
    Ok(std::io::stdout()
        .write_all(settings::answered(&question).as_bytes())
        .context("cannot write the result")?)
}

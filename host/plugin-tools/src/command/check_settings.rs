//! `host check-settings`: checks settings of a foreign plugin against its schema, in a process that limits itself.

use crate::confined;
use boson_commands::exit::ExitError;
use boson_sandbox::{Task, settings};
use std::panic;

pub fn run() -> Result<(), ExitError> {
    let question = confined::begin(Task::CheckSettings, "settings")?;
    // The text of a panic would not help users.
    panic::set_hook(Box::new(|_| {}));
    Ok(confined::end(settings::answer(&question).as_bytes(), "result")?)
}

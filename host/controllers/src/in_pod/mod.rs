//! What the operator and the pods of its conversion jobs agree on: where files are, how values of variables lie in a folder, and how
//! diagnostics come back. Pure.

mod inputs;
mod report;
mod values;

pub use inputs::digest;
pub use report::{MOST, Report, from_message, to_message};
pub use values::{Held, Origin, Values};

/// Where a container leaves what becomes Secrets.
pub const OUTPUT: &str = "/mnt/quarks/output.json";
/// Where a container leaves what it has to say.
pub const TERMINATION_LOG: &str = "/dev/termination-log";
/// Exit code of a command that has told what is wrong: another try would tell the same.
pub const REPORTED: u8 = 65;
/// Exit code of a command whose mounts are not those that it was started for: a new pod gets the new ones.
pub const TRY_AGAIN: u8 = 75;

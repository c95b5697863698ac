//! What the operator and the commands in the pods of its conversion jobs agree on: paths, exit codes, the folder layout
//! of values, and the report of diagnostics. Pure. It uses the types of Kubernetes objects, but never kube, so that a
//! command in a pod needs no client.

pub mod codes;
mod inputs;
mod report;
pub mod secrets;
mod values;

pub use codes::ALL as CODES;
pub use inputs::digest;
pub use report::{MAX_MESSAGE_BYTES, Report, from_message, to_message};
pub use values::{Held, Origin, Values};

/// User and group of the commands: those of the operator's image.
pub const USER_ID: i64 = 1000;
/// The file of a container that becomes Secrets.
pub const OUTPUT_PATH: &str = "/mnt/quarks/output.json";
/// The file with the links that the deployment provides, beside [`OUTPUT_PATH`].
pub const PROVIDERS_PATH: &str = "/mnt/quarks/providers.json";
/// The file with the report of a container.
pub const TERMINATION_LOG_PATH: &str = "/dev/termination-log";
/// Exit code of a command that has reported errors in its input: a retry would fail, too.
pub const REPORTED_EXIT_CODE: u8 = 65;
/// Exit code of a command whose mounts have changed since it was ordered: a new pod gets the new ones.
pub const TRY_AGAIN_EXIT_CODE: u8 = 75;

//! Output of the containers of a QuarksJob: files that become Secrets. The operator passes an [`Order`] to an
//! additional container of the Job, `host util persist-output`. That container waits for the others ([`exit_code()`]),
//! parses their files ([`secrets`]), and writes the Secrets ([`keep()`]). A crate of its own, because that container
//! needs no controller.

pub mod codes;
mod exit_code;
mod keep;
mod order;
mod parsed;

pub use codes::ALL as CODES;
pub use exit_code::exit_code;
pub use keep::{KeepError, keep};
pub use order::Order;
pub use parsed::{MAX_FILE_BYTES, Wanted, secrets};

/// Name of the container that stores the output.
pub const CONTAINER: &str = "output-persist";
/// Where containers write their files; [`CONTAINER`] has a subdirectory for each.
pub const DIRECTORY: &str = "/mnt/quarks";
/// Environment variable with the [`Order`].
pub const ORDER: &str = "BOSON_OUTPUT";

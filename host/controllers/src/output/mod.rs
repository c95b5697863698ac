//! Output of a QuarksJob's containers: files that become Secrets. The operator orders it ([`Order`]); `host util persist-output`, a container beside
//! those of the Job, does it: [`ends`] tells when a container is done, [`secrets`] what its file asks for, and [`keep`] writes that.

mod ends;
mod keep;
mod order;
mod parsed;

pub use ends::{End, ends, get_pod};
pub use keep::{Failure, keep};
pub use order::Order;
pub use parsed::{FILE_LIMIT, Wanted, secrets};

/// Name of the container that keeps the output.
pub const CONTAINER: &str = "output-persist";
/// Where a container leaves its files; in [`CONTAINER`], a directory for each.
pub const DIRECTORY: &str = "/mnt/quarks";
/// Environment variable with the [`Order`].
pub const ORDER: &str = "BOSON_OUTPUT";

//! `make up` and `make down`: the commands of `docs/install.md`, in a cluster that a process in the background owns, or
//! in the user's cluster.

mod keeper;
mod site;
mod steps;

pub use self::keeper::keep;
pub use self::site::{Site, disks};
pub use self::steps::{down, up};

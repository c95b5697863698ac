//! Values of variables: from flags, files, environment and store, and the flow of interpolation.
//!
//! Pure: the caller reads the files, generates the values ([`Generator`]), and writes the store if it has changed.

mod checks;
pub mod codes;
mod definitions;
mod flow;
mod given;
mod inputs;
mod options;
mod resolver;
mod sent;
mod steps;
mod store;

pub use checks::ahead::is_stand_in;
pub use definitions::amend::AskAddresses;
pub use definitions::generate::Generator;
pub use flow::{Interpolation, interpolate};
pub use given::flags::{FilePath, without_value_of_flag};
pub use given::sources::Sources;
pub use given::table::Table;
pub use given::words::{plain_words, suggests_secret};
pub use inputs::{CheckAhead, Inputs};
pub use options::{Check, Options};
pub use steps::{Wanted, desired, wanted};
pub use store::Store;
pub use store::recipes::Recipes;

//! Values of variables: from flags, files, environment and store, and the flow of interpolation.
//!
//! Pure: the caller reads the files, generates the values ([`Generator`]), and writes the store if it has changed.

mod ahead;
mod amend;
mod checks;
mod circle;
pub mod codes;
mod exposed;
mod flags;
mod flow;
mod generate;
mod given;
mod inputs;
mod names;
mod options;
mod plain;
mod recipes;
mod resolver;
mod sent;
mod sources;
mod steps;
mod store;
mod table;
mod update;
mod words;

pub use ahead::is_stand_in;
pub use amend::AskAddresses;
pub use flags::{FilePath, without_value_of_flag};
pub use flow::{Interpolation, interpolate};
pub use generate::Generator;
pub use inputs::{CheckAhead, Inputs};
pub use options::{Check, Options};
pub use recipes::Recipes;
pub use sources::Sources;
pub use steps::{Wanted, desired, wanted};
pub use store::Store;
pub use table::Table;
pub use words::{plain_words, suggests_secret};

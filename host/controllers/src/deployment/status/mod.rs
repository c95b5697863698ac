//! The status of a deployment, from the state that a reconcile observed. Pure: `act` writes it.

mod after;
mod conditions;
mod errands;
mod outcome;
mod shadows;
mod unserved;

pub use after::{after, created};
pub use conditions::REFUSED;
pub use errands::Errands;
pub use outcome::{CONVERSION_STEPS, Done, Observed, Outcome};
pub use shadows::results as shadow_results;
pub use unserved::unserved;

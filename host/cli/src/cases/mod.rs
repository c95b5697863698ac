//! Cases of plugins: calls with the replies that are expected. They are recorded from conversions, and tested.

mod case;
pub mod conformance;
pub mod edge;
pub mod fuzz;
mod headroom;
mod junit;
mod recording;
pub mod replies;
mod tested;

pub use case::{Called, Case, failure, folders, reply};
pub use headroom::Headroom;
pub use junit::report;
pub use recording::Recording;
pub use tested::{Outcome, Tested};

//! Cases of plugins: calls with the replies that are expected. They are recorded from conversions, and tested.

mod case;
mod comparison;
pub mod conformance;
pub mod edge;
pub mod folders;
pub mod fuzz;
mod headroom;
mod junit;
pub mod packed;
mod recording;
pub mod replies;
mod self_test;
mod tested;

pub use case::{Called, Case, failure, reply};
pub use comparison::{Compared, Mismatch, compare};
pub use headroom::Headroom;
pub use junit::report;
pub use recording::Recording;
pub use self_test::{account, pass, replies_at_all};
pub use tested::{Outcome, Tested};

//! Compiles the packages of a release by their own `packaging` scripts, in the environment of BOSH's agent.
//!
//! Containers are run by the builder of images that the user has. It gets a build context for each package: a
//! Dockerfile, the sources, and the compiled packages that it depends on; no names of registries, and no credentials.
//! What comes out is a layer of the release's image, which is cached by BOSH's fingerprint.

mod builder;
mod cache;
pub mod codes;
mod compiler;
mod context;
mod dockerfile;
mod key;
mod log;
mod schedule;

pub use builder::{Builder, Choice};
pub use codes::ALL as CODES;
pub use compiler::{Compiler, Event, Settings, Tally};
pub use context::{Whole, write};

//! Drives the steps of a conversion, as `host convert` does: see `boson_pipeline::convert`. It differs in where a
//! step's result is stored: in Secrets. In the mode `Jobs`, pods call the steps, and only the objects are made here.

pub mod check;
mod gather;
mod interpolate;
pub mod links;
mod merge;
mod objects;
mod owned;
mod pull_secrets;
mod render;
mod traced;
pub mod variables;
mod work;

pub use gather::gather;
pub use interpolate::interpolate;
pub use merge::merge;
pub use objects::objects;
pub use render::render;
pub use traced::with_tracing;
pub use work::Work;

//! Images of releases: what `/var/vcap/jobs-src` and `/var/vcap/packages` of a pod come from.
//!
//! # Guarantees
//! The same release on the same base gives the same bytes: times are 1970, owners fixed, the order is that of the names
//! or of the release's own tarballs, and compression does not depend on the machine. Packages pass through as streams;
//! memory does not grow with them. Input is not trusted: paths, links, devices, sizes and ratios are checked as for
//! conversions, and every package against its digest.

mod base;
mod build;
pub mod codes;
mod download;
mod error;
mod gzip;
mod jobs;
mod layer;
mod packages;
mod wanted;
pub mod write;

pub use base::Base;
pub use build::{Ingredients, Packages, build};
pub use codes::ALL as CODES;
pub use download::{Download, Downloads, Release};
pub use gzip::Pool;
pub use jobs::jobs_layer;
pub use layer::VCAP_GROUP_ID;
pub use packages::package_layer;
pub use wanted::{Stemcell, Wanted, wanted};

//! Reads what a deployment is made from: the documents that users wrote, the values of variables, and releases from
//! their images.

pub mod digests;
mod documents;
mod links;
mod memory;
mod pull_secrets;
mod references;
mod releases;
mod shared_links;
mod sizes;
mod variables;

pub use documents::{Documents, read as documents};
pub use links::read as links;
pub use pull_secrets::{has_credentials, names_in_pods as pull_secrets};
pub use references::digest_now;
pub use releases::{images, read as releases};
pub use variables::{generated, given};

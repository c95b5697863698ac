//! The names of BOSH DNS in a deployment's pods.
//!
//! The core is pure: a [`zone::Zone`] (the names), [`instances::Snapshot`] (the pods and their health) and
//! [`resolve::resolve`], which answers as BOSH's server does. [`own_names`] and [`resolv_conf`] make the files of a
//! pod. [`server`] is the only part with sockets, files and a cluster.

pub mod instances;
pub mod lookup;
pub mod own_names;
pub mod query;
pub mod resolv_conf;
pub mod resolve;
pub mod server;
pub mod upcheck;
pub mod wire;
pub mod zone;

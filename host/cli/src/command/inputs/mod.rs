//! What several commands read: manifests, ops files, configs, variables, releases, links from outside, and the options
//! that name them.

pub mod configs;
pub mod defaults;
pub mod instances;
pub mod names;
pub mod native;
pub mod releases;
pub mod variables;

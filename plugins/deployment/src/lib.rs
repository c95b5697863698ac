//! What several stages know of a deployment: names, instances, addons, the cloud config. Pure; no WIT.

pub mod addons;
pub mod cloud;
pub mod contract;
pub mod copier;
pub mod images;
pub mod instances;
pub mod labels;
pub mod names;

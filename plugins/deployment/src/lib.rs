//! What several stages know of a deployment: names, instances, addons. Pure; no WIT.

pub mod addons;
pub mod contract;
pub mod copier;
pub mod images;
pub mod instances;
pub mod labels;
pub mod names;

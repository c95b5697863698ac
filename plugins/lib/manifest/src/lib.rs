//! Code about manifests and deployments that several stages share: BOSH's type check, tables of keys, readers of
//! releases, stemcells, instance groups, jobs, job specs and addons, names, instances, the cloud config, names of BOSH
//! DNS, kernel parameters, shared packages, what Kubernetes accepts as names and keys. Pure; no WIT.

pub mod addons;
pub mod cloud;
pub mod container_run;
pub mod copier;
pub mod dns;
pub mod group;
pub mod images;
pub mod instances;
pub mod job;
pub mod labels;
pub mod members;
pub mod names;
pub mod packages;
pub mod pod_contract;
pub mod pre_render;
pub mod redacted;
pub mod release;
pub mod schema;
pub mod settings;
pub mod spec;
pub mod stemcell;
pub mod syntax;
pub mod sysctl;
pub mod types;
pub mod waiting;

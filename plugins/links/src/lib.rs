//! The links stage: which jobs run where, with which properties and links.
//!
//! Reads the manifest and the jobs' specs, places addons, binds properties, finds a provider for every consumed link,
//! lays out the instances, and writes one resolved document for each instance group. Pure.

pub mod addons;
pub mod codes;
pub mod consume;
pub mod content;
pub mod data;
mod declaration;
pub mod group;
#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "generated bindings")]
mod guest;
pub mod job;
pub mod limit;
pub mod manifest;
pub mod properties;
pub mod provide;
pub mod quarks;
pub mod resolve;
pub mod resolved;
mod stage;
pub mod variables;

pub use boson_contract::links::{
    Addresses, Consumed, External, ExternalLink, JobSpec, LinksRequest, OtherDeployment, Resolved,
};
pub use boson_contract::types::{Deployment, Named};
pub use content::Ids;
pub use stage::{addresses, resolve};

/// JSON Schema of the stage's settings.
pub const SETTINGS_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "ids": {
      "description": "Whose `spec.name` and `spec.id` are, and `name` and `id` of a link's instances: `instance` (one for all jobs of an instance, as in BOSH), or `job` (with the job's name appended).",
      "enum": ["instance", "job"]
    }
  }
}"#;

//! The pure part of the host: inputs, stage order, bundle, diagnostics. No tokio, kube, wasmtime, file system or clock.

pub mod author;
pub mod blame;
pub mod bundle;
pub mod changes;
pub mod cloud_config;
pub mod codes;
pub mod convert;
pub mod deployment_diff;
pub mod diagnostic;
pub mod difference;
pub mod digest;
pub mod encoding;
pub mod external;
pub mod glob;
pub mod listing;
pub mod name_rule;
mod object;
pub mod packed;
pub mod plain;
pub mod pod_resources;
pub mod quantities;
pub mod release;
pub mod report;
pub mod resolved_document;
pub mod runtime_config;
pub mod schema;
pub mod scrub;
pub mod settings;
pub mod shadow;
pub mod stage;
pub mod variables;
pub mod yaml;

pub use author::{Author, Installer};
pub use diagnostic::{Diagnostic, Place, Severity};
pub use stage::{Stage, StageError, Stages};

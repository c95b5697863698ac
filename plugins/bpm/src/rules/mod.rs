//! Kubernetes' rules for the parts of a manifest that are copied into objects.

pub mod affinity;
pub mod disk_rules;
pub mod fields;
pub mod kubernetes_rules;

//! The bpm stage: an instance group becomes Kubernetes objects.
//!
//! [`convert::deployment`] converts the manifest outside its groups, [`convert::group`] one group. The results are
//! objects of the operator's kinds, complete except for differences between zones and versions. To make plain
//! Kubernetes objects from them, the QuarksStatefulSet controller and the command line's plain target apply these
//! rules:
//!
//! - **QuarksStatefulSet -> StatefulSets.** One for each entry of `spec.zones`, or one without zones. Each is
//!   `spec.template` with
//!   - name `names::stateful_set(group, zone number or none, version)`: `<dep>-<ig>[-z<n>]-v1`;
//!   - the labels `az-index` (`"0"`, `"1"`, ...; `"0"` without zones), `az-name` (with zones) and
//!     `quarks-statefulset-name` (its own name) on the set and its pods, `az-index` and `quarks-statefulset-name` in
//!     its selector: the Services select by `az-index`;
//!   - with zones: node affinity `spec.zoneNodeLabel In [spec.zoneValues[zone], else zone]`, added to the
//!     `matchExpressions` of *each* of the user's `nodeSelectorTerms` (terms are alternatives: one more would defeat
//!     the pinning), or as the only term;
//!   - in every container and init container: env `AZ_INDEX` and, where it is there, `BOSH_AZ_INDEX` (zone number + 1)
//!     replaced, `KUBE_AZ`, `BOSH_AZ`, `CF_OPERATOR_AZ` (zone name, `""` without zones) added before the others if the
//!     name is not used.
//! - **Replicas.** `REPLICAS` and `BOSH_REPLICA_COUNT` come from the key `replicas` of the resolved Secret (optional),
//!   so that scaling changes only that Secret's name in a pod template: the writer of that Secret adds the key,
//!   `instances` of the group as text. A plain target may write the number instead.
//! - **`spec.activePassiveProbes`** need a controller, which asks the port `active-passive` of the pods and labels one
//!   of them: without one, drop the label `pod-active` from the Services' selectors and warn.
//! - **QuarksJob -> Job.** `spec.template` is the Job's template; `trigger.strategy: manual` is a Job with `suspend:
//!   true`, `once` one without.
//! - **QuarksSecret -> Secret** of the name `spec.secretName`, with `secretLabels` and `secretAnnotations`.
//!
//! Services, Secrets and PersistentVolumeClaims are plain already. Namespace and owner references are the host's.

pub mod codes;
mod container_run;
mod containers;
pub mod convert;
mod deployment;
mod group;
mod literal;
mod metadata;
mod object;
mod process;
mod read;
pub mod request;
mod rules;
mod volumes;
mod workload;

#[cfg(target_family = "wasm")]
mod guest;

/// JSON Schema of the stage's settings.
pub const SETTINGS_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "uids": {
      "description": "User id of the processes of a release whose image does not have BOSH's vcap (1000): release -> id.",
      "type": "object",
      "additionalProperties": { "type": "integer", "minimum": 1 }
    }
  }
}"#;

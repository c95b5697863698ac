//! Conditions in the standard Kubernetes form: `kubectl wait --for=condition=Ready` reads these.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The aspect, such as Ready.
    #[serde(rename = "type")]
    #[schemars(length(max = 316))]
    pub kind: String,
    /// Whether it holds. Unknown: the operator cannot tell yet.
    pub status: ConditionStatus,
    /// Why, as one word that programs can compare.
    #[schemars(
        length(min = 1, max = 1024),
        regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub reason: String,
    /// Why, as a sentence for people. It never holds a secret value.
    #[schemars(length(max = 32768))]
    pub message: String,
    /// When the status last changed from one value to another.
    #[schemars(schema_with = "crate::api::schema::date_time")]
    pub last_transition_time: Time,
    /// The metadata.generation that the condition is about. If it is less than the present one, the condition is out of date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It is not known yet.
    Unknown,
}

// === impl ConditionStatus ===

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        match holds {
            true => Self::True,
            false => Self::False,
        }
    }
}

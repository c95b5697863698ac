//! A 16-byte digest of the state of an object: equal digests mean the same object in the same state, as far as
//! controllers care.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use sha2::{Digest, Sha256};

/// A digest of the state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectDigest([u8; 16]);

// === impl ObjectDigest ===

impl ObjectDigest {
    /// The digest of an object with this metadata.
    ///
    /// If the server counts generations, a new status is not a new state: else each change of a pod would cost a
    /// conversion.
    pub fn of(meta: &ObjectMeta) -> Self {
        let state = match meta.generation {
            Some(generation) => json!([
                generation,
                meta.labels,
                meta.annotations,
                meta.owner_references,
                meta.deletion_timestamp.is_some()
            ]),
            None => json!(meta.resource_version),
        };
        Self::of_bytes(json!([meta.uid, state]).to_string().as_bytes())
    }

    /// The digest of a generation alone.
    pub fn of_generation(generation: i64) -> Self {
        Self::of_bytes(&generation.to_be_bytes())
    }

    pub fn of_bytes(bytes: &[u8]) -> Self {
        let digest = Sha256::digest(bytes);
        Self(std::array::from_fn(|at| digest[at]))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(value: serde_json::Value) -> ObjectDigest {
        ObjectDigest::of(&serde_json::from_value(value).unwrap())
    }

    #[test]
    fn a_new_status_is_the_same_state_where_generations_are_counted() {
        let one = meta(json!({"uid": "u", "generation": 1, "resourceVersion": "1"}));
        assert_eq!(one, meta(json!({"uid": "u", "generation": 1, "resourceVersion": "2"})));
        for other in [
            json!({"uid": "u", "generation": 2, "resourceVersion": "1"}),
            json!({"uid": "v", "generation": 1, "resourceVersion": "1"}),
            json!({"uid": "u", "generation": 1, "labels": {"a": "b"}}),
            json!({"uid": "u", "generation": 1, "annotations": {"a": "b"}}),
            json!({"uid": "u", "generation": 1, "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "o"}]}),
            json!({"uid": "u", "generation": 1, "deletionTimestamp": "2026-01-01T00:00:00Z"}),
            json!({"uid": "u", "resourceVersion": "1"}),
        ] {
            assert_ne!(one, meta(other.clone()), "{other}");
        }
    }

    #[test]
    fn without_generations_every_change_counts() {
        let of = |version: &str| meta(json!({"uid": "u", "resourceVersion": version}));
        assert_ne!(of("1"), of("2"));
    }
}

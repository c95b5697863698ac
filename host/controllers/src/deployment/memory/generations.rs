//! Which generation of each deployment was recorded as a change last, so that what others cause later, such as an
//! edited ConfigMap, is not recorded as a change by whoever wrote the specification.

use super::Key;
use boson_api::BoshDeployment;
use parking_lot::Mutex;
use std::collections::HashMap;

/// The generations, by deployment.
#[derive(Debug, Default)]
pub struct Generations {
    all: Mutex<HashMap<Key, Option<i64>>>,
}

// === impl Generations ===

impl Generations {
    /// Whether the specification has changed since the last change that was recorded; from now on, it has not.
    pub fn advance(&self, key: &Key, object: &BoshDeployment) -> bool {
        let generation = object.metadata.generation;
        let before = self.all.lock().insert(key.clone(), generation);
        before.map_or_else(|| !object.is("Applied"), |before| before != generation)
    }

    pub fn forget(&self, key: &Key) {
        self.all.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn deployment(generation: i64, conditions: &Value) -> BoshDeployment {
        from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment",
            "metadata": {"name": "d", "generation": generation},
            "spec": {"manifest": {"type": "configmap", "name": "m"}}, "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn a_specification_has_changed_once() {
        let key = ("n".to_string(), "d".to_string());
        let applied = |status: &str, generation: i64| {
            json!([{"type": "Applied", "status": status, "reason": "r", "message": "m", "observedGeneration": generation,
                "lastTransitionTime": "2026-01-01T00:00:00Z"}])
        };
        let generations = Generations::default();
        assert!(
            generations.advance(&key, &deployment(1, &json!([]))),
            "a new deployment"
        );
        assert!(!generations.advance(&key, &deployment(1, &json!([]))));
        assert!(generations.advance(&key, &deployment(2, &applied("True", 2))));
        // After a restart of the operator.
        generations.forget(&key);
        assert!(!generations.advance(&key, &deployment(2, &applied("True", 2))));
        generations.forget(&key);
        assert!(
            generations.advance(&key, &deployment(2, &applied("Unknown", 2))),
            "it waited for values"
        );
    }
}

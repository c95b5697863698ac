//! Which generation of each deployment was recorded as a change last, so that what others cause later, such as an
//! edited ConfigMap, is not recorded as a change by whoever wrote the specification.

use super::by_deployment::ByDeployment;
use boson_api::BoshDeployment;
use boson_cluster::client::NamespacedName;

// === impl ByDeployment ===

impl ByDeployment<Option<i64>> {
    /// Whether the specification has changed since the last change that was recorded; from now on, it has not.
    pub fn advance(&self, key: &NamespacedName, object: &BoshDeployment) -> bool {
        let generation = object.metadata.generation;
        let before = self.set(key, generation);
        before.map_or_else(|| !object.is("Applied"), |before| generation != Some(before))
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
        let generations: ByDeployment<Option<i64>> = ByDeployment::default();
        assert!(
            generations.advance(&key, &deployment(1, &json!([]))),
            "a new deployment"
        );
        assert!(!generations.advance(&key, &deployment(1, &json!([]))));
        assert!(generations.advance(&key, &deployment(2, &applied("True", 2))));
        // After a restart of the operator.
        generations.set(&key, None);
        assert!(!generations.advance(&key, &deployment(2, &applied("True", 2))));
        generations.set(&key, None);
        assert!(
            generations.advance(&key, &deployment(2, &applied("Unknown", 2))),
            "it waited for values"
        );
    }
}

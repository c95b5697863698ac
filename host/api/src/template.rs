//! Templates of Jobs and StatefulSets, as their users wrote them: a type of Kubernetes would drop the fields that it
//! does not know, which the API server would then not report.

use crate::QuarksStatefulSetSpec;
use serde_json::{Map, Value};

/// From a template to the spec of its pods.
const POD: [&str; 3] = ["spec", "template", "spec"];
const VOLUMES: &str = "volumes";

// === impl QuarksStatefulSetSpec ===

impl QuarksStatefulSetSpec {
    /// The volumes of the pods, without claims.
    pub fn volumes(&self) -> &[Value] {
        let volumes = pod(&self.template).and_then(|pod| pod.get(VOLUMES)?.as_array());
        volumes.map_or(&[], Vec::as_slice)
    }
}

/// The spec of the pods of a template.
fn pod(template: &Map<String, Value>) -> Option<&Value> {
    let [first, rest @ ..] = POD;
    rest.iter().try_fold(template.get(first)?, |value, key| value.get(key))
}

/// The spec of the pods of a template, to change it.
pub fn pod_mut(template: &mut Map<String, Value>) -> Option<&mut Value> {
    let [first, rest @ ..] = POD;
    rest.iter()
        .try_fold(template.get_mut(first)?, |value, key| value.get_mut(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_pod_is_the_one_inside_of_the_template() {
        let template = json!({"spec": {"template": {"spec": {"volumes": [1]}}}});
        let mut template = template.as_object().unwrap().clone();
        assert_eq!(pod(&template), Some(&json!({"volumes": [1]})));
        *pod_mut(&mut template).unwrap() = json!(2);
        assert_eq!(pod(&template), Some(&json!(2)));
        assert_eq!(pod(&Map::new()), None);
    }
}

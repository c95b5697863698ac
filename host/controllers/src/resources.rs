//! The CPU and memory in the spec of a QuarksStatefulSet that its pods can get without being replaced. Pure.

use boson_document::Tree;
use boson_pipeline::pod_resources;
use serde::Deserialize;
use serde_json::Value;

/// Where the spec of a QuarksStatefulSet has the spec of its pods.
const POD_SPEC: &str = "/template/spec/template/spec";

/// Takes their amounts out of the spec. Returns them in the form of a pod spec; see [`pod_resources::take`].
pub(crate) fn take(spec: &mut Value) -> Option<Value> {
    let pod = spec.pointer_mut(POD_SPEC)?;
    let mut tree = Tree::deserialize(&*pod).ok()?;
    let taken = pod_resources::take(&mut tree)?;
    *pod = serde_json::to_value(&tree).ok()?;
    serde_json::to_value(&taken).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(resources: &Value) -> Value {
        let container = json!({"name": "c", "resources": resources});
        json!({"zones": ["a"], "template": {"spec": {"template": {"spec": {"containers": [container]}}}}})
    }

    #[test]
    fn a_spec_without_amounts_stays_as_it_is() {
        let limits = |memory: &str| spec(&json!({"limits": {"memory": memory}}));
        let (mut small, mut large) = (limits("1Gi"), limits("2Gi"));
        assert_ne!(take(&mut small), take(&mut large));
        assert_eq!(small, large);
        let mut none = spec(&json!({}));
        assert_eq!((take(&mut none), none), (None, spec(&json!({}))));
    }
}

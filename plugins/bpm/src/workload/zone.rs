//! Zones: which nodes a pod may run on.

use crate::object::object;
use boson_document::Tree;

/// Label of a node with its zone.
pub const NODE_LABEL: &str = "topology.kubernetes.io/zone";

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// The user's affinity, and one of these zones.
///
/// The user's terms are alternatives: the zones are added to each of them, because as another term they would have no
/// effect.
pub fn pinned(affinity: Option<&Tree>, zones: &[String]) -> Tree {
    let zone = object! { "key" => NODE_LABEL, "operator" => "In", "values" => zones.to_vec() };
    let mut affinity = affinity.cloned().unwrap_or_else(Tree::object);
    let mut node = affinity.get("nodeAffinity").cloned().unwrap_or_else(Tree::object);
    let mut required = node.get(REQUIRED).cloned().unwrap_or_else(Tree::object);
    let mut terms = required.items("nodeSelectorTerms").to_vec();
    if terms.is_empty() {
        terms.push(Tree::object());
    }
    // A term of the user's without conditions matches no node, and must stay so.
    let given = required.items("nodeSelectorTerms").len();
    let open = |term: &Tree| term.items("matchExpressions").is_empty() && term.items("matchFields").is_empty();
    for term in terms.iter_mut().filter(|term| given == 0 || !open(term)) {
        let mut expressions = term.items("matchExpressions").to_vec();
        expressions.push(zone.clone());
        term.set("matchExpressions", expressions);
    }
    required.set("nodeSelectorTerms", terms);
    node.set(REQUIRED, required);
    affinity.set("nodeAffinity", node);
    affinity
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn zones_are_added_to_each_term() {
        let of =
            |affinity: &str| json::to_text(&pinned(json::parse(affinity).ok().as_ref(), &["a".into(), "b".into()]));
        let zone = r#"{"key":"topology.kubernetes.io/zone","operator":"In","values":["a","b"]}"#;
        let plain =
            format!(r#"{{"nodeAffinity":{{"{REQUIRED}":{{"nodeSelectorTerms":[{{"matchExpressions":[{zone}]}}]}}}}}}"#);
        assert_eq!(of(""), plain);
        let given = r#"{"podAffinity":{},"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"x","operator":"Exists"}]},{"matchFields":[]}]}}}"#;
        let expected = format!(
            r#"{{"podAffinity":{{}},"nodeAffinity":{{"{REQUIRED}":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"x","operator":"Exists"}},{zone}]}},{{"matchFields":[]}}]}}}}}}"#
        );
        assert_eq!(of(given), expected);
    }
}

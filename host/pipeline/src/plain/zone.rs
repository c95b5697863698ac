//! The parts of a pod that depend on its zone: node affinity, environment, labels.

use crate::object::member;
use boson_document::Tree;
use boson_manifest::{labels, pod_contract};

/// Node label with the zone, unless another one was configured.
pub(crate) const NODE_LABEL: &str = "topology.kubernetes.io/zone";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Zone<'t> {
    /// From 0.
    pub index: u32,
    /// `None`: the set has no zones.
    pub name: Option<&'t str>,
    /// Value of the zone label of its nodes.
    pub value: Option<&'t str>,
    /// Number of zones, at least 1.
    pub count: u32,
    pub replicas: i64,
    /// Number of pods in the largest zone: containers get this number.
    pub max_replicas: i64,
}

// === impl Zone ===

impl Zone<'_> {
    /// Suffix of the StatefulSet's name, before its version.
    pub fn ending(&self) -> String {
        self.name.map_or_else(String::new, |_| format!("-z{}", self.index))
    }

    pub fn labels(&self) -> Tree {
        Tree::object()
            .with(labels::AZ_INDEX, self.index.to_string())
            .with_some(labels::AZ_NAME, self.name)
    }

    /// Sets the zone in every container of a pod, and the replicas if the template does not set them.
    pub fn set_environment(&self, pod: &mut Tree, inject_replicas: bool) {
        let zone = self.name.unwrap_or_default();
        let (index, count) = ((self.index + 1).to_string(), self.count.to_string());
        let mut rules = vec![
            ("KUBE_AZ", zone, Rule::WhereFree),
            ("BOSH_AZ", zone, Rule::WhereFree),
            ("CF_OPERATOR_AZ", zone, Rule::WhereFree),
            ("AZ_INDEX", &index, Rule::Always),
            // Names used by the oldest source: only if the conversion asked for them.
            ("BOSH_AZ_INDEX", &index, Rule::WhereSet),
            (pod_contract::AZ_COUNT_VARIABLE, &count, Rule::WhereSet),
        ];
        let replicas = self.max_replicas.to_string();
        if inject_replicas && !knows_replicas(pod) {
            rules.push(("REPLICAS", &replicas, Rule::Always));
            rules.push(("BOSH_REPLICA_COUNT", &replicas, Rule::WhereSet));
        }
        for list in ["initContainers", "containers"] {
            for container in pod.items_mut(list) {
                set_variables(container, &rules);
            }
        }
    }

    /// Pins a pod to the zone's nodes, in addition to its other node constraints.
    pub fn set_affinity(&self, pod: &mut Tree, node_label: &str) {
        let Some(value) = self.value else { return };
        let expression = Tree::object()
            .with("key", node_label)
            .with("operator", "In")
            .with("values", vec![Tree::from(value)]);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let mut affinity = member(pod, "affinity");
        let mut node = member(&affinity, "nodeAffinity");
        let mut selector = member(&node, required);
        let terms = selector.items("nodeSelectorTerms");
        // Terms are alternatives: one without the zone would let pods leave it.
        let terms = match terms {
            [] => vec![Tree::object().with("matchExpressions", vec![expression])],
            terms => terms.iter().map(|term| pinned(term, &expression)).collect(),
        };
        selector.set("nodeSelectorTerms", terms);
        node.set(required, selector);
        affinity.set("nodeAffinity", node);
        pod.set("affinity", affinity);
    }
}

/// Adds the zone to a term. A term without conditions matches no node at all and stays unchanged.
fn pinned(term: &Tree, expression: &Tree) -> Tree {
    if term.items("matchExpressions").is_empty() && term.items("matchFields").is_empty() {
        return term.clone();
    }
    let mut expressions = term.items("matchExpressions").to_vec();
    expressions.push(expression.clone());
    term.clone().with("matchExpressions", expressions)
}

/// When a variable is set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Always,
    /// Only if the container has no variable of this name.
    WhereFree,
    /// Only if the container has a variable of this name.
    WhereSet,
}

/// Whether the template itself contains the source of the number. As text in the template, scaling would restart every
/// pod.
fn knows_replicas(pod: &Tree) -> bool {
    let containers = ["initContainers", "containers"]
        .into_iter()
        .flat_map(|list| pod.items(list));
    let mut variables = containers.flat_map(|container| container.items("env"));
    variables.any(|variable| variable.str("name") == Some("REPLICAS") && variable.get("valueFrom").is_some())
}

/// New variables come first, so that the container's own may refer to them by `$(AZ_INDEX)`.
fn set_variables(container: &mut Tree, rules: &[(&str, &str, Rule)]) {
    let mut env = container.items("env").to_vec();
    let mut new: Vec<Tree> = Vec::new();
    for (name, value, rule) in rules {
        let variable = Tree::object().with("name", *name).with("value", *value);
        match (env.iter_mut().find(|variable| variable.str("name") == Some(name)), rule) {
            (Some(found), Rule::Always | Rule::WhereSet) => *found = variable,
            (None, Rule::Always | Rule::WhereFree) => new.push(variable),
            _ => {}
        }
    }
    new.append(&mut env);
    container.set("env", new);
}

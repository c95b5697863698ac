//! What makes the pods of one zone: node affinity, environment, labels.

use boson_deployment::labels;
use boson_document::Tree;

/// Node label that says where a node is, where nothing else was asked for.
pub(crate) const NODE_LABEL: &str = "topology.kubernetes.io/zone";

/// One zone of a QuarksStatefulSet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zone<'t> {
    /// From 0.
    pub index: u32,
    /// None: the set has no zones.
    pub name: Option<&'t str>,
    /// Value of the zone label of its nodes.
    pub value: Option<&'t str>,
    /// How many there are, at least 1.
    pub count: u32,
    /// Its pods.
    pub replicas: i64,
    /// Pods of the zone that has most: what containers are told, because indexes are counted with it.
    pub fullest: i64,
}

// === impl Zone ===

impl Zone<'_> {
    /// Ending of the StatefulSet's name, before its version.
    pub fn ending(&self) -> String {
        self.name.map_or_else(String::new, |_| format!("-z{}", self.index))
    }

    /// Labels of StatefulSet and pods.
    pub fn labels(&self) -> Tree {
        let labels = Tree::object().with(labels::AZ_INDEX, self.index.to_string());
        match self.name {
            Some(name) => labels.with(labels::AZ_NAME, name),
            None => labels,
        }
    }

    /// Tells every container of a pod its zone, and the replicas where the template leaves that to us.
    pub fn set_environment(&self, pod: &mut Tree, replicas_told: bool) {
        let zone = self.name.unwrap_or_default();
        let (index, count) = ((self.index + 1).to_string(), self.count.to_string());
        let mut rules = vec![
            ("KUBE_AZ", zone, Rule::WhereFree),
            ("BOSH_AZ", zone, Rule::WhereFree),
            ("CF_OPERATOR_AZ", zone, Rule::WhereFree),
            ("AZ_INDEX", &index, Rule::Always),
            // The oldest source's names: only where the conversion asked for them.
            ("BOSH_AZ_INDEX", &index, Rule::WhereSet),
            ("BOSH_AZ_COUNT", &count, Rule::WhereSet),
        ];
        let replicas = self.fullest.to_string();
        if replicas_told && !knows_replicas(pod) {
            rules.push(("REPLICAS", &replicas, Rule::Always));
            rules.push(("BOSH_REPLICA_COUNT", &replicas, Rule::WhereSet));
        }
        for list in ["initContainers", "containers"] {
            for container in pod.get_mut(list).and_then(Tree::as_array_mut).into_iter().flatten() {
                set_variables(container, &rules);
            }
        }
    }

    /// Pins a pod to the zone's nodes, whatever else it asks of its nodes.
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

/// The term and the zone. A term without conditions matches no node at all and stays so.
fn pinned(term: &Tree, expression: &Tree) -> Tree {
    if term.items("matchExpressions").is_empty() && term.items("matchFields").is_empty() {
        return term.clone();
    }
    let mut expressions = term.items("matchExpressions").to_vec();
    expressions.push(expression.clone());
    term.clone().with("matchExpressions", expressions)
}

fn member(tree: &Tree, key: &str) -> Tree {
    tree.get(key)
        .filter(|value| value.as_object().is_some())
        .cloned()
        .unwrap_or_else(Tree::object)
}

/// When a variable is set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Whatever is there.
    Always,
    /// Only where a container has none of this name.
    WhereFree,
    /// Only where a container has one of this name.
    WhereSet,
}

/// Does the template say itself where the number comes from? As text in it, scaling would restart every pod.
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

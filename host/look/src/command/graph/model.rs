//! A graph of instance groups, and how it differs from another one. Pure.

use boson_document::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// What a node is. The order is that of the output, after the instance groups.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    Group(String),
    /// An instance group of another deployment; empty if the link does not name it.
    Other {
        deployment: String,
        group: String,
    },
    /// Services and Secrets that provide links.
    Native,
    Variable(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: Node,
    pub to: Node,
    /// The link; empty for variables.
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Removed,
    Changed,
}

pub struct Style {
    /// So that it is seen without colors, too.
    pub sign: char,
    pub name: &'static str,
    pub color: &'static str,
}

#[derive(Clone, Debug)]
pub struct Shown {
    pub node: Node,
    pub lines: Vec<String>,
    /// The instance group in the manifest.
    pub content: Option<Tree>,
    pub change: Option<Change>,
}

#[derive(Debug, Default)]
pub struct Graph {
    /// Each once, in the order of the output.
    pub nodes: Vec<Shown>,
    pub edges: BTreeMap<Edge, Option<Change>>,
}

// === impl Node ===

impl Node {
    pub fn name(&self) -> String {
        match self {
            Self::Group(name) | Self::Variable(name) => name.clone(),
            Self::Other { deployment, group } if group.is_empty() => deployment.clone(),
            Self::Other { deployment, group } => format!("{deployment}/{group}"),
            Self::Native => "Kubernetes".into(),
        }
    }
}

// === impl Change ===

impl Change {
    pub fn style(self) -> Style {
        let (sign, name, color) = match self {
            Self::Added => ('+', "added", "#1a7f37"),
            Self::Removed => ('-', "removed", "#cf222e"),
            Self::Changed => ('~', "changed", "#9a6700"),
        };
        Style { sign, name, color }
    }
}

// === impl Shown ===

impl Shown {
    pub fn new(node: Node, lines: Vec<String>, content: Option<Tree>) -> Self {
        Self {
            node,
            lines,
            content,
            change: None,
        }
    }

    /// The lines, with a sign of the change.
    pub fn signed(&self) -> Vec<String> {
        let mut lines = self.lines.clone();
        if let (Some(change), Some(first)) = (self.change, lines.first_mut()) {
            *first = format!("{} {first}", change.style().sign);
        }
        lines
    }
}

// === impl Graph ===

impl Graph {
    /// Adds nodes for the ends of arrows that are no instance groups.
    pub fn with_ends(mut self) -> Self {
        let known: BTreeSet<&Node> = self.nodes.iter().map(|one| &one.node).collect();
        let ends = self.edges.keys().flat_map(|edge| [&edge.from, &edge.to]);
        let others: BTreeSet<Node> = ends.filter(|node| !known.contains(node)).cloned().collect();
        let others = others.into_iter().map(|node| {
            let lines = vec![node.name()];
            Shown::new(node, lines, None)
        });
        self.nodes.extend(others.collect::<Vec<_>>());
        self
    }

    /// Both graphs in one: what is only in this one was added.
    pub fn compared_with(mut self, old: Self) -> Self {
        for shown in &mut self.nodes {
            let before = old.nodes.iter().find(|one| one.node == shown.node);
            shown.change = match before {
                None => Some(Change::Added),
                Some(before) if before.lines == shown.lines && before.content == shown.content => None,
                Some(_) => Some(Change::Changed),
            };
        }
        let is_gone = |one: &Shown| self.nodes.iter().all(|shown| shown.node != one.node);
        let gone: Vec<Shown> = old.nodes.into_iter().filter(is_gone).collect();
        self.nodes.extend(gone.into_iter().map(|one| Shown {
            change: Some(Change::Removed),
            ..one
        }));
        for (edge, change) in &mut self.edges {
            *change = (!old.edges.contains_key(edge)).then_some(Change::Added);
        }
        for edge in old.edges.into_keys() {
            self.edges.entry(edge).or_insert(Some(Change::Removed));
        }
        self
    }

    /// The position of each node in the list.
    pub fn positions(&self) -> BTreeMap<&Node, usize> {
        let numbered = self.nodes.iter().enumerate();
        numbered.map(|(at, one)| (&one.node, at)).collect()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Groups with a content, and links between them.
    pub fn graph(groups: &[(&str, &str)], links: &[(&str, &str)]) -> Graph {
        let group = |name: &str| Node::Group(name.into());
        let shown = |(name, content): &(&str, &str)| {
            Shown::new(
                group(name),
                vec![(*name).into()],
                Some(Tree::object().with("p", *content)),
            )
        };
        let edge = |(from, to): &(&str, &str)| Edge {
            from: group(from),
            to: group(to),
            label: "link".into(),
        };
        Graph {
            nodes: groups.iter().map(shown).collect(),
            edges: links.iter().map(|link| (edge(link), None)).collect(),
        }
        .with_ends()
    }

    pub fn compared() -> Graph {
        let old = graph(&[("a", "1"), ("b", "1"), ("c", "1")], &[("a", "b"), ("c", "b")]);
        let new = graph(&[("a", "1"), ("b", "2"), ("d", "1")], &[("a", "b"), ("d", "b")]);
        new.compared_with(old)
    }

    #[test]
    fn groups_and_links_are_added_removed_and_changed() {
        let compared = compared();
        let nodes: Vec<String> = compared.nodes.iter().flat_map(Shown::signed).collect();
        assert_eq!(nodes, ["a", "~ b", "+ d", "- c"]);
        let edge = |(edge, change): (&Edge, &Option<Change>)| {
            format!(
                "{} {}",
                edge.from.name(),
                change.map_or("", |change| change.style().name)
            )
        };
        let edges: Vec<String> = compared.edges.iter().map(edge).collect();
        assert_eq!(edges, ["a ", "c removed", "d added"]);
    }
}

//! Imports as a graph, and the circles in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An import from another module of the crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The module that imports, as names from the root module.
    pub from: Vec<String>,
    /// The module that has the name.
    pub to: Vec<String>,
    /// The name; `None` for the module itself.
    pub name: Option<String>,
}

/// Children of one module that import from each other in a circle.
pub struct Circle {
    children: BTreeSet<String>,
    imports: BTreeSet<Import>,
}

// === impl Import ===

impl Import {
    /// The module that has both below it, and its children with them; `None` if one is below the other.
    fn siblings(&self) -> Option<(&[String], &str, &str)> {
        let same = self.from.iter().zip(&self.to).take_while(|(a, b)| a == b).count();
        let (from, to) = (self.from.get(same)?, self.to.get(same)?);
        Some((&self.from[..same], from, to))
    }
}

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from.join("::"), self.to.join("::"));
        match &self.name {
            Some(name) => write!(f, "{from} imports {name} from {to}"),
            None => write!(f, "{from} imports {to}"),
        }
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let children: Vec<&str> = self.children.iter().map(String::as_str).collect();
        f.write_str(&children.join(", "))?;
        self.imports.iter().try_for_each(|import| write!(f, "\n    {import}"))
    }
}

/// All circles, from the root module downwards.
pub fn circles(imports: &[Import]) -> Vec<Circle> {
    let mut levels: BTreeMap<&[String], BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for (parent, from, to) in imports.iter().filter_map(Import::siblings) {
        levels.entry(parent).or_default().entry(from).or_default().insert(to);
    }
    let mut circles = Vec::new();
    for (parent, edges) in levels {
        for children in components(&edges) {
            let inside = |import: &&Import| {
                let siblings = import.siblings();
                siblings.is_some_and(|(at, from, to)| at == parent && children.contains(from) && children.contains(to))
            };
            circles.push(Circle {
                imports: imports.iter().filter(inside).cloned().collect(),
                children: children.iter().map(ToString::to_string).collect(),
            });
        }
    }
    circles
}

/// Sets of two or more nodes that can all reach each other.
fn components<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|from| (*from, reach(edges, from))).collect();
    let mut found = Vec::new();
    for (node, targets) in &reached {
        let returns = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(node));
        let component: BTreeSet<&str> = targets.iter().filter(returns).copied().collect();
        if !component.is_empty() && !found.contains(&component) {
            found.push(component);
        }
    }
    found
}

/// The nodes that can be reached from this one, in one step or more.
fn reach<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = edges[from].iter().copied().collect();
    while let Some(node) = open.pop() {
        if reached.insert(node) {
            open.extend(edges.get(node).into_iter().flatten());
        }
    }
    reached
}

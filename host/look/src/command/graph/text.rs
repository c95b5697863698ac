//! A graph in the languages of programs that draw.

use super::model::{Change, Edge, Graph, Node, Shown, Style};
use boson_pipeline::report::clean;

/// Of a program that draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Mermaid,
    Dot,
}

pub fn of(graph: &Graph, language: Language) -> String {
    let mut text = String::from(match language {
        Language::Mermaid => "graph LR\n",
        Language::Dot => "digraph {\n  rankdir=LR;\n  node [shape=box];\n",
    });
    for (number, shown) in graph.nodes.iter().enumerate() {
        text.push_str(&format!("  n{number}{}\n", shape(shown, language)));
    }
    let positions = graph.positions();
    let id = |node: &Node| positions.get(node).map(|at| format!("n{at}")).unwrap_or_default();
    for (Edge { from, to, label }, change) in &graph.edges {
        let (from, to, label) = (id(from), id(to), escape(label, language));
        let color = change.map(|change| format!("color=\"{}\"", change.style().color));
        let dotted = |more: &str| match &color {
            Some(color) => format!("{more}, {color}"),
            None => more.to_string(),
        };
        text.push_str(&match (language, label.is_empty()) {
            (Language::Mermaid, false) => format!("  {from} -->|\"{label}\"| {to}\n"),
            (Language::Mermaid, true) => format!("  {from} -.-> {to}\n"),
            (Language::Dot, false) => format!("  {from} -> {to} [{}];\n", dotted(&format!("label=\"{label}\""))),
            (Language::Dot, true) => format!("  {from} -> {to} [{}];\n", dotted("style=dashed")),
        });
    }
    text.push_str(&match language {
        Language::Mermaid => mermaid_styles(graph),
        Language::Dot => "}\n".into(),
    });
    text
}

/// The colors of a difference. Mermaid counts the arrows.
fn mermaid_styles(graph: &Graph) -> String {
    let mut text = String::new();
    for change in [Change::Added, Change::Removed, Change::Changed] {
        let Style { name, color, .. } = change.style();
        let nodes = graph.nodes.iter().enumerate();
        let nodes = nodes.filter(|(_, shown)| shown.change == Some(change));
        let nodes: Vec<String> = nodes.map(|(at, _)| format!("n{at}")).collect();
        if !nodes.is_empty() {
            text.push_str(&format!("  classDef {name} stroke:{color},color:{color}\n"));
            text.push_str(&format!("  class {} {name}\n", nodes.join(",")));
        }
        let edges = graph.edges.values().enumerate();
        let edges = edges.filter(|(_, found)| **found == Some(change));
        let edges: Vec<String> = edges.map(|(at, _)| at.to_string()).collect();
        if !edges.is_empty() {
            text.push_str(&format!(
                "  linkStyle {} stroke:{color},color:{color}\n",
                edges.join(",")
            ));
        }
    }
    text
}

fn shape(shown: &Shown, language: Language) -> String {
    let lines: Vec<String> = shown.signed().iter().map(|line| escape(line, language)).collect();
    let node = &shown.node;
    match language {
        Language::Mermaid => {
            let text = lines.join("<br/>");
            match node {
                Node::Group(_) => format!("[\"{text}\"]"),
                Node::Other { .. } | Node::Native => format!("[[\"{text}\"]]"),
                Node::Variable(_) => format!("([\"{text}\"])"),
            }
        }
        Language::Dot => {
            let text = lines.join("\\n");
            let style = match node {
                Node::Group(_) => "",
                Node::Other { .. } | Node::Native => ", peripheries=2",
                Node::Variable(_) => ", shape=ellipse",
            };
            let color = shown
                .change
                .map(|change| format!(", color=\"{0}\", fontcolor=\"{0}\"", change.style().color));
            format!(" [label=\"{text}\"{style}{}];", color.unwrap_or_default())
        }
    }
}

/// As it may be between quotes. In Mermaid, which reads HTML and Markdown there, other characters than those of usual
/// names are numbers.
fn escape(text: &str, language: Language) -> String {
    let text = clean::line(text);
    match language {
        Language::Mermaid => {
            let is_plain = |c: char| c.is_alphanumeric() || " -./():".contains(c);
            let escaped = text.chars().map(|c| match c {
                c if is_plain(c) => c.to_string(),
                c => format!("#{};", u32::from(c)),
            });
            escaped.collect()
        }
        Language::Dot => text.replace('\\', "\\\\").replace('"', "\\\""),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::compared;
    use super::*;

    #[test]
    fn a_difference_has_colors() {
        let wanted = r##"graph LR
  n0["a"]
  n1["#126; b"]
  n2["#43; d"]
  n3["- c"]
  n0 -->|"link"| n1
  n3 -->|"link"| n1
  n2 -->|"link"| n1
  classDef added stroke:#1a7f37,color:#1a7f37
  class n2 added
  linkStyle 2 stroke:#1a7f37,color:#1a7f37
  classDef removed stroke:#cf222e,color:#cf222e
  class n3 removed
  linkStyle 1 stroke:#cf222e,color:#cf222e
  classDef changed stroke:#9a6700,color:#9a6700
  class n1 changed
"##;
        assert_eq!(of(&compared(), Language::Mermaid), wanted);
        let dot = of(&compared(), Language::Dot);
        assert!(
            dot.contains("  n2 [label=\"+ d\", color=\"#1a7f37\", fontcolor=\"#1a7f37\"];\n"),
            "{dot}"
        );
        assert!(
            dot.contains("  n3 -> n1 [label=\"link\", color=\"#cf222e\"];\n"),
            "{dot}"
        );
    }
}

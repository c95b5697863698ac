//! A graph as an image.

use super::layout::{Arrow, Layout, Point, Size};
use super::model::{Change, Graph, Node, Shown};
use boson_pipeline::report::clean;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Of a character, in the monospaced font of the image.
const CHARACTER_WIDTH: i32 = 8;
const LINE_HEIGHT: i32 = 16;
const NODE_PADDING: i32 = 10;
const MARGIN: i32 = 20;
/// Of what did not change.
const PLAIN_COLOR: &str = "#57606a";

/// Arrows between the same nodes are one, with several names.
#[derive(Default)]
struct Line {
    labels: Vec<(String, Option<Change>)>,
}

pub fn of(graph: &Graph) -> String {
    let texts: Vec<Vec<String>> = graph.nodes.iter().map(lines).collect();
    let sizes: Vec<Size> = texts.iter().map(|lines| size(lines)).collect();
    let (arrows, lines) = arrows(graph);
    let layout = Layout::of(&sizes, &arrows);
    let mut body = String::new();
    for ((line, points), arrow) in lines.iter().zip(&layout.arrows).zip(&arrows) {
        if points.is_empty() {
            line.draw(&own_loop(layout.nodes[arrow.from], sizes[arrow.from]), &mut body);
        } else {
            line.draw(points, &mut body);
        }
    }
    for ((shown, text), (corner, size)) in graph.nodes.iter().zip(&texts).zip(layout.nodes.iter().zip(&sizes)) {
        draw(shown, text, *corner, *size, &mut body);
    }
    let (width, height) = (layout.size.width + 4 * MARGIN, layout.size.height + 2 * MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"{} {} {width} {height}\" \
         font-family=\"monospace\" font-size=\"12\">\n<defs>\n{}</defs>\n<rect x=\"{}\" y=\"{}\" width=\"100%\" \
         height=\"100%\" fill=\"white\"/>\n{body}</svg>\n",
        -MARGIN,
        -MARGIN,
        arrow_heads(),
        -MARGIN,
        -MARGIN
    )
}

fn lines(shown: &Shown) -> Vec<String> {
    shown.signed().iter().map(|line| clean::line(line)).collect()
}

fn width(text: &str) -> i32 {
    i32::try_from(text.chars().count()).map_or(i32::from(u16::MAX), |count| count.min(1 << 12) * CHARACTER_WIDTH)
}

fn size(lines: &[String]) -> Size {
    let count = i32::try_from(lines.len()).unwrap_or(1);
    Size {
        width: lines.iter().map(|line| width(line)).max().unwrap_or(0) + 2 * NODE_PADDING,
        height: count * LINE_HEIGHT + NODE_PADDING,
    }
}

fn arrows(graph: &Graph) -> (Vec<Arrow>, Vec<Line>) {
    let positions = graph.positions();
    let mut all: BTreeMap<Arrow, Line> = BTreeMap::new();
    for (edge, change) in &graph.edges {
        if let (Some(from), Some(to)) = (positions.get(&edge.from), positions.get(&edge.to)) {
            let arrow = Arrow { from: *from, to: *to };
            let line = all.entry(arrow).or_default();
            line.labels.push((clean::line(&edge.label), *change));
        }
    }
    all.into_iter().unzip()
}

fn color(change: Option<Change>) -> &'static str {
    change.map_or(PLAIN_COLOR, |change| change.style().color)
}

/// A marker takes no color from its line in all browsers.
fn arrow_heads() -> String {
    let all = [None, Some(Change::Added), Some(Change::Removed), Some(Change::Changed)];
    let head = |change: Option<Change>| {
        format!(
            "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"{}\"/></marker>\n",
            head_id(change),
            color(change)
        )
    };
    all.map(head).concat()
}

fn head_id(change: Option<Change>) -> &'static str {
    change.map_or("plain", |change| change.style().name)
}

/// Beside the node.
fn own_loop(corner: Point, size: Size) -> Vec<Point> {
    let (right, middle) = (corner.x + size.width, corner.y + size.height / 2);
    let point = |x: i32, y: i32| Point { x, y };
    vec![
        point(right, middle - 6),
        point(right + 24, middle),
        point(right, middle + 6),
    ]
}

// === impl Line ===

impl Line {
    /// That of its links, if all have changed alike.
    fn change(&self) -> Option<Change> {
        let first = self.labels.first()?.1;
        self.labels
            .iter()
            .all(|(_, change)| *change == first)
            .then_some(first)?
    }

    fn draw(&self, points: &[Point], out: &mut String) {
        let Some((first, rest)) = points.split_first() else {
            return;
        };
        let (color, head) = (color(self.change()), head_id(self.change()));
        let mut path = format!("M{} {}", first.x, first.y);
        let mut last = first;
        for point in rest {
            let half = (point.x - last.x) / 2;
            let (one, two) = (last.x + half, point.x - half);
            let _ = write!(path, "C{one} {} {two} {} {} {}", last.y, point.y, point.x, point.y);
            last = point;
        }
        let is_dashed = self.labels.iter().all(|(label, _)| label.is_empty());
        let dashes = if is_dashed { " stroke-dasharray=\"4\"" } else { "" };
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\"{dashes} marker-end=\"url(#{head})\"/>"
        );
        let middle = points.len() / 2;
        let (a, b) = (points[middle - 1], points[middle]);
        let x = i32::midpoint(a.x, b.x);
        let mut y = i32::midpoint(a.y, b.y) - 4;
        for (label, change) in self.labels.iter().filter(|(label, _)| !label.is_empty()) {
            let style =
                "text-anchor=\"middle\" font-size=\"11\" stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\"";
            let (color, label) = (self::color(*change), escape(label));
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" {style} fill=\"{color}\">{label}</text>");
            y += LINE_HEIGHT;
        }
    }
}

fn draw(shown: &Shown, lines: &[String], corner: Point, size: Size, out: &mut String) {
    let color = color(shown.change);
    let mut frame = |inset: i32, radius: i32| {
        let (x, y) = (corner.x + inset, corner.y + inset);
        let (width, height) = (size.width - 2 * inset, size.height - 2 * inset);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\" fill=\"white\" \
             stroke=\"{color}\"/>"
        );
    };
    match shown.node {
        Node::Group(_) => frame(0, 4),
        Node::Variable(_) => frame(0, size.height / 2),
        Node::Other { .. } | Node::Native => {
            frame(0, 0);
            frame(3, 0);
        }
    }
    let x = corner.x + size.width / 2;
    let mut y = corner.y + NODE_PADDING / 2 + LINE_HEIGHT - 4;
    for line in lines {
        let fill = if shown.change.is_some() { color } else { "black" };
        let text = escape(line);
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{fill}\">{text}</text>"
        );
        y += LINE_HEIGHT;
    }
}

/// As text of XML.
fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::{compared, graph};
    use super::*;

    #[test]
    fn names_are_escaped_and_each_arrow_has_one() {
        let image = of(&graph(&[("a<b>&\"", "1"), ("c", "1")], &[("a<b>&\"", "c"), ("c", "c")]));
        assert!(image.starts_with("<svg xmlns=") && image.ends_with("</svg>\n"));
        assert!(image.contains(">a&lt;b&gt;&amp;&quot;</text>"), "{image}");
        assert_eq!(image.matches("marker-end=\"url(#plain)\"").count(), 2, "{image}");
        assert_eq!(image.matches(">link</text>").count(), 2, "{image}");
    }

    #[test]
    fn a_difference_has_colors_and_signs() {
        let image = of(&compared());
        for part in [
            ">+ d</text>",
            ">- c</text>",
            ">~ b</text>",
            "marker-end=\"url(#added)\"",
            "marker-end=\"url(#removed)\"",
            "stroke=\"#cf222e\"",
        ] {
            assert!(image.contains(part), "no {part} in {image}");
        }
    }
}

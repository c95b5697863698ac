//! `host graph`: the instance groups of a deployment and the links between them, as text for a program that draws.

use super::manifest::applied;
use crate::access::DeploymentArguments;
use crate::instances::label;
use anyhow::Context;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_document::{Tree, placeholder};
use boson_manifest::labels::{self, secret_type};
use boson_pipeline::convert::stored_documents::{self, PROVIDERS, RESOLVED};
use boson_pipeline::report::clean;
use boson_pipeline::resolved_document::{self, jobs, quarks};
use clap::{Args, ValueEnum};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use std::collections::{BTreeMap, BTreeSet};

const EXAMPLES: &str = "\
An arrow leads from the provider of a link to its consumer, with the name and type of the link. Boxes with double lines are instance groups of other \
deployments, and Kubernetes for links of Services and Secrets. Only names are printed. The command needs the permissions to get the BOSHDeployment, and to get and list Secrets.

Examples:
  host graph -d nats -n messaging
  host graph -d nats --format dot | dot -Tsvg > nats.svg";

/// Options of `host graph`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct GraphArguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
    /// Language of the graph
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Show also which variables the instance groups use
    #[arg(long)]
    variables: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Mermaid, as in Markdown of GitHub
    #[default]
    Mermaid,
    /// DOT of Graphviz
    Dot,
}

/// What a node is. The order is that of the output, after the instance groups.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
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

/// An arrow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: Node,
    to: Node,
    /// The link; empty for variables.
    label: String,
}

#[derive(Debug, Default)]
struct Graph {
    /// Node and text of each, without repetitions, in the order of the output.
    nodes: Vec<(Node, Vec<String>)>,
    edges: BTreeSet<Edge>,
}

/// What the operator has stored of a deployment.
struct Stored {
    /// With ops files applied.
    manifest: Tree,
    /// The newest resolved document of each instance group.
    resolved: Vec<Tree>,
    /// The links that the deployment provides.
    providers: Vec<Tree>,
}

// === impl Stored ===

impl Stored {
    fn graph(&self, with_variables: bool) -> Graph {
        let mut graph = Graph::default();
        for group in self.manifest.items("instance_groups") {
            let name = group.str("name").unwrap_or_default();
            let mut resolved = self.resolved.iter();
            let resolved = resolved.find(|document| resolved_document::name(document) == name);
            graph
                .nodes
                .push((Node::Group(name.into()), description(group, resolved)));
            if let Some(document) = resolved {
                self.links(name, document, &mut graph.edges);
            }
            if with_variables {
                let variables = placeholder::roots(group).into_keys();
                graph.edges.extend(variables.map(|variable| Edge {
                    from: Node::Variable(variable),
                    to: Node::Group(name.into()),
                    label: String::new(),
                }));
            }
        }
        let known: BTreeSet<Node> = graph.nodes.iter().map(|(node, _)| node.clone()).collect();
        let ends: BTreeSet<&Node> = graph.edges.iter().flat_map(|edge| [&edge.from, &edge.to]).collect();
        let others = ends.into_iter().filter(|node| !known.contains(node));
        let others: Vec<(Node, Vec<String>)> = others.map(|node| (node.clone(), vec![node.name()])).collect();
        graph.nodes.extend(others);
        graph
    }

    /// The links that a group consumes.
    fn links(&self, consumer: &str, document: &Tree, edges: &mut BTreeSet<Edge>) {
        let deployment = document.str("name");
        for job in jobs(document) {
            let consumed = quarks(job).and_then(|quarks| quarks.get("consumes")?.as_object());
            let consumed = consumed.into_iter().flatten();
            for (name, link) in consumed.filter(|(_, link)| !link.is_null()) {
                let group = link.str("instance_group");
                let from = match (link.str("deployment_name"), group) {
                    (None, _) => Node::Native,
                    (of, Some(group)) if of == deployment => Node::Group(group.into()),
                    // A disk, or the manifest itself has the content of the link.
                    (of, None) if of == deployment => continue,
                    (Some(of), group) => Node::Other {
                        deployment: of.into(),
                        group: group.unwrap_or_default().into(),
                    },
                };
                let label = self.label(name, link, group);
                let to = Node::Group(consumer.into());
                edges.insert(Edge { from, to, label });
            }
        }
    }

    /// Name and type of a link. Of one from outside, only the name that the consumer has for it is known.
    fn label(&self, name: &str, link: &Tree, group: Option<&str>) -> String {
        let joined = link.str("group_name");
        let provider = self.providers.iter().find_map(|provider| {
            let (name, kind) = (provider.str("name")?, provider.str("type")?);
            let is_this = provider.str("group") == group && joined? == format!("{name}-{kind}");
            is_this.then(|| format!("{name} ({kind})"))
        });
        provider.unwrap_or_else(|| name.into())
    }
}

// === impl Node ===

impl Node {
    fn name(&self) -> String {
        match self {
            Self::Group(name) | Self::Variable(name) => name.clone(),
            Self::Other { deployment, group } if group.is_empty() => deployment.clone(),
            Self::Other { deployment, group } => format!("{deployment}/{group}"),
            Self::Native => "Kubernetes".into(),
        }
    }
}

// === impl Graph ===

impl Graph {
    fn text(&self, format: Format) -> String {
        let mut text = String::from(match format {
            Format::Mermaid => "graph LR\n",
            Format::Dot => "digraph {\n  rankdir=LR;\n  node [shape=box];\n",
        });
        let mut ids = BTreeMap::new();
        for (number, (node, lines)) in self.nodes.iter().enumerate() {
            ids.insert(node, format!("n{number}"));
            text.push_str(&format!("  n{number}{}\n", shape(node, lines, format)));
        }
        let id = |node: &Node| ids.get(node).map_or("", String::as_str);
        for Edge { from, to, label } in &self.edges {
            let (from, to, label) = (id(from), id(to), escaped(label, format));
            text.push_str(&match (format, label.is_empty()) {
                (Format::Mermaid, false) => format!("  {from} -->|\"{label}\"| {to}\n"),
                (Format::Mermaid, true) => format!("  {from} -.-> {to}\n"),
                (Format::Dot, false) => format!("  {from} -> {to} [label=\"{label}\"];\n"),
                (Format::Dot, true) => format!("  {from} -> {to} [style=dashed];\n"),
            });
        }
        if format == Format::Dot {
            text.push_str("}\n");
        }
        text
    }
}

fn shape(node: &Node, lines: &[String], format: Format) -> String {
    let lines: Vec<String> = lines.iter().map(|line| escaped(line, format)).collect();
    match format {
        Format::Mermaid => {
            let text = lines.join("<br/>");
            match node {
                Node::Group(_) => format!("[\"{text}\"]"),
                Node::Other { .. } | Node::Native => format!("[[\"{text}\"]]"),
                Node::Variable(_) => format!("([\"{text}\"])"),
            }
        }
        Format::Dot => {
            let text = lines.join("\\n");
            let style = match node {
                Node::Group(_) => "",
                Node::Other { .. } | Node::Native => ", peripheries=2",
                Node::Variable(_) => ", shape=ellipse",
            };
            format!(" [label=\"{text}\"{style}];")
        }
    }
}

/// As it may be between quotes. In Mermaid, which reads HTML and Markdown there, other characters than those of usual
/// names are numbers.
fn escaped(text: &str, format: Format) -> String {
    let text = clean::line(text);
    match format {
        Format::Mermaid => {
            let is_plain = |c: char| c.is_alphanumeric() || " -./():".contains(c);
            let escaped = text.chars().map(|c| match c {
                c if is_plain(c) => c.to_string(),
                c => format!("#{};", u32::from(c)),
            });
            escaped.collect()
        }
        Format::Dot => text.replace('\\', "\\\\").replace('"', "\\\""),
    }
}

/// Name, lifecycle and number of instances of a group.
fn description(group: &Tree, resolved: Option<&Tree>) -> Vec<String> {
    let name = group.str("name").unwrap_or_default().to_string();
    let of_job = |job: &Tree| quarks(job).map(|quarks| quarks.items("instances").len());
    let resolved = resolved.and_then(|document| of_job(jobs(document).first()?));
    let given = || usize::try_from(group.get("instances")?.as_i64()?).ok();
    let instances = match resolved.or_else(given) {
        Some(1) => "1 instance".into(),
        Some(count) => format!("{count} instances"),
        None => String::new(),
    };
    let lifecycle = group.str("lifecycle").filter(|lifecycle| *lifecycle != "service");
    let mut lines = vec![name];
    lines.extend(lifecycle.map(String::from));
    lines.extend((!instances.is_empty()).then_some(instances));
    lines
}

/// The newest version of each series of these Secrets.
fn newest(secrets: &[Secret]) -> impl Iterator<Item = &Secret> {
    let version = |secret: &Secret| label(secret, labels::SECRET_VERSION).parse::<u32>().unwrap_or(0);
    let mut all = BTreeMap::<_, &Secret>::new();
    for secret in secrets {
        let series = (
            label(secret, labels::SECRET_TYPE),
            label(secret, labels::INSTANCE_GROUP_NAME),
        );
        let newest = all.entry(series).or_insert(secret);
        if version(secret) > version(newest) {
            *newest = secret;
        }
    }
    all.into_values()
}

/// The document under this key.
fn document(secret: &Secret, key: &str) -> anyhow::Result<Option<Tree>> {
    let Some(text) = secret.data.as_ref().and_then(|data| data.get(key)) else {
        return Ok(None);
    };
    let name = secret.name_any();
    let document = stored_documents::read(&name, &text.0).ok();
    let document = document.with_context(|| format!("Secret '{name}' has no document that can be read"))?;
    Ok(Some(document.tree))
}

pub fn run(arguments: &GraphArguments) -> Result<(), ExitError> {
    let stored = arguments.deployment.run(async |access, found| {
        let manifest = applied(&access, &found).await?.manifest.tree;
        let kinds = format!(
            "{} in ({},{})",
            labels::SECRET_TYPE,
            secret_type::RESOLVED,
            secret_type::LINKS
        );
        let secrets: Vec<Secret> = access.list(&format!("{},{kinds}", found.selector)).await?;
        let mut stored = Stored {
            manifest,
            resolved: Vec::new(),
            providers: Vec::new(),
        };
        for secret in newest(&secrets) {
            stored.resolved.extend(document(secret, RESOLVED)?);
            let providers = document(secret, PROVIDERS)?;
            stored.providers.extend(
                providers
                    .iter()
                    .flat_map(|document| document.items("providers"))
                    .cloned(),
            );
        }
        Ok(stored)
    })?;
    let graph = stored.graph(arguments.variables);
    Ok(output::print(&graph.text(arguments.format))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    /// The resolved document of a group with one job.
    fn resolved(group: &str, instances: usize, consumes: &str) -> Tree {
        let instances = vec!["{}"; instances].join(",");
        let quarks = format!(r#"{{"instances": [{instances}], "consumes": {consumes}}}"#);
        let job = format!(r#"{{"name": "j", "properties": {{"password": "hidden", "quarks": {quarks}}}}}"#);
        parse(&format!(
            r#"{{"name": "d", "instance_groups": [{{"name": "{group}", "jobs": [{job}]}}]}}"#
        ))
        .unwrap()
    }

    fn stored() -> Stored {
        let manifest = r#"{"name": "d", "instance_groups": [
            {"name": "web", "instances": 2, "jobs": [{"properties": {"p": "((secret))", "q": "x((secret.key))"}}]},
            {"name": "db", "instances": 1}, {"name": "a\"<b>", "lifecycle": "errand", "instances": 1}]}"#;
        let consumes = r#"{
            "database": {"deployment_name": "d", "instance_group": "db", "group_name": "db-sql",
                "properties": {"password": "hidden"}},
            "nats": {"deployment_name": "other", "instance_group": "nats", "group_name": "nats-nats"},
            "old": {"deployment_name": "other"}, "manual": {"deployment_name": "d", "address": "x"}, "optional": null,
            "native": {"address": "y"}}"#;
        let provider =
            r#"{"name": "db", "type": "sql", "group": "db", "job": "j", "properties": {"password": "hidden"}}"#;
        Stored {
            manifest: parse(manifest).unwrap(),
            resolved: vec![resolved("web", 4, consumes), resolved("db", 1, "{}")],
            providers: vec![parse(provider).unwrap()],
        }
    }

    #[test]
    fn links_lead_from_providers_to_consumers() {
        let wanted = r#"graph LR
  n0["web<br/>4 instances"]
  n1["db<br/>1 instance"]
  n2["a#34;#60;b#62;<br/>errand<br/>1 instance"]
  n3[["other"]]
  n4[["other/nats"]]
  n5[["Kubernetes"]]
  n1 -->|"db (sql)"| n0
  n3 -->|"old"| n0
  n4 -->|"nats"| n0
  n5 -->|"native"| n0
"#;
        assert_eq!(stored().graph(false).text(Format::Mermaid), wanted);
    }

    #[test]
    fn variables_are_shown_on_demand() {
        let wanted = r#"digraph {
  rankdir=LR;
  node [shape=box];
  n0 [label="web\n4 instances"];
  n1 [label="db\n1 instance"];
  n2 [label="a\"<b>\nerrand\n1 instance"];
  n3 [label="other", peripheries=2];
  n4 [label="other/nats", peripheries=2];
  n5 [label="Kubernetes", peripheries=2];
  n6 [label="secret", shape=ellipse];
  n1 -> n0 [label="db (sql)"];
  n3 -> n0 [label="old"];
  n4 -> n0 [label="nats"];
  n5 -> n0 [label="native"];
  n6 -> n0 [style=dashed];
}
"#;
        assert_eq!(stored().graph(true).text(Format::Dot), wanted);
    }

    #[test]
    fn the_newest_version_of_a_document_counts() {
        let secret = |group: &str, version: u32| Secret {
            metadata: kube::api::ObjectMeta {
                name: Some(format!("{group}-v{version}")),
                labels: Some(
                    [
                        (labels::INSTANCE_GROUP_NAME.to_string(), group.to_string()),
                        (labels::SECRET_VERSION.to_string(), version.to_string()),
                    ]
                    .into(),
                ),
                ..Default::default()
            },
            ..Secret::default()
        };
        let secrets = [secret("web", 9), secret("web", 10), secret("db", 1)];
        let found: Vec<String> = newest(&secrets).map(ResourceExt::name_any).collect();
        assert_eq!(found, ["db-v1", "web-v10"]);
    }
}

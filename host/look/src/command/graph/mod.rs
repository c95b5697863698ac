//! `host graph`: the instance groups of a deployment and the links between them, drawn or as text for a program that
//! draws.

mod layout;
mod model;
mod svg;
mod text;

use super::manifest::applied;
use crate::access::DeploymentArguments;
use crate::instances::label;
use anyhow::Context;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_document::{Tree, placeholder};
use boson_manifest::labels::{self, secret_type};
use boson_pipeline::convert::stored_documents::{self, PROVIDERS, RESOLVED};
use boson_pipeline::resolved_document::{self, jobs, quarks};
use clap::{Args, ValueEnum};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use model::{Edge, Graph, Node, Shown};
use std::collections::BTreeMap;
use text::Language;

const EXAMPLES: &str = "\
An arrow leads from the provider of a link to its consumer, with the name and type of the link. Boxes with double lines are instance groups of other \
deployments, and Kubernetes for links of Services and Secrets. Only names are printed. The command needs the permissions to get the BOSHDeployment, and to get and list Secrets.

Examples:
  host graph -d nats -n messaging
  host graph -d nats --format svg > nats.svg";

/// Options of `host graph`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct GraphArguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
    /// Form of the graph
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Show also which variables the instance groups use
    #[arg(long)]
    variables: bool,
}

/// A form of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Mermaid, as in Markdown of GitHub
    #[default]
    Mermaid,
    /// DOT of Graphviz
    Dot,
    /// An image
    Svg,
}

#[derive(Default)]
pub struct Documents {
    /// With ops files applied.
    pub manifest: Tree,
    /// The newest resolved document of each instance group.
    pub resolved: Vec<Tree>,
    /// The links that the deployment provides, if they are known.
    pub providers: Vec<Tree>,
}

/// A graph of what a change does: additions, removals and changes have colors.
pub fn difference(old: Option<&Documents>, new: &Documents, format: Format) -> String {
    let old = old.map(|old| old.graph(false)).unwrap_or_default();
    draw(&new.graph(false).compared_with(old), format)
}

fn draw(graph: &Graph, format: Format) -> String {
    match format {
        Format::Mermaid => text::of(graph, Language::Mermaid),
        Format::Dot => text::of(graph, Language::Dot),
        Format::Svg => svg::of(graph),
    }
}

// === impl Documents ===

impl Documents {
    fn graph(&self, with_variables: bool) -> Graph {
        let mut graph = Graph::default();
        for group in self.manifest.items("instance_groups") {
            let name = group.str("name").unwrap_or_default();
            let mut resolved = self.resolved.iter();
            let resolved = resolved.find(|document| resolved_document::name(document) == name);
            let lines = description(group, resolved);
            graph
                .nodes
                .push(Shown::new(Node::Group(name.into()), lines, Some(group.clone())));
            if let Some(document) = resolved {
                self.links(name, document, &mut graph);
            }
            if with_variables {
                let variables = placeholder::roots(group).into_keys();
                let edges = variables.map(|variable| Edge {
                    from: Node::Variable(variable),
                    to: Node::Group(name.into()),
                    label: String::new(),
                });
                graph.edges.extend(edges.map(|edge| (edge, None)));
            }
        }
        graph.with_ends()
    }

    fn links(&self, consumer: &str, document: &Tree, graph: &mut Graph) {
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
                graph.edges.insert(Edge { from, to, label }, None);
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

/// Name, lifecycle and number of instances of a group.
fn description(group: &Tree, resolved: Option<&Tree>) -> Vec<String> {
    let name = group.str("name").unwrap_or_default().to_string();
    let of_job = |job: &Tree| quarks(job).map(|quarks| quarks.items("instances").len());
    let resolved = resolved.and_then(|document| of_job(jobs(document).first()?));
    let given = || usize::try_from(group.get("instances")?.as_i64()?).ok();
    let instances = resolved.or_else(given).map(|count| match count {
        1 => "1 instance".into(),
        count => format!("{count} instances"),
    });
    let lifecycle = group.str("lifecycle").filter(|lifecycle| *lifecycle != "service");
    let lines = [Some(name), lifecycle.map(String::from), instances];
    lines.into_iter().flatten().collect()
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
        let mut stored = Documents {
            manifest,
            ..Documents::default()
        };
        for secret in newest(&secrets) {
            stored.resolved.extend(document(secret, RESOLVED)?);
            if let Some(links) = document(secret, PROVIDERS)? {
                stored.providers.extend_from_slice(links.items("providers"));
            }
        }
        Ok(stored)
    })?;
    let graph = stored.graph(arguments.variables);
    Ok(output::print(&draw(&graph, arguments.format))?)
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

    fn stored() -> Documents {
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
        Documents {
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
        assert_eq!(draw(&stored().graph(false), Format::Mermaid), wanted);
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
        assert_eq!(draw(&stored().graph(true), Format::Dot), wanted);
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

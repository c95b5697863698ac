//! The links from outside of a deployment as one document: pods of a conversion mount it.

use crate::stage::{External, ExternalLink, OtherDeployment};
use boson_document::Tree;

pub fn write(external: &External) -> Tree {
    let link = |link: &ExternalLink| {
        Tree::object()
            .with("name", link.name.as_str())
            .with("type", link.kind.as_str())
            .with("origin", link.origin.as_str())
            .with("content", link.content.clone())
    };
    let links = |links: &[ExternalLink]| links.iter().map(link).collect::<Vec<_>>();
    let deployment = |deployment: &OtherDeployment| {
        Tree::object()
            .with("name", deployment.name.as_str())
            .with("links", links(&deployment.links))
    };
    let deployments = external.deployments.iter().map(deployment);
    Tree::object()
        .with("native", links(&external.native))
        .with("deployments", deployments.collect::<Vec<_>>())
}

/// Reads it back. Entries that are not as [`write()`] makes them are left out.
pub fn read(document: &Tree) -> External {
    let deployment = |deployment: &Tree| {
        Some(OtherDeployment {
            name: deployment.str("name")?.into(),
            links: links(deployment, "links"),
        })
    };
    External {
        native: links(document, "native"),
        deployments: document.items("deployments").iter().filter_map(deployment).collect(),
    }
}

fn links(document: &Tree, member: &str) -> Vec<ExternalLink> {
    let link = |link: &Tree| {
        Some(ExternalLink {
            name: link.str("name")?.into(),
            kind: link.str("type")?.into(),
            origin: link.str("origin")?.into(),
            content: link.get("content")?.clone(),
        })
    };
    document.items(member).iter().filter_map(link).collect()
}

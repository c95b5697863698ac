//! `host deployments`: the deployments of a namespace.

use crate::access::{Access, PlaceArguments};
use crate::applied;
use crate::table::{Cell, Table, TableArguments};
use boson_api::BoshDeployment;
use boson_api::stateful_set::PROGRESSING;
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_document::{Tree, go};
use boson_manifest::labels::{self, secret_type};
use clap::Args;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::json;
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
Instance Groups counts those that are services: the ready ones, and all. Rollout is the reason of the condition Progressing. The command needs the \
permission to list BOSHDeployments. Releases and stemcells are those of the stored manifests, and need the permission to list Secrets; without it, \
they are not shown.

Examples:
  host deployments -n messaging
  host deployments --column name";
const HEADER: [&str; 6] = [
    "Name",
    "Release(s)",
    "Stemcell(s)",
    "State",
    "Instance Groups",
    "Rollout",
];

/// Options of `host deployments`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DeploymentsArguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    table: TableArguments,
}

struct Listed {
    deployment: BoshDeployment,
    /// Name of the Secret with its manifest.
    secret: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Used {
    releases: Vec<String>,
    stemcells: Vec<String>,
}

// === impl Used ===

impl Used {
    fn of(manifest: &Tree) -> Self {
        let text = |one: &Tree, key: &str| one.get(key).and_then(go::text);
        let named = |one: &Tree, keys: &[&str]| {
            let name = keys.iter().find_map(|key| text(one, key));
            format!(
                "{}/{}",
                name.unwrap_or_default(),
                text(one, "version").unwrap_or_default()
            )
        };
        let all = |key: &str, keys: &[&str]| manifest.items(key).iter().map(|one| named(one, keys)).collect();
        Self {
            releases: all("releases", &["name"]),
            stemcells: all("stemcells", &["name", "os"]),
        }
    }
}

/// `used`: by the name of the Secret with the manifest.
fn table(deployments: &[Listed], used: &BTreeMap<String, Used>) -> Table {
    let row = |one: &Listed| {
        let status = one.deployment.status.clone().unwrap_or_default();
        let used = used.get(&one.secret).cloned().unwrap_or_default();
        let ready = status.deployed_instance_groups.unwrap_or(0);
        let groups = status.total_instance_groups.map(|all| format!("{ready}/{all}"));
        let progressing = status.conditions.iter().find(|one| one.kind == PROGRESSING);
        vec![
            one.deployment.name_any().into(),
            Cell::lines(&used.releases),
            Cell::lines(&used.stemcells),
            json!(status.state).as_str().unwrap_or_default().into(),
            groups.unwrap_or_default().into(),
            progressing.map_or("", |one| &one.reason).into(),
        ]
    };
    Table::new("deployments", &HEADER, deployments.iter().map(row).collect())
}

pub fn run(arguments: &DeploymentsArguments, color: Color) -> Result<(), ExitError> {
    let table = arguments.place.run(async |access| read(&access).await)?;
    Ok(arguments.table.print(vec![table], color)?)
}

async fn read(access: &Access) -> anyhow::Result<Table> {
    let mut deployments = Vec::new();
    for deployment in access.list::<BoshDeployment>("").await? {
        let secret = access.names(&deployment.name_any())?.with_ops();
        deployments.push(Listed { deployment, secret });
    }
    deployments.sort_by_key(|one| one.deployment.name_any());
    let selector = format!("{}={}", labels::SECRET_TYPE, secret_type::WITH_OPS);
    let listed = access
        .cluster
        .list_in_pages::<Secret>(&access.namespace, &selector)
        .await;
    let mut notes = Vec::new();
    let secrets = access.unless_forbidden(listed, &mut notes, |_| "releases and stemcells are not shown".into())?;
    let used = |secret: &Secret| {
        let name = secret.name_any();
        let (manifest, _) = applied::read_secret(&name, secret)?;
        Some((name, Used::of(&manifest.tree)))
    };
    let used = secrets.iter().flatten().filter_map(used).collect();
    Ok(Table {
        notes,
        ..table(&deployments, &used)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::forms::{in_json, on_terminal};
    use boson_document::json as documents;
    use serde_json::Value;

    #[test]
    fn a_row_has_the_state_of_a_deployment_and_what_it_uses() {
        let object = |name: &str, status: Value| {
            let object = json!({
                "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": name},
                "spec": {"manifest": {"type": "configmap", "name": "m"}}, "status": status,
            });
            Listed {
                deployment: serde_json::from_value(object).unwrap(),
                secret: format!("{name}.with-ops"),
            }
        };
        let progressing = json!([{"type": "Progressing", "status": "True", "reason": "Updating", "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        let status = json!({"state": "Resolving Manifest", "totalInstanceGroups": 3, "deployedInstanceGroups": 2,
            "conditions": progressing});
        let manifest = documents::parse(
            r#"{"releases": [{"name": "a", "version": "1.2"}, {"name": "b", "version": 3}],
                "stemcells": [{"alias": "default", "os": "ubuntu-jammy", "version": "1.1"}]}"#,
        );
        let used = [("nats.with-ops".to_string(), Used::of(&manifest.unwrap()))].into();
        let table = table(&[object("nats", status), object("new", json!({}))], &used);
        let wanted = [
            "Name  Release(s)  Stemcell(s)       State               Instance Groups  Rollout",
            "nats  a/1.2       ubuntu-jammy/1.1  Resolving Manifest  2/3              Updating",
            "      b/3",
            "new   -           -                 -                   -                -",
            "",
            "2 deployments",
        ];
        assert_eq!(on_terminal(&table), wanted);
        let wanted = [
            "name|release_s|stemcell_s|state|instance_groups|rollout",
            "nats|a/1.2\nb/3|ubuntu-jammy/1.1|Resolving Manifest|2/3|Updating",
            "new|||||",
        ];
        assert_eq!(in_json(&table), wanted);
    }
}

//! `host variables`: the variables of a deployment, without their values.

use crate::access::DeploymentArguments;
use crate::table::{Cell, Table, TableArguments};
use boson_api::deployment::VariableReference;
use boson_api::request::KeyReference;
use boson_api::secret::ROTATING;
use boson_api::{BoshDeployment, QuarksSecret};
use boson_cluster::consumers;
use boson_commands::duration::duration;
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_manifest::labels::{self, secret_kind};
use boson_manifest::names::Names;
use clap::Args;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLES: &str = "\
ID is the name of the Secret with the value. Source is `generated`, `given` (a Secret that you created), `removed` (the manifest no longer has the \
variable; `host prune` deletes its value) or `missing` (the Secret does not exist yet). Expires is when the certificate expires; it is renewed \
earlier. Variables that the manifest does not define are listed if their Secrets exist or spec.vars has them. The command reads no values: it needs \
the permissions to get the BOSHDeployment, and to list QuarksSecrets and Secrets, of which it requests only the metadata.

With --expiring, only certificates that expire within this time are listed, with the variable of their CA, the deployments that use them, and the step \
of a rotation. This also needs the permission to list BOSHDeployments. `host rotate` gives them new values.

Examples:
  host variables -d nats -n messaging
  host variables -d nats --expiring 30d";
const HEADER: [&str; 8] = [
    "ID",
    "Name",
    "Type",
    "Source",
    "Expires",
    "CA",
    "Deployments",
    "Rotation",
];
/// Without those of `--expiring`.
const BASE_COLUMNS: usize = 5;
/// Between deployment and variable in the names of Secrets that users create.
const IMPLICIT_INFIX: &str = ".var-implicit-";

/// Options of `host variables`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct VariablesArguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
    /// Only certificates that expire within this time, such as 30d or 12h, and what uses them
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expiring: Option<Duration>,
    #[command(flatten)]
    table: TableArguments,
}

#[derive(Default)]
struct Variable {
    name: String,
    kind: String,
    source: &'static str,
    expires: String,
}

/// `secrets`: those of the namespace.
fn table(deployment: &BoshDeployment, asked: &[QuarksSecret], secrets: &[ObjectMeta], names: &Names) -> Table {
    let secrets: BTreeMap<&str, &ObjectMeta> = secrets
        .iter()
        .filter_map(|meta| Some((meta.name.as_deref()?, meta)))
        .collect();
    let status = deployment.status.as_ref();
    let removed = status.map_or(&[][..], |status| status.removed_variables.as_slice());
    let mut all: BTreeMap<String, Variable> = BTreeMap::new();
    let mut found = |secret: &str, source: &'static str, variable: Variable| {
        let source = if secrets.contains_key(secret) {
            source
        } else {
            "missing"
        };
        all.entry(secret.into()).or_insert(Variable { source, ..variable });
    };
    let unknown = |name: &str| Variable {
        name: name.into(),
        ..Variable::default()
    };
    for one in asked.iter().filter(|one| names.is_variable(&one.spec.secret_name)) {
        let name = name(&one.metadata);
        let variable = Variable {
            kind: json!(one.spec.kind).as_str().unwrap_or_default().to_string(),
            expires: expires(one).map(|time| time.to_string()).unwrap_or_default(),
            ..unknown(&name)
        };
        let meta = secrets.get(one.spec.secret_name.as_str());
        let source = match meta {
            _ if removed.contains(&name) => "removed",
            Some(meta) if !is_generated(meta) => "given",
            _ => "generated",
        };
        found(&one.spec.secret_name, source, variable);
    }
    for VariableReference { name, secret } in &deployment.spec.vars {
        found(secret, "given", unknown(name));
    }
    for (secret, meta) in secrets.iter().filter(|(secret, _)| names.is_variable(secret)) {
        match secret.split_once(IMPLICIT_INFIX) {
            Some((_, name)) => found(secret, "given", unknown(name)),
            None if is_generated(meta) => found(secret, "removed", unknown(&name(meta))),
            None => {}
        }
    }
    table_of(all)
}

/// `variables`: by Secret.
fn table_of(variables: BTreeMap<String, Variable>) -> Table {
    let mut all: Vec<(String, Variable)> = variables.into_iter().collect();
    all.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    let row = |(secret, one): (String, Variable)| {
        let source = match one.source {
            "missing" => Cell::state("missing", false),
            source => source.into(),
        };
        vec![
            secret.into(),
            one.name.into(),
            one.kind.into(),
            source,
            one.expires.into(),
        ]
    };
    Table::new("variables", &HEADER[..BASE_COLUMNS], all.into_iter().map(row).collect())
}

/// The variable as the manifest names it.
pub fn name(meta: &ObjectMeta) -> String {
    let annotation = meta.annotations.as_ref().and_then(|all| all.get(labels::VARIABLE));
    let label = meta.labels.as_ref().and_then(|all| all.get(labels::VARIABLE_NAME));
    annotation.or(label).or(meta.name.as_ref()).cloned().unwrap_or_default()
}

pub fn expires(object: &QuarksSecret) -> Option<Timestamp> {
    Some(object.status.as_ref()?.not_after.as_ref()?.0)
}

fn is_generated(meta: &ObjectMeta) -> bool {
    let label = meta.labels.as_ref().and_then(|all| all.get(labels::SECRET_KIND));
    label.map(String::as_str) == Some(secret_kind::GENERATED)
}

/// The table of the certificates that expire before. `deployments`: all of the namespace.
fn expiring_table(all: Table, asked: &[QuarksSecret], deployments: &[BoshDeployment], until: Timestamp) -> Table {
    let of = |row: &Vec<Cell>| {
        asked
            .iter()
            .find(|one| row.first() == Some(&one.spec.secret_name.as_str().into()))
    };
    let is_due = |one: &&QuarksSecret| expires(one).is_some_and(|end| end <= until);
    let row = |row: Vec<Cell>| {
        let one = of(&row).filter(is_due)?;
        Some(row.into_iter().chain(expiry_cells(one, asked, deployments)).collect())
    };
    Table::new("variables", &HEADER, all.rows.into_iter().filter_map(row).collect())
}

fn expiry_cells(one: &QuarksSecret, asked: &[QuarksSecret], deployments: &[BoshDeployment]) -> [Cell; 3] {
    let request = one.spec.request.as_ref();
    let ca = request.and_then(|request| request.certificate.as_ref()?.ca_ref.as_ref());
    let named = |ca: &KeyReference| {
        let known = asked.iter().find(|other| other.spec.secret_name == ca.name);
        known.map_or_else(|| ca.name.clone(), |other| name(&other.metadata))
    };
    let versions = [(one.spec.secret_name.clone(), String::new())].into();
    let users = consumers::users(deployments, &versions);
    let users: Vec<String> = users.into_iter().map(ResourceExt::name_any).collect();
    let conditions = one.status.iter().flat_map(|status| &status.conditions);
    let rotating = conditions.into_iter().find(|condition| condition.kind == ROTATING);
    [
        ca.map(named).unwrap_or_default().into(),
        Cell::lines(&users),
        rotating.map_or("", |condition| &condition.message).into(),
    ]
}

pub fn run(arguments: &VariablesArguments, color: Color) -> Result<(), ExitError> {
    let table = arguments.deployment.run(async |access, found| {
        let asked = access.list::<QuarksSecret>(&found.selector).await?;
        // Secrets that users create have no labels.
        let secrets = access.metadata::<Secret>().await?;
        let all = table(&found.deployment, &asked, &secrets, &found.names);
        let Some(within) = arguments.expiring else {
            return Ok(all);
        };
        let until = Timestamp::now().checked_add(SignedDuration::try_from(within)?)?;
        Ok(expiring_table(all, &asked, &access.list("").await?, until))
    })?;
    Ok(arguments.table.print(vec![table], color)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::forms::{in_json, on_terminal};

    #[test]
    fn variables_have_names_and_types_by_their_sources() {
        let asked = |variable: &str, kind: &str| -> QuarksSecret {
            let name = format!("nats.var-{}", variable.replace('_', "-"));
            serde_json::from_value(json!({
                "apiVersion": labels::API_VERSION, "kind": "QuarksSecret",
                "metadata": {"name": name, "annotations": {labels::VARIABLE: variable}},
                "spec": {"type": kind, "secretName": name},
                "status": {"notAfter": (kind == "certificate").then_some("2027-01-01T00:00:00Z")},
            }))
            .unwrap()
        };
        let secret = |name: &str, is_generated: bool| ObjectMeta {
            name: Some(name.into()),
            labels: is_generated.then(|| [(labels::SECRET_KIND.to_string(), "generated".to_string())].into()),
            ..ObjectMeta::default()
        };
        let deployment: BoshDeployment = serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "nats"},
            "spec": {"manifest": {"type": "configmap", "name": "m"}, "vars": [{"name": "domain", "secret": "mine"}]},
            "status": {"removedVariables": ["old"]},
        }))
        .unwrap();
        let asked = [
            asked("admin_password", "password"),
            asked("ca", "certificate"),
            asked("key", "rsa"),
            asked("old", "password"),
        ];
        let secrets = [
            secret("nats.var-admin-password", true),
            secret("nats.var-ca", true),
            secret("nats.var-old", true),
            secret("nats.var-older", true),
            secret("nats.var-implicit-port", false),
            secret("nats.with-ops", false),
            secret("other.var-ca", true),
            secret("mine", false),
        ];
        let table = table(&deployment, &asked, &secrets, &Names::new("nats", "n", "").unwrap());
        let wanted = [
            "ID                       Name            Type         Source     Expires",
            "nats.var-admin-password  admin_password  password     generated  -",
            "nats.var-ca              ca              certificate  generated  2027-01-01T00:00:00Z",
            "mine                     domain          -            given      -",
            "nats.var-key             key             rsa          missing    -",
            "nats.var-older           nats.var-older  -            removed    -",
            "nats.var-old             old             password     removed    -",
            "nats.var-implicit-port   port            -            given      -",
            "",
            "7 variables",
        ];
        assert_eq!(on_terminal(&table), wanted);
        let found = in_json(&table);
        assert_eq!(found[0], "id|name|type|source|expires");
        assert_eq!(found[2], "nats.var-ca|ca|certificate|generated|2027-01-01T00:00:00Z");
    }

    #[test]
    fn expiring_certificates_are_listed_with_what_uses_them() {
        let certificate = |variable: &str, ca: Option<&str>, end: &str| -> QuarksSecret {
            let reference = ca.map(|ca| json!({"name": format!("nats.var-{ca}"), "key": "certificate"}));
            let rotating = json!([{"type": ROTATING, "status": "True", "reason": "Signing", "message": "step 2 of 3",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
            let name = format!("nats.var-{variable}");
            serde_json::from_value(json!({
                "apiVersion": labels::API_VERSION, "kind": "QuarksSecret",
                "metadata": {"name": name, "annotations": {labels::VARIABLE: variable}},
                "spec": {"type": "certificate", "secretName": name,
                    "request": {"certificate": {"commonName": "c", "CARef": reference}}},
                "status": {"notAfter": end, "conditions": if ca.is_none() { rotating } else { json!([]) }},
            }))
            .unwrap()
        };
        let (early, late) = ("2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z");
        let asked = [
            certificate("ca", None, early),
            certificate("leaf", Some("ca"), early),
            certificate("late", Some("ca"), late),
        ];
        let deployment: BoshDeployment = serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "nats"},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"inputs": [{"kind": "variable", "name": "leaf", "digest": "1"}]},
        }))
        .unwrap();
        let secrets: Vec<ObjectMeta> = asked
            .iter()
            .map(|one| ObjectMeta {
                name: Some(one.spec.secret_name.clone()),
                labels: Some([(labels::SECRET_KIND.to_string(), "generated".to_string())].into()),
                ..ObjectMeta::default()
            })
            .collect();
        let all = table(&deployment, &asked, &secrets, &Names::new("nats", "n", "").unwrap());
        let until = "2027-06-01T00:00:00Z".parse().unwrap();
        let found = in_json(&expiring_table(all, &asked, std::slice::from_ref(&deployment), until));
        let wanted = [
            "id|name|type|source|expires|ca|deployments|rotation",
            "nats.var-ca|ca|certificate|generated|2027-01-01T00:00:00Z|||step 2 of 3",
            "nats.var-leaf|leaf|certificate|generated|2027-01-01T00:00:00Z|ca|nats|",
        ];
        assert_eq!(found, wanted);
    }
}

//! `host history`: the deploys of a deployment.

use super::deploy::{Revision, result};
use boson_api::stateful_set::PROGRESSING;
use boson_api::{BoshDeployment, ResourceReference};
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_look::access::DeploymentTables;
use boson_look::table::{Cell, Table};
use boson_manifest::labels;
use kube::ResourceExt;

/// Text after the options.
pub const EXAMPLES: &str = "\
Lists what `host deploy` and `host rollback` have applied and still keep, the oldest first. State is `deployed`, `failed` or `updating` for the \
revision that the deployment has, and `superseded`, `failed`, `unknown` (not followed) or `not applied` for others. User is empty if the API server does not \
tell. The command needs the permissions to get the BOSHDeployment and to list ConfigMaps.

Examples:
  host history -d nats -n messaging
  host history -d nats --column revision --column state";
const HEADER: [&str; 7] = ["Revision", "Created", "User", "Manifest", "Ops", "Rollback To", "State"];

fn table(deployment: &BoshDeployment, revisions: &[Revision]) -> Table {
    let current = deployment.annotations().get(labels::REVISION);
    let current = current.and_then(|number| number.parse::<u64>().ok());
    let row = |one: &Revision| {
        let inputs = &one.record.inputs;
        let ops: Vec<String> = inputs.ops.iter().map(|document| document.file.clone()).collect();
        let rollback = one.record.rollback_to.map(|number| number.to_string());
        vec![
            one.number.to_string().into(),
            one.record.created.as_str().into(),
            one.record.user.clone().unwrap_or_default().into(),
            inputs.manifest.file.as_str().into(),
            Cell::lines(&ops),
            rollback.unwrap_or_default().into(),
            if Some(one.number) == current {
                state(deployment)
            } else {
                former_state(one.result())
            },
        ]
    };
    let found = revisions.iter().find(|one| Some(one.number) == current);
    let note = match (current, found) {
        (None, _) => Some("The BOSHDeployment was not made with `host deploy`.".to_string()),
        (Some(number), Some(found)) if !is_applied(deployment, found) => {
            Some(format!("The BOSHDeployment was changed since revision {number}."))
        }
        _ => None,
    };
    Table {
        title: Some(format!("Deployment '{}'", deployment.name_any())),
        notes: note.into_iter().collect(),
        ..Table::new("revisions", &HEADER, revisions.iter().map(row).collect())
    }
}

/// Whether the BOSHDeployment still has the documents and values of a revision.
fn is_applied(deployment: &BoshDeployment, revision: &Revision) -> bool {
    let (spec, inputs) = (&deployment.spec, &revision.record.inputs);
    let names = |all: &[ResourceReference]| all.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let ops: Vec<String> = inputs.ops.iter().map(|document| document.config_map.clone()).collect();
    spec.manifest.name == inputs.manifest.config_map
        && names(&spec.ops) == ops
        && inputs.vars.iter().all(|variable| spec.vars.contains(variable))
}

fn state(deployment: &BoshDeployment) -> Cell {
    if deployment.is("Ready") {
        Cell::state(result::DEPLOYED, true)
    } else if deployment.first_false(&["Converted", "Applied", PROGRESSING]).is_some() {
        Cell::state(result::FAILED, false)
    } else {
        "updating".into()
    }
}

fn former_state(ended: Option<&str>) -> Cell {
    match ended {
        Some(result::DEPLOYED) => "superseded".into(),
        Some(result::APPLIED) => "unknown".into(),
        Some(failed) => Cell::state(failed, false),
        None => "not applied".into(),
    }
}

pub fn run(arguments: &DeploymentTables, color: Color) -> Result<(), ExitError> {
    let table = arguments.deployment.run(async |access, found| {
        let revisions = Revision::all(&access, &found.names).await?;
        Ok(table(&found.deployment, &revisions))
    })?;
    Ok(arguments.table.print(vec![table], color)?)
}

#[cfg(test)]
mod tests {
    use super::super::deploy::samples::revision;
    use super::*;
    use serde_json::json;

    #[test]
    fn revisions_have_a_state() {
        let condition = json!({"type": "Ready", "status": "True", "reason": "r", "message": "m",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let mut deployment: BoshDeployment = serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment",
            "metadata": {"name": "d", "generation": 1, "annotations": {labels::REVISION: "2"}},
            "spec": {
                "manifest": {"type": "configmap", "name": "d.manifest-2"}, "ops": [{"type": "configmap", "name": "d.ops-1"}],
                "vars": [{"name": "word", "secret": "s"}],
            },
            "status": {"observedGeneration": 1, "conditions": [condition]},
        }))
        .unwrap();
        let revisions = [revision(1, "d.manifest-1", "s"), revision(2, "d.manifest-2", "s")];
        let found = table(&deployment, &revisions);
        let last = |found: &Table| found.rows.iter().map(|row| row[6].clone()).collect::<Vec<_>>();
        assert_eq!(last(&found), ["not applied".into(), Cell::state("deployed", true)]);
        assert_eq!(found.rows[0][3..5], ["manifest.yml".into(), "scale.yml".into()]);
        assert!(found.notes.is_empty());
        deployment.spec.ops.clear();
        deployment.status = None;
        let found = table(&deployment, &revisions);
        assert_eq!(last(&found)[1], "updating".into());
        assert_eq!(found.notes, ["The BOSHDeployment was changed since revision 2."]);
    }
}

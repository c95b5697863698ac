//! `host status`: the conditions of a deployment, and what the rollout of each instance group does and waits for.

use crate::access::DeploymentTables;
use crate::table::{Cell, Table};
use boson_api::stateful_set::PROGRESSING;
use boson_api::{
    BoshDeployment, Condition, ConditionStatus, QuarksStatefulSet, QuarksStatefulSetStatus, instance_group,
};
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use kube::ResourceExt;
use serde_json::json;

/// Text after the options.
pub const EXAMPLES: &str = "\
Shows the conditions of the deployment, a row for each instance group that is a service, stopped instance groups and ignored instances, and why pods \
are not ready, if Kubernetes reports a reason. \
Updated counts the instances that are not outdated, Ready those that are ready, outdated or not. Held By is the rule that keeps instances from being \
updated, and Waits For says for what. The command needs the permissions to get the BOSHDeployment and to list QuarksStatefulSets. `host wait` waits \
for a condition.

Examples:
  host status -d nats -n messaging
  host status -d nats --json";
const CONDITION_HEADER: [&str; 4] = ["Condition", "Status", "Reason", "Message"];
const GROUP_HEADER: [&str; 8] = [
    "Instance Group",
    "Version",
    "Instances",
    "Updated",
    "Ready",
    "Rollout",
    "Held By",
    "Waits For",
];
const PROBLEM_HEADER: [&str; 5] = ["Instance Group", "Pod", "Container", "Reason", "Message"];
const STATE_HEADER: [&str; 2] = ["Instance", "State"];
const OUTDATED_NOTE: &str = "The operator has not processed the newest change of the BOSHDeployment yet.";

/// The tables of states and problems only if there are some.
fn tables(deployment: &BoshDeployment, groups: &[QuarksStatefulSet]) -> Vec<Table> {
    let mut groups: Vec<&QuarksStatefulSet> = groups.iter().collect();
    groups.sort_by_key(|one| instance_group(*one));
    let rows = groups.iter().map(|one| group(one)).collect();
    let problems: Vec<Vec<Cell>> = groups.iter().flat_map(|one| problems(one)).collect();
    let mut tables = vec![
        conditions(deployment),
        Table::new("instance groups", &GROUP_HEADER, rows),
    ];
    let states: Vec<Vec<Cell>> = states(deployment).collect();
    if !states.is_empty() {
        tables.push(Table::new("states", &STATE_HEADER, states));
    }
    if !problems.is_empty() {
        tables.push(Table::new("problems", &PROBLEM_HEADER, problems));
    }
    tables
}

fn conditions(deployment: &BoshDeployment) -> Table {
    let status = deployment.status.as_ref();
    let row = |one: &Condition| {
        let word = json!(one.status).as_str().unwrap_or_default().to_string();
        vec![
            one.kind.as_str().into(),
            Cell::state(word, one.status == ConditionStatus::True),
            one.reason.as_str().into(),
            one.message.as_str().into(),
        ]
    };
    let rows = status.iter().flat_map(|status| &status.conditions).map(row).collect();
    let observed = status.and_then(|status| status.observed_generation);
    let is_current = observed == deployment.metadata.generation;
    Table {
        title: Some(format!("Deployment '{}'", deployment.name_any())),
        notes: (!is_current).then(|| OUTDATED_NOTE.to_string()).into_iter().collect(),
        ..Table::new("conditions", &CONDITION_HEADER, rows)
    }
}

fn group(group: &QuarksStatefulSet) -> Vec<Cell> {
    let none = QuarksStatefulSetStatus::default();
    let status = group.status.as_ref().unwrap_or(&none);
    let number = |count: Option<i64>| Cell::from(count.map(|count| count.to_string()).unwrap_or_default());
    let progressing = status.conditions.iter().find(|one| one.kind == PROGRESSING);
    let (_, waits) = status.rollout().unwrap_or_default();
    vec![
        instance_group(group).into(),
        number(status.version),
        number(status.replicas.map(i64::from)),
        number(status.updated_replicas.map(i64::from)),
        number(status.ready_replicas.map(i64::from)),
        progressing.map_or("", |one| one.reason.as_str()).into(),
        status.held_by.clone().unwrap_or_default().into(),
        waits.into(),
    ]
}

/// What is stopped or ignored.
fn states(deployment: &BoshDeployment) -> impl Iterator<Item = Vec<Cell>> {
    deployment.spec.instances.iter().filter_map(|one| {
        let state = match (one.desired.stopped, one.desired.ignored) {
            (true, _) => "stopped",
            (false, true) => "ignored",
            (false, false) => return None,
        };
        Some(vec![one.name.as_str().into(), state.into()])
    })
}

fn problems(group: &QuarksStatefulSet) -> impl Iterator<Item = Vec<Cell>> {
    let problems = group.status.iter().flat_map(|status| &status.problems);
    problems.map(move |one| {
        vec![
            instance_group(group).into(),
            one.pod.as_str().into(),
            one.container.clone().unwrap_or_default().into(),
            one.reason.as_str().into(),
            one.message.as_str().into(),
        ]
    })
}

pub fn run(arguments: &DeploymentTables, color: Color) -> Result<(), ExitError> {
    let tables = arguments.deployment.run(async |access, found| {
        let groups = access.list::<QuarksStatefulSet>(&found.selector).await?;
        Ok(tables(&found.deployment, &groups))
    })?;
    Ok(arguments.table.print(tables, color)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::forms::{in_json, on_terminal};
    use boson_manifest::labels;
    use serde_json::Value;

    fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    fn group_of(name: &str, status: &Value) -> QuarksStatefulSet {
        serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": format!("nats-{name}"), "labels": {labels::INSTANCE_GROUP_NAME: name}},
            "spec": {"template": {}}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn conditions_groups_and_problems_are_tables() {
        let deployment: BoshDeployment = serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "nats", "generation": 3},
            "spec": {"manifest": {"type": "configmap", "name": "m"}, "instances": [
                {"name": "db", "stopped": true}, {"name": "web/1", "ignored": true},
                {"name": "web", "replacePodsCreatedBefore": "2026-11-08T10:00:00Z"}]},
            "status": {"observedGeneration": 2, "conditions": [condition("Ready", "False", "GroupsNotReady", "m")]},
        }))
        .unwrap();
        let problem = json!({"pod": "nats-web-v2-0", "container": "web", "reason": "OOMKilled", "message": "code 137"});
        let groups = [
            group_of(
                "web",
                &json!({
                    "version": 2, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "heldBy": "Canaries",
                    "conditions": [condition(PROGRESSING, "True", "Updating", "pod 'nats-web-v2-0'")],
                    "problems": [problem],
                }),
            ),
            group_of(
                "db",
                &json!({
                    "version": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
                    "conditions": [condition(PROGRESSING, "True", "RolledOut", "all instances are updated")],
                }),
            ),
        ];
        let found = tables(&deployment, &groups);
        let wanted = [
            "Deployment 'nats'",
            "",
            "Condition  Status  Reason          Message",
            "Ready      False   GroupsNotReady  m",
            "",
            OUTDATED_NOTE,
            "",
            "1 conditions",
        ];
        assert_eq!(on_terminal(&found[0]), wanted);
        let wanted = [
            "Instance Group  Version  Instances  Updated  Ready  Rollout    Held By   Waits For",
            "db              1        1          1        1      RolledOut  -         -",
            "web             2        3          1        2      Updating   Canaries  pod 'nats-web-v2-0'",
            "",
            "2 instance groups",
        ];
        assert_eq!(on_terminal(&found[1]), wanted);
        let wanted = [
            "instance_group|version|instances|updated|ready|rollout|held_by|waits_for",
            "db|1|1|1|1|RolledOut||",
            "web|2|3|1|2|Updating|Canaries|pod 'nats-web-v2-0'",
        ];
        assert_eq!(in_json(&found[1]), wanted);
        let wanted = [
            "instance_group|pod|container|reason|message",
            "web|nats-web-v2-0|web|OOMKilled|code 137",
        ];
        assert_eq!(in_json(&found[3]), wanted);
        assert_eq!(in_json(&found[2]), ["instance|state", "db|stopped", "web/1|ignored"]);
        assert_eq!(tables(&deployment, &groups[1..]).len(), 3);
    }
}

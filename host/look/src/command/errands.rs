//! `host errands`: the errands of a deployment, and their last runs.

use crate::access::DeploymentTables;
use crate::table::{Cell, Table};
use boson_api::{QuarksJob, instance_group};
use boson_cluster::objects::is_manual;
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_manifest::names::Names;
use kube::ResourceExt;

/// Text after the options.
pub const EXAMPLES: &str = "\
An errand is an instance group with `lifecycle: errand` (a user starts it) or `auto-errand` (the operator starts it). Last Run is `never`, `running`, \
`succeeded` or `failed`; Message says why. The command needs the permissions to get the BOSHDeployment and to list QuarksJobs.

Example: host errands -d nats -n messaging";
const HEADER: [&str; 6] = ["Name", "Lifecycle", "QuarksJob", "Runs", "Last Run", "Message"];

/// The QuarksJobs of a deployment, without those of its conversion.
fn table(jobs: &[QuarksJob], names: &Names) -> Table {
    let errands = jobs.iter().filter(|job| !names.is_conversion(&job.name_any()));
    let mut rows: Vec<(String, Vec<Cell>)> = errands.map(|job| (instance_group(job), row(job))).collect();
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    Table::new("errands", &HEADER, rows.into_iter().map(|(_, row)| row).collect())
}

fn row(job: &QuarksJob) -> Vec<Cell> {
    let runs = job.status.as_ref().map_or(0, |status| status.runs);
    let lifecycle = if is_manual(job) { "errand" } else { "auto-errand" };
    let (word, message) = last_run(job);
    let word = match word {
        "never" | "running" => word.into(),
        word => Cell::state(word, word == "succeeded"),
    };
    vec![
        instance_group(job).into(),
        lifecycle.into(),
        job.name_any().into(),
        runs.to_string().into(),
        word,
        message.into(),
    ]
}

/// The result of the last run, and why it failed.
fn last_run(job: &QuarksJob) -> (&'static str, &str) {
    let Some(status) = &job.status else {
        return ("never", "");
    };
    match status.failure() {
        _ if status.runs > status.ended_runs => ("running", ""),
        Some(failed) => ("failed", failed.message.as_str()),
        None if status.completed => ("succeeded", ""),
        None => ("never", ""),
    }
}

pub fn run(arguments: &DeploymentTables, color: Color) -> Result<(), ExitError> {
    let table = arguments.deployment.run(async |access, found| {
        let jobs = access.list::<QuarksJob>(&found.selector).await?;
        Ok(table(&jobs, &found.names))
    })?;
    Ok(arguments.table.print(vec![table], color)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::forms::{in_json, on_terminal};
    use boson_cluster::objects::TRIGGER;
    use boson_manifest::labels;
    use serde_json::{Value, json};

    #[test]
    fn errands_have_their_last_runs_and_steps_of_the_conversion_are_left_out() {
        let job = |name: &str, asked: &str, status: Value| -> QuarksJob {
            let group = name.strip_prefix("nats-");
            let labels = group.map(|group| json!({ labels::INSTANCE_GROUP_NAME: group }));
            serde_json::from_value(json!({
                "apiVersion": labels::API_VERSION, "kind": "QuarksJob",
                "metadata": {"name": name, "labels": labels, "annotations": {TRIGGER: asked}},
                "spec": {"trigger": {"strategy": "manual"}, "template": {}}, "status": status,
            }))
            .unwrap()
        };
        let failed = json!([{"type": "Failed", "status": "True", "reason": "r", "message": "exit code 3",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        let jobs = [
            job(
                "nats-smoke",
                "manual",
                json!({"runs": 2, "endedRuns": 2, "conditions": failed}),
            ),
            job(
                "nats-setup",
                "once",
                json!({"runs": 1, "endedRuns": 1, "completed": true}),
            ),
            job("nats-load", "manual", json!({"runs": 1, "endedRuns": 0})),
            job("nats-idle", "manual", Value::Null),
            job("bpm-configs-nats", "once", Value::Null),
        ];
        let table = table(&jobs, &Names::new("nats", "n", "").unwrap());
        let wanted = [
            "Name   Lifecycle    QuarksJob   Runs  Last Run   Message",
            "idle   errand       nats-idle   0     never      -",
            "load   errand       nats-load   1     running    -",
            "setup  auto-errand  nats-setup  1     succeeded  -",
            "smoke  errand       nats-smoke  2     failed     exit code 3",
            "",
            "4 errands",
        ];
        assert_eq!(on_terminal(&table), wanted);
        let found = in_json(&table);
        assert_eq!(found[0], "name|lifecycle|quarksjob|runs|last_run|message");
        assert_eq!(found[4], "smoke|errand|nats-smoke|2|failed|exit code 3");
    }
}

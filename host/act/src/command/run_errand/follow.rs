//! Follows a run of an errand to its end.

use super::errand::Errand;
use super::output::{Logs, say};
use super::pods::{exits, have_started, sources};
use super::reader::Readers;
use anyhow::bail;
use boson_api::{Condition, ConditionStatus, QuarksJob, QuarksJobStatus};
use boson_cluster::client::{Error, ErrorKind};
use boson_look::access::Access;
use boson_manifest::labels;
use boson_manifest::names::{MAX_LABEL_LENGTH, cut};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// After this time without a sign of the operator, a user may want to know that.
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(15);
/// How often events are read while no container runs.
const EVENTS_INTERVAL: Duration = Duration::from_secs(5);
/// Label that Kubernetes sets on the pods of a Job.
const JOB_NAME_LABEL: &str = "batch.kubernetes.io/job-name";

#[derive(Clone)]
pub struct Run {
    pub access: Arc<Access>,
    pub errand: Errand,
    pub number: i64,
    /// `metadata.generation` of the trigger, if the run can be skipped.
    pub skippable: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Skipped,
    /// Exit codes by container, and why it failed, in the operator's words.
    Ended(BTreeMap<String, i32>, Option<String>),
}

/// What there is of it.
struct Seen {
    status: QuarksJobStatus,
    job: Option<String>,
    pods: Vec<Pod>,
}

/// What was said to the user.
#[derive(Default)]
struct Said {
    news: String,
    warnings: BTreeSet<String>,
    events_at: Option<Instant>,
    is_unanswered: bool,
    has_lost_connection: bool,
}

// === impl Run ===

impl Run {
    /// Selector of the Jobs and pods of all runs.
    pub fn selector(errand: &Errand) -> String {
        let name = cut(&errand.name, "", MAX_LABEL_LENGTH);
        format!("{}={name}", labels::QUARKS_JOB_NAME)
    }

    /// # Errors
    /// The QuarksJob was deleted, or it, its Jobs or its pods cannot be read.
    pub async fn follow(&self, logs: &Arc<Mutex<Logs>>) -> anyhow::Result<End> {
        let all = logs.lock().has_files();
        let mut readers = Readers::new(self.access.clone(), logs.clone());
        let (mut said, mut job) = (Said::default(), None);
        let begun = Instant::now();
        loop {
            match self.read_state(job.clone()).await {
                Ok(Some(seen)) => {
                    said.has_lost_connection = false;
                    job.clone_from(&seen.job);
                    let skipped = seen.status.skipped_generation;
                    if self.skippable.is_some_and(|asked| skipped >= Some(asked)) {
                        return Ok(End::Skipped);
                    }
                    self.report(&mut said, &seen, begun).await;
                    for pod in &seen.pods {
                        readers.read(sources(pod, &self.errand.containers, all));
                    }
                    if seen.status.ended_runs >= self.number {
                        say_errors(&readers.finish().await);
                        return Ok(self.end(&seen));
                    }
                }
                Ok(None) => bail!("QuarksJob '{}' was deleted during the run", self.errand.name),
                Err(error) if is_temporary(&error.kind) => {
                    if !std::mem::replace(&mut said.has_lost_connection, true) {
                        say(&format!("the API server does not answer; the errand goes on ({error})"));
                    }
                }
                Err(error) => return Err(self.access.explain(error)),
            }
            say_errors(&readers.errors());
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// None: it was deleted, or is another one. `job`: if it is known.
    async fn read_state(&self, job: Option<String>) -> Result<Option<Seen>, Error> {
        let (cluster, namespace) = (&self.access.cluster, &self.access.namespace);
        let found: Option<QuarksJob> = cluster.get(namespace, &self.errand.name).await?;
        let Some(object) = found.filter(|object| object.uid().as_ref() == Some(&self.errand.uid)) else {
            return Ok(None);
        };
        let job = match job {
            Some(job) => Some(job),
            None => {
                let jobs: Vec<Job> = cluster.list(namespace, &Self::selector(&self.errand)).await?;
                self.errand.job_of(&jobs, self.number).map(ResourceExt::name_any)
            }
        };
        let pods = match &job {
            Some(job) => cluster.list(namespace, &format!("{JOB_NAME_LABEL}={job}")).await?,
            None => Vec::new(),
        };
        let status = object.status.unwrap_or_default();
        Ok(Some(Seen { status, job, pods }))
    }

    /// Says what has changed, and what keeps it from starting.
    async fn report(&self, said: &mut Said, seen: &Seen, begun: Instant) {
        if let Some(news) = progress_message(&seen.status, self.number).filter(|news| *news != said.news) {
            say(&news);
            said.news = news;
        }
        if seen.job.is_none() && said.news.is_empty() && begun.elapsed() > OPERATOR_TIMEOUT && !said.is_unanswered {
            said.is_unanswered = true;
            let namespace = &self.access.namespace;
            say(&format!(
                "the operator has not started the run yet: does it run, and serve the namespace '{namespace}'?"
            ));
        }
        let is_due = said.events_at.unwrap_or(begun).elapsed() >= EVENTS_INTERVAL;
        if is_due && !have_started(&seen.pods, &self.errand.containers) {
            said.events_at = Some(Instant::now());
            let names = seen
                .job
                .iter()
                .cloned()
                .chain(seen.pods.iter().map(ResourceExt::name_any));
            for name in names {
                for warning in self.warnings(&name).await {
                    if said.warnings.insert(warning.clone()) {
                        say(&warning);
                    }
                }
            }
        }
    }

    /// Events about an object. Without the permission for them, the operator's condition says most of it.
    async fn warnings(&self, name: &str) -> Vec<String> {
        let fields = format!("type=Warning,involvedObject.name={name}");
        let found = self
            .access
            .cluster
            .list_with_fields::<Event>(&self.access.namespace, &fields);
        let found = found.await.unwrap_or_default().into_iter();
        let text = |event: Event| {
            let reason = event.reason.unwrap_or_default();
            let kind = event.involved_object.kind.unwrap_or_default();
            format!("{kind} '{name}': {reason}: {}", event.message.unwrap_or_default())
        };
        found.map(text).collect()
    }

    fn end(&self, seen: &Seen) -> End {
        let mut exits = exits(&seen.pods, &self.errand.containers);
        let failure = failure(&seen.status, self.number);
        if failure.is_none() && seen.status.runs == self.number {
            // Its pods may have been deleted already.
            for container in &self.errand.containers {
                exits.entry(container.clone()).or_insert(0);
            }
        }
        End::Ended(exits, failure)
    }
}

fn condition<'s>(status: &'s QuarksJobStatus, kind: &str) -> Option<&'s Condition> {
    status.conditions.iter().find(|one| one.kind == kind)
}

/// What the operator says about a run that has not ended.
fn progress_message(status: &QuarksJobStatus, number: i64) -> Option<String> {
    let complete = condition(status, "Complete")?;
    let is_about_it = match complete.reason.as_str() {
        "Running" => status.runs == number,
        "Waiting" | "Refused" => status.runs < number,
        _ => false,
    };
    is_about_it.then(|| complete.message.clone())
}

/// Why an ended run was no success. None: it was one, or a later one has begun.
fn failure(status: &QuarksJobStatus, number: i64) -> Option<String> {
    if status.completed || status.runs != number {
        return None;
    }
    let failed = condition(status, "Failed").filter(|one| one.status == ConditionStatus::True);
    let why = failed.or_else(|| condition(status, "Complete"));
    Some(why.map_or_else(|| format!("run {number} failed"), |why| why.message.clone()))
}

/// Whether the API server may answer again.
fn is_temporary(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Busy(_) | ErrorKind::Connection | ErrorKind::NoAnswer(_) => true,
        ErrorKind::Other(code) => *code >= 500,
        _ => false,
    }
}

fn say_errors(errors: &[anyhow::Error]) {
    errors.iter().for_each(|error| say(&format!("{error:#}")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn status(runs: i64, ended_runs: i64, completed: bool, reason: &str, failed: bool) -> QuarksJobStatus {
        let condition = |kind: &str, holds: bool| {
            let status = if holds { "True" } else { "False" };
            json!({"type": kind, "status": status, "reason": reason, "message": format!("{kind}: {reason}"),
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let conditions: Value = json!([condition("Complete", completed), condition("Failed", failed)]);
        serde_json::from_value(
            json!({"runs": runs, "endedRuns": ended_runs, "completed": completed, "conditions": conditions}),
        )
        .unwrap()
    }

    #[test]
    fn news_are_about_this_run() {
        assert_eq!(
            progress_message(&status(2, 1, false, "Running", false), 2).unwrap(),
            "Complete: Running"
        );
        assert_eq!(progress_message(&status(2, 2, true, "Succeeded", false), 3), None);
        assert_eq!(
            progress_message(&status(2, 2, true, "Waiting", false), 3).unwrap(),
            "Complete: Waiting"
        );
        assert_eq!(
            progress_message(&status(2, 2, true, "Refused", true), 3).unwrap(),
            "Complete: Refused"
        );
        assert_eq!(progress_message(&status(2, 1, false, "Running", false), 3), None);
    }

    #[test]
    fn the_result_is_that_of_this_run() {
        assert_eq!(failure(&status(2, 2, true, "Succeeded", false), 2), None);
        let failed = status(2, 2, false, "JobGone", true);
        assert_eq!(failure(&failed, 2).unwrap(), "Failed: JobGone");
        assert_eq!(failure(&failed, 1), None);
        let superseded = status(2, 2, false, "Superseded", false);
        assert_eq!(failure(&superseded, 2).unwrap(), "Complete: Superseded");
    }
}

//! What a deploy does with pods beside the change of the manifest: `--recreate`, `--fix` and `--skip-drain`. The
//! options of one deploy are no part of its inputs.

use crate::selection::{Selection, SelectionError};
use crate::states::{self, Change, Target, creation_time};
use crate::{drain, lost};
use anyhow::bail;
use boson_look::access::{Access, Found};
use boson_look::instances::Instance;
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use std::fmt::Write;

/// Options about pods.
#[derive(Args, Debug, Default)]
pub struct PodOptions {
    /// Replace all pods, also those that nothing changes for. Ignored instances keep theirs
    #[arg(long)]
    recreate: bool,
    /// As --recreate, but only pods that were created before this time, such as 2026-11-28T10:00:00Z
    #[arg(long, value_name = "TIME")]
    recreate_vms_created_before: Option<Timestamp>,
    /// Delete pods on nodes that do not answer, without waiting for these
    #[arg(long)]
    fix: bool,
    /// Stop present pods without their pre-stop and drain scripts: those of these instance groups and instances, or all
    #[arg(long, value_name = "GROUP[/INDEX],..", value_parser = drain::selection, value_delimiter = ',', num_args = 0..,
        require_equals = true, default_missing_value = drain::ALL_INSTANCES)]
    skip_drain: Vec<Selection>,
}

/// The instances before a deploy, as far as its options are about them.
#[derive(Default)]
pub struct PodRequest {
    /// Those whose pods are recreated.
    targets: Vec<Target>,
    /// Those that stop without their scripts.
    pub without_drain: Vec<Instance>,
    /// Those whose nodes are looked at.
    fixed: Vec<Instance>,
}

// === impl PodOptions ===

impl PodOptions {
    /// Reads the instances. `found`: none if the deployment does not exist. `is_cancelled`: the deploy ends its pause.
    ///
    /// # Errors
    /// They cannot be read, or the options are not about any.
    pub async fn read(&self, access: &Access, found: Option<&Found>, is_cancelled: bool) -> anyhow::Result<PodRequest> {
        if self
            .recreate_vms_created_before
            .is_some_and(|time| time > Timestamp::now())
        {
            bail!("the time of --recreate-vms-created-before is in the future");
        }
        let Some(found) = found.filter(|_| self.are_given()) else {
            return Ok(PodRequest::default());
        };
        if found.deployment.spec.paused && !is_cancelled && self.recreates() {
            bail!(crate::command::states::PAUSED_MESSAGE);
        }
        let mut instances = Instance::all(access, found).await?;
        instances.retain(|one| !found.deployment.spec.is_ignored(&one.to_string()));
        Ok(self.request(instances)?)
    }

    fn are_given(&self) -> bool {
        self.recreates() || self.fix || !self.skip_drain.is_empty()
    }

    fn recreates(&self) -> bool {
        self.recreate || self.recreate_vms_created_before.is_some()
    }

    /// `instances`: those that are not ignored.
    fn request(&self, instances: Vec<Instance>) -> Result<PodRequest, SelectionError> {
        let mut without_drain = Vec::new();
        for selection in &self.skip_drain {
            for one in selection.of(instances.clone())? {
                if !without_drain.contains(&one) {
                    without_drain.push(one);
                }
            }
        }
        let targets = if self.recreates() {
            Target::replacing(&Selection::All, &instances, self.recreate_vms_created_before)
        } else {
            Vec::new()
        };
        Ok(PodRequest {
            targets,
            without_drain,
            fixed: if self.fix { instances } else { Vec::new() },
        })
    }
}

// === impl PodRequest ===

impl PodRequest {
    /// Whether pods are replaced that the manifest does not change.
    pub fn replaces(&self) -> bool {
        !self.targets.is_empty() || !self.fixed.is_empty()
    }

    /// What is said before the question.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for target in &self.targets {
            let time = target.time.as_ref().map(|time| format!(" created before {}", time.0));
            let _ = writeln!(text, "recreate {}: pods{}", target.name, time.unwrap_or_default());
        }
        for instance in self.without_drain.iter().filter(|one| creation_time(one).is_some()) {
            let _ = writeln!(text, "skip drain of {instance}");
        }
        text
    }

    /// After the deployment was changed: pods that are created meanwhile are not replaced again. Returns the generation
    /// to wait for, if it is another one.
    ///
    /// # Errors
    /// Something cannot be read or written.
    pub async fn replace(&self, access: &Access, name: &str) -> anyhow::Result<Option<i64>> {
        let mut generation = None;
        if !self.targets.is_empty() {
            let written = states::write(access, name, &self.targets, Change::Replace).await?;
            generation = written.metadata.generation;
        }
        lost::delete(access, &self.fixed).await?;
        Ok(generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    fn options(words: &str) -> Option<PodOptions> {
        use clap::FromArgMatches;
        let command = PodOptions::augment_args(clap::Command::default());
        let words = ["host"].into_iter().chain(words.split_whitespace());
        let matches = command.try_get_matches_from(words).ok()?;
        PodOptions::from_arg_matches(&matches).ok()
    }

    fn instances() -> Vec<Instance> {
        let instance = |group: &str, index: usize| Instance {
            group: group.into(),
            index: Some(index),
            az: String::new(),
            pod: from_value(json!({"metadata": {"creationTimestamp": "2026-11-28T10:00:00Z"}})).ok(),
        };
        vec![instance("db", 0), instance("web", 0), instance("web", 1)]
    }

    fn request(words: &str) -> PodRequest {
        options(words).unwrap().request(instances()).unwrap()
    }

    #[test]
    fn drain_is_skipped_for_all_or_for_groups_and_instances() {
        let names = |words: &str| -> Vec<String> {
            let request = request(words);
            request.without_drain.iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(""), [""; 0]);
        assert_eq!(names("--skip-drain"), ["db/0", "web/0", "web/1"]);
        assert_eq!(names("--skip-drain=web/1,db"), ["web/1", "db/0"]);
        assert_eq!(names("--skip-drain=web --skip-drain=web/0"), ["web/0", "web/1"]);
        assert!(options("--skip-drain=web/x").is_none());
        assert!(options("--skip-drain=gone").unwrap().request(instances()).is_err());
    }

    #[test]
    fn the_question_says_what_is_recreated() {
        let wanted = "recreate db: pods created before 2026-11-28T10:00:01Z\nrecreate web: pods created before \
                      2026-11-28T10:00:01Z\n";
        assert_eq!(request("--recreate").text(), wanted);
        let early = request("--recreate-vms-created-before=2026-11-01T00:00:00Z");
        assert!(
            early
                .text()
                .starts_with("recreate db: pods created before 2026-11-01T00:00:00Z\n")
        );
        assert!(early.replaces() && request("--fix").replaces() && !request("--skip-drain").replaces());
    }
}

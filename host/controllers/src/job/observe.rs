//! Observes the state; reads only. All reads are quorum reads, because a stale one could start a run twice.

use super::marks::{CONFIG_DIGEST, QUARKS_JOB, RUN};
use super::references::{Kind, Reference, newest_versions, references, topic, with_newest_secrets};
use boson_api::job::Strategy;
use boson_api::{QuarksJob, word};
use boson_cluster::client::{Cluster, Error, Identity};
use boson_cluster::objects::{self, versioned};
use boson_cluster::reconcile::Interest;
use boson_manifest::labels::{self, secret_kind};
use boson_manifest::names::{MAX_LABEL_LENGTH, cut};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::ResourceExt;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Most references of a template. All are read whenever one of them changes, up to a megabyte each.
const MAX_REFERENCES: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Its Jobs by the number of the run.
    pub jobs: Vec<(i64, Job)>,
    /// The pods of these Jobs.
    pub pods: Vec<Pod>,
    /// The configuration of the next run; empty if it is not needed.
    pub config: Config,
    /// Messages of containers with this image can be shown.
    pub operator_image: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Config {
    /// The template, with the newest versions of Secrets.
    pub template: Map<String, Value>,
    /// Digest of everything that shapes the run; none while something is missing.
    pub digest: Option<String>,
    /// Missing required objects, such as `Secret 'a'`.
    pub missing: Vec<String>,
    pub refused: Option<String>,
}

// === impl Observed ===

impl Observed {
    pub(super) fn job(&self, number: i64) -> Option<&Job> {
        let found = self.jobs.iter().find(|(run, _)| *run == number);
        found.map(|(_, job)| job)
    }
}

/// The configuration digest of a Job.
pub(super) fn recorded_digest(job: &Job) -> Option<&str> {
    job.metadata
        .annotations
        .as_ref()?
        .get(CONFIG_DIGEST)
        .map(String::as_str)
}

/// Reads the state. References are noted in `interest` before they are read, so that no later change is missed.
///
/// # Errors
/// See [`Error`].
pub(super) async fn observe(
    cluster: &Cluster,
    interest: &Interest,
    object: &QuarksJob,
    operator_image: &str,
) -> Result<Observed, Error> {
    let Identity { namespace, name, uid } = Identity::of(object)?;
    let template = object.spec.template.members();
    let references = references(&template);
    let topics = references
        .iter()
        .map(|one| (namespace.to_string(), topic(one.kind, &one.name)));
    interest.note(namespace, name, topics);

    let label = format!("{}={}", labels::QUARKS_JOB_NAME, cut(name, "", MAX_LABEL_LENGTH));
    let jobs: Vec<Job> = cluster.list(namespace, &label).await?;
    let mut observed = Observed {
        jobs: jobs.into_iter().filter_map(|job| numbered_job(job, uid)).collect(),
        operator_image: operator_image.into(),
        ..Observed::default()
    };
    if is_wanted(object) || is_renewed(object) {
        observed.config = config(cluster, object, &template, references).await?;
    }
    if !observed.jobs.is_empty() || may_run(object, &observed) {
        let pods: Vec<Pod> = cluster.list(namespace, &label).await?;
        observed.pods = pods
            .into_iter()
            .filter(|pod| pod.annotations().get(QUARKS_JOB).is_some_and(|job| job == name))
            .collect();
    }
    Ok(observed)
}

/// Whether it reruns when its configuration changes.
pub(super) fn is_renewed(object: &QuarksJob) -> bool {
    let strategy = object.spec.trigger.strategy;
    object.spec.update_on_config_change && matches!(strategy, Strategy::Once | Strategy::Done)
}

fn is_wanted(object: &QuarksJob) -> bool {
    matches!(
        object.spec.trigger.strategy,
        Strategy::Now | Strategy::Changed | Strategy::Once
    )
}

/// Whether its pods matter: a run may be about to begin.
fn may_run(object: &QuarksJob, observed: &Observed) -> bool {
    let digest = observed.config.digest.as_ref();
    let last = object.status.as_ref().and_then(|status| status.config_digest.as_ref());
    is_wanted(object) || digest.is_some() && digest != last
}

fn numbered_job(job: Job, owner: &str) -> Option<(i64, Job)> {
    let ours = objects::has_owner(&job, owner);
    let number = job.annotations().get(RUN)?.parse().ok()?;
    (ours && job.metadata.deletion_timestamp.is_none()).then_some((number, job))
}

async fn config(
    cluster: &Cluster,
    object: &QuarksJob,
    template: &Map<String, Value>,
    wanted: BTreeSet<Reference>,
) -> Result<Config, Error> {
    let namespace = Identity::of(object)?.namespace;
    if wanted.len() > MAX_REFERENCES {
        let refused = format!(
            "spec.template refers to {} ConfigMaps and Secrets, more than {MAX_REFERENCES}",
            wanted.len()
        );
        return Ok(Config {
            refused: Some(refused),
            ..Config::default()
        });
    }
    let is_version = |one: &Reference| one.kind == Kind::Secret && versioned::parts(&one.name).is_some();
    let mut newer = BTreeMap::new();
    if wanted.iter().any(is_version) {
        let label = format!("{}={}", labels::SECRET_KIND, secret_kind::VERSIONED);
        let there = cluster.list_metadata::<Secret>(namespace, &label).await?;
        newer = newest_versions(&wanted, there.iter().filter_map(|meta| meta.name.as_deref()));
    }
    let template = with_newest_secrets(template, &newer);
    let mut missing = Vec::new();
    let mut digest = ConfigDigest::new(object, &template);
    for reference in references(&template) {
        match content(cluster, namespace, &reference).await? {
            Some(content) => digest.add(&content),
            None if reference.optional => digest.add(&Value::Null),
            None => missing.push(format!("{} '{}'", word(reference.kind), reference.name)),
        }
    }
    missing.dedup();
    Ok(Config {
        digest: missing.is_empty().then(|| digest.finish()),
        template,
        missing,
        refused: None,
    })
}

/// Computes the digest of everything that shapes a run as that of one JSON list, with only one content in memory at a
/// time.
struct ConfigDigest {
    bytes: Sha256,
    is_first: bool,
}

// === impl ConfigDigest ===

impl ConfigDigest {
    fn new(object: &QuarksJob, template: &Map<String, Value>) -> Self {
        let mut template = Value::Object(template.clone());
        template.sort_all_objects();
        let head = json!([object.uid(), template, object.spec.output]).to_string();
        let mut bytes = Sha256::new();
        bytes.update(head.strip_suffix(']').unwrap_or(&head));
        bytes.update(",[");
        Self { bytes, is_first: true }
    }

    fn add(&mut self, content: &Value) {
        if !std::mem::take(&mut self.is_first) {
            self.bytes.update(",");
        }
        self.bytes.update(content.to_string());
    }

    fn finish(mut self) -> String {
        self.bytes.update("]]");
        objects::short_hexadecimal(&self.bytes.finalize())
    }
}

/// The data of what is referred to.
async fn content(cluster: &Cluster, namespace: &str, reference: &Reference) -> Result<Option<Value>, Error> {
    let name = &reference.name;
    Ok(match reference.kind {
        Kind::ConfigMap => {
            let found: Option<ConfigMap> = cluster.get(namespace, name).await?;
            found.map(|map| json!([name, map.data, map.binary_data]))
        }
        Kind::Secret => {
            let found: Option<Secret> = cluster.get(namespace, name).await?;
            found.map(|secret| json!([name, secret.data]))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::made::asked;
    use super::*;

    #[test]
    fn the_digest_is_that_of_one_list() {
        let object = asked(json!({"trigger": {"strategy": "once"}, "template": {"b": 1, "a": {"d": 2, "c": 3}}}));
        let template = &object.spec.template.members();
        for contents in [
            json!([]),
            json!([["a", {"k": "v"}]]),
            json!([null, ["b", null], ["a", {}]]),
        ] {
            let mut digest = ConfigDigest::new(&object, template);
            contents.as_array().unwrap().iter().for_each(|one| digest.add(one));
            let mut sorted = Value::Object(template.clone());
            sorted.sort_all_objects();
            let list = json!(["uid-a", sorted, object.spec.output, contents]);
            assert_eq!(digest.finish(), objects::digest(&list));
        }
    }
}

//! Deletes versions of a QuarksJob's output that are no longer used.

use crate::job::run::{controller_reference, is_of_conversion};
use boson_api::QuarksJob;
use boson_api::job::{Output, OutputSecret, PersistenceMethod};
use boson_cluster::client::{Cluster, Error, Identity};
use boson_cluster::objects::used::Used;
use boson_cluster::objects::{label, versioned};
use boson_manifest::labels::{self, secret_kind};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeSet;

/// Deletes all versions but the newest, `keep` more, and those that workloads of the namespace refer to. Deletes
/// nothing during a rollout of a StatefulSet: its older pods may need versions that its spec no longer names.
///
/// # Errors
/// See [`Error`].
pub(super) async fn collect(cluster: &Cluster, object: &QuarksJob, keep: usize) -> Result<(), Error> {
    let asked = object.spec.output.as_ref().map(versioned_secrets).unwrap_or_default();
    // The deployment deletes old documents of its conversion itself.
    if asked.is_empty() || is_of_conversion(object) {
        return Ok(());
    }
    let Identity { namespace, uid, .. } = Identity::of(object)?;
    let owner = controller_reference(object).map_or(uid, |owner| owner.uid.as_str());
    let label = format!("{}={}", labels::SECRET_KIND, secret_kind::VERSIONED);
    let mut there = cluster.list_metadata::<Secret>(namespace, &label).await?;
    let series = series(&asked, &there);
    there.retain(|meta| series_name(meta).is_some_and(|name| series.contains(name)));
    let garbage = versioned::garbage(&there, owner, &series, keep, |_| false);
    if garbage.is_empty() {
        return Ok(());
    }
    let candidates = garbage.iter().filter_map(|meta| meta.name.as_deref());
    let used = Used::of(cluster, namespace, "", candidates).await?;
    if used.rolls {
        return Ok(());
    }
    for meta in garbage {
        if meta.name.as_deref().is_some_and(|name| !used.holds(name)) {
            cluster.delete(&versioned::with_metadata(meta)).await?;
        }
    }
    Ok(())
}

fn versioned_secrets(output: &Output) -> Vec<&OutputSecret> {
    let files = output.output_map.values().flat_map(|files| files.values());
    files.filter(|asked| asked.versioned).collect()
}

/// The series of its output, of those that exist. Documents of a deployment are never output, whatever their names.
fn series(asked: &[&OutputSecret], there: &[ObjectMeta]) -> BTreeSet<String> {
    let is_document = |meta: &&ObjectMeta| label(meta, labels::SECRET_TYPE).is_some();
    let is_output = |name: &&str| {
        let mut asked = asked.iter();
        asked.any(|asked| match asked.persistence_method {
            PersistenceMethod::OneToOne => asked.name == *name,
            PersistenceMethod::FanOut => name.strip_prefix(&asked.name).is_some_and(|rest| rest.starts_with('-')),
        })
    };
    let names = there.iter().filter(|meta| !is_document(meta)).filter_map(series_name);
    names.filter(is_output).map(str::to_string).collect()
}

fn series_name(meta: &ObjectMeta) -> Option<&str> {
    Some(versioned::parts(meta.name.as_deref()?)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_series_of_the_output_map_are_output() {
        let output = json!({"outputMap": {"c": {
            "f": {"name": "one", "versioned": true}, "g": {"name": "fan", "versioned": true, "persistencemethod": "fan-out"},
            "h": {"name": "plain"}}}});
        let output: Output = serde_json::from_value(output).unwrap();
        let asked = versioned_secrets(&output);
        assert_eq!((asked.len(), versioned_secrets(&Output::default()).len()), (2, 0));
        let meta = |name: &str| ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        };
        let mut there = [
            "one-v1",
            "one-x-v1",
            "fan-a-v2",
            "fan-b-v1",
            "fanny-v1",
            "fan-v1",
            "plain-v1",
            "fan-d.bpm.g-v1",
        ]
        .map(meta);
        there[7].labels = Some([(labels::SECRET_TYPE.to_string(), "bpm".to_string())].into());
        let found: Vec<String> = series(&asked, &there).into_iter().collect();
        assert_eq!(found, ["fan-a", "fan-b", "one"]);
    }
}

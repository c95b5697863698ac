//! Follows rotations until all instances run with the new values.

use super::plan::{self, Item};
use crate::display::{Display, Line};
use crate::follow::rollout_line;
use anyhow::bail;
use boson_api::stateful_set::PROGRESSING;
use boson_api::{BoshDeployment, QuarksSecret, QuarksStatefulSet, instance_group};
use boson_cluster::client::Error;
use boson_cluster::consumers::{Versions, newest_links, pending, users, version_digest};
use boson_look::access::{Access, Found};
use boson_manifest::labels::{SECRET_TYPE, TRUSTED_CA, secret_type};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Between two reads.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Rotations, and what they concern.
pub struct Following {
    /// Selector of the objects of the deployment.
    selector: String,
    /// The rotated variables, by the names of their QuarksSecrets.
    variables: BTreeMap<String, String>,
    /// The Secrets with new values: theirs, and of what they sign.
    secrets: BTreeSet<String>,
}

/// What was read at a time.
struct State {
    objects: Vec<QuarksSecret>,
    deployments: Vec<BoshDeployment>,
    groups: Vec<QuarksStatefulSet>,
    secrets: Vec<ObjectMeta>,
    links: Vec<ObjectMeta>,
}

// === impl Following ===

impl Following {
    pub fn new(objects: &[QuarksSecret], items: &[Item<'_>], found: &Found) -> Self {
        let own = items.iter().map(|item| item.object);
        let all = own.chain(plan::signed_certificates(objects, items));
        let key = |item: &Item<'_>| item.object.metadata.name.clone().unwrap_or_default();
        Self {
            selector: found.selector.clone(),
            variables: items.iter().map(|item| (key(item), item.variable.clone())).collect(),
            secrets: all.map(|one| one.spec.secret_name.clone()).collect(),
        }
    }

    /// # Errors
    /// A deployment that uses the values fails, or the cluster cannot be read.
    pub async fn run(&self, access: &Access) -> anyhow::Result<()> {
        let mut display = Display::start();
        loop {
            match self.read(access).await {
                Ok(state) => {
                    if let Some(variable) = self.deleted_variable(&state.objects) {
                        bail!("the QuarksSecret of '{variable}' was deleted");
                    }
                    if let Some(why) = self.failure(&state.deployments) {
                        bail!("{why}; the rotation continues once it is ready: run the same command again to follow");
                    }
                    let (lines, is_done) = self.lines(&state);
                    display.show(&lines);
                    if is_done {
                        return Ok(());
                    }
                }
                Err(error) if error.is_lasting() => return Err(access.explain(error)),
                // The API server may answer again.
                Err(error) => display.note("", &error.to_string()),
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn read(&self, access: &Access) -> Result<State, Error> {
        let (cluster, namespace) = (&access.cluster, &access.namespace);
        let links = format!("{SECRET_TYPE}={}", secret_type::LINKS);
        Ok(State {
            objects: cluster.list_in_pages(namespace, &self.selector).await?,
            secrets: cluster.list_metadata::<Secret>(namespace, &self.selector).await?,
            links: cluster.list_metadata::<Secret>(namespace, &links).await?,
            // The last: what they have applied is not older than the Secrets.
            groups: cluster.list_in_pages(namespace, &self.selector).await?,
            deployments: cluster.list_in_pages(namespace, "").await?,
        })
    }

    /// A rotated variable that does not exist any more.
    fn deleted_variable(&self, objects: &[QuarksSecret]) -> Option<&String> {
        let is_there = |object: &String| objects.iter().any(|one| one.metadata.name.as_ref() == Some(object));
        let deleted = self.variables.iter().find(|(object, _)| !is_there(object));
        deleted.map(|(_, variable)| variable)
    }

    /// Why a deployment that uses the values cannot get them.
    pub fn failure(&self, deployments: &[BoshDeployment]) -> Option<String> {
        let versions: Versions = self.secrets.iter().map(|name| (name.clone(), String::new())).collect();
        users(deployments, &versions).into_iter().find_map(failure_text)
    }

    /// A line for each rotation, for each rollout in progress, and for a deployment that lags behind; and whether all
    /// is done.
    fn lines(&self, state: &State) -> (BTreeMap<String, Line>, bool) {
        let rotation = |(object, variable): (&String, &String)| {
            let found = state
                .objects
                .iter()
                .find(|one| one.metadata.name.as_ref() == Some(object))?;
            Some((variable.clone(), rotation(found)))
        };
        let mut lines: BTreeMap<String, Line> = self.variables.iter().filter_map(rotation).collect();
        let is_rotated = lines.values().all(|line| line.is_done);
        let groups = state
            .groups
            .iter()
            .map(|one| (format!("group {}", instance_group(one)), rollout_line(one)));
        lines.extend(groups.filter(|(_, line)| !line.is_done));
        let reason = self.remaining_work(state).into_iter().next().filter(|_| is_rotated);
        let is_done = is_rotated && reason.is_none();
        lines.extend(reason.map(|text| ("rollout".to_string(), Line { text, is_done: false })));
        (lines, is_done)
    }

    /// What is left after the last step: certificates that still trust an old CA, and rollouts.
    fn remaining_work(&self, state: &State) -> Vec<String> {
        let of = |meta: &&ObjectMeta| meta.name.as_ref().is_some_and(|name| self.secrets.contains(name));
        let secrets: Vec<&ObjectMeta> = state.secrets.iter().filter(of).collect();
        let trusts = |meta: &&ObjectMeta| {
            let annotations = meta.annotations.as_ref();
            annotations.is_some_and(|all| all.contains_key(TRUSTED_CA))
        };
        if secrets.iter().any(trusts) {
            return vec!["certificates get a new list of CAs".into()];
        }
        let version = |meta: &&ObjectMeta| Some((meta.name.clone()?, version_digest(meta)));
        let versions: Versions = secrets.iter().filter_map(version).collect();
        pending(
            &state.deployments,
            &versions,
            &newest_links(&state.deployments, &state.links),
        )
    }
}

/// How far a rotation is.
fn rotation(object: &QuarksSecret) -> Line {
    let step = plan::step(object);
    Line {
        is_done: step.is_none(),
        text: step.unwrap_or_else(|| "rotated".into()),
    }
}

/// Why a deployment cannot be rolled out without a change.
fn failure_text(deployment: &BoshDeployment) -> Option<String> {
    let failed = deployment.first_false(&["Converted", "Applied", PROGRESSING])?;
    let name = deployment.metadata.name.as_deref().unwrap_or_default();
    Some(format!(
        "deployment '{name}' has failed: {}: {}",
        failed.reason, failed.message
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_api::secret::ROTATING;
    use boson_api::stateful_set::ROLLED_OUT;
    use boson_manifest::labels;
    use serde_json::{Value, from_value, json};

    fn condition(kind: &str, status: &str, reason: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": "words", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    fn ca(step: Option<&str>, rotation: &str) -> QuarksSecret {
        let conditions: Vec<Value> = step.iter().map(|step| condition(ROTATING, "True", step)).collect();
        from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksSecret",
            "metadata": {"name": "d.var-ca", "annotations": {labels::ROTATION: "2", labels::VARIABLE: "ca"}},
            "spec": {"type": "certificate", "secretName": "d.var-ca", "request": {"certificate": {"commonName": "c", "isCA": true}}},
            "status": {"rotation": rotation, "conditions": conditions},
        }))
        .unwrap()
    }

    fn deployment(digest: &str, progress: &str) -> BoshDeployment {
        from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "d", "generation": 1},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"observedGeneration": 1, "inputs": [{"kind": "variable", "name": "ca", "digest": digest}],
                "conditions": [condition("Applied", "True", "Applied"), condition(PROGRESSING, progress, ROLLED_OUT)]},
        }))
        .unwrap()
    }

    fn following() -> Following {
        Following {
            selector: String::new(),
            variables: [("d.var-ca".to_string(), "ca".to_string())].into(),
            secrets: ["d.var-ca".to_string()].into(),
        }
    }

    #[test]
    fn it_ends_when_the_last_step_is_rolled_out() {
        let secret = |trusted: Option<&str>| ObjectMeta {
            name: Some("d.var-ca".into()),
            uid: Some("u".into()),
            annotations: trusted.map(|ca| [(TRUSTED_CA.to_string(), ca.to_string())].into()),
            ..ObjectMeta::default()
        };
        let lines = |object: QuarksSecret, secret: ObjectMeta, digest: &str| {
            let state = State {
                objects: vec![object],
                deployments: vec![deployment(digest, "True")],
                groups: Vec::new(),
                secrets: vec![secret],
                links: Vec::new(),
            };
            let (lines, is_done) = following().lines(&state);
            let lines: Vec<String> = lines
                .into_iter()
                .map(|(name, line)| format!("{name}: {}", line.text))
                .collect();
            (lines.join("; "), is_done)
        };
        let digest = version_digest(&secret(None));
        let text = |lines: &str, is_done| (lines.to_string(), is_done);
        assert_eq!(
            lines(ca(None, "1"), secret(None), &digest),
            text("ca: waiting for the operator", false)
        );
        assert_eq!(
            lines(ca(Some("Signing"), "2"), secret(None), &digest),
            text("ca: words", false)
        );
        let trusts = lines(ca(None, "2"), secret(Some("x")), &digest);
        assert_eq!(
            trusts,
            text("ca: rotated; rollout: certificates get a new list of CAs", false)
        );
        let waiting = "ca: rotated; rollout: deployment 'd': has not applied 'ca' yet";
        assert_eq!(lines(ca(None, "2"), secret(None), "old"), text(waiting, false));
        assert_eq!(lines(ca(None, "2"), secret(None), &digest), text("ca: rotated", true));
    }

    #[test]
    fn a_deleted_variable_ends_it() {
        let following = following();
        assert_eq!(following.deleted_variable(&[ca(None, "1")]), None);
        assert_eq!(following.deleted_variable(&[]).map(String::as_str), Some("ca"));
    }

    #[test]
    fn a_failed_rollout_of_a_user_ends_it() {
        let failure = |one: BoshDeployment| following().failure(&[one]);
        assert_eq!(failure(deployment("1", "True")), None);
        let failed = failure(deployment("1", "False")).unwrap();
        assert_eq!(failed, "deployment 'd' has failed: RolledOut: words");
        let mut other = deployment("1", "False");
        other.status.as_mut().unwrap().inputs[0].name = "x".into();
        assert_eq!(failure(other), None);
    }
}

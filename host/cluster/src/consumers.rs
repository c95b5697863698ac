//! Which deployments use the values in Secrets, and whether all their instances run with the present ones. Pure.

use crate::objects;
use boson_api::deployment::{Input, InputKind};
use boson_api::stateful_set::{PROGRESSING, ROLLED_OUT};
use boson_api::{BoshDeployment, BoshDeploymentStatus, ConditionStatus};
use boson_manifest::names::Names;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Digits of a digest: it distinguishes versions, and protects nothing.
const DIGEST_DIGITS: usize = 16;

/// Digests of Secrets in their present versions, by name.
pub type Versions = BTreeMap<String, String>;

/// The digest of the version of a Secret, which reveals nothing about its content. [`Input`] has the same.
pub fn version_digest(meta: &ObjectMeta) -> String {
    let mut digits = objects::digest(&json!([meta.uid, meta.resource_version]));
    digits.truncate(DIGEST_DIGITS);
    digits
}

/// The newest Secrets with links, by the deployment that provides these. `secrets`: all Secrets of the type.
pub fn newest_links(deployments: &[BoshDeployment], secrets: &[ObjectMeta]) -> Versions {
    let newest = |deployment: &BoshDeployment| {
        let series = format!("{}-v", names(deployment)?.links(None));
        let version = |meta: &&ObjectMeta| meta.name.as_deref()?.strip_prefix(&series)?.parse::<u32>().ok();
        let newest = secrets
            .iter()
            .filter(|meta| version(meta).is_some())
            .max_by_key(version)?;
        Some((deployment.name_any(), version_digest(newest)))
    };
    deployments.iter().filter_map(newest).collect()
}

/// The deployments that use any of these Secrets, or links of such a deployment.
pub fn users<'d>(deployments: &'d [BoshDeployment], secrets: &Versions) -> Vec<&'d BoshDeployment> {
    let direct: BTreeSet<String> = deployments
        .iter()
        .filter(|one| uses(one, secrets))
        .map(|one| format!("deployment/{}", one.name_any()))
        .collect();
    let is_linked =
        |one: &BoshDeployment| inputs(one).any(|input| input.kind == InputKind::Link && direct.contains(&input.name));
    let is_user = |one: &&BoshDeployment| direct.contains(&format!("deployment/{}", one.name_any())) || is_linked(one);
    deployments.iter().filter(is_user).collect()
}

/// What each user of these Secrets waits for, unless all its instances run with them. `links`: see [`newest_links`].
pub fn pending(deployments: &[BoshDeployment], secrets: &Versions, links: &Versions) -> Vec<String> {
    let users = users(deployments, secrets);
    let reason = |one: &&BoshDeployment| {
        Some(format!(
            "deployment '{}': {}",
            one.name_any(),
            pending_reason(one, secrets, links)?
        ))
    };
    users.iter().filter_map(reason).collect()
}

/// Whether a deployment uses any of these Secrets itself. One that has applied nothing may have read any of its own.
fn uses(deployment: &BoshDeployment, secrets: &Versions) -> bool {
    let is_own = |secret: &String| names(deployment).is_some_and(|names| names.is_variable(secret));
    let is_new = inputs(deployment).next().is_none();
    let is_given = || deployment.spec.vars.iter().any(|one| secrets.contains_key(&one.secret));
    inputs(deployment).any(|input| present(deployment, input, secrets).is_some())
        || is_given()
        || (is_new && secrets.keys().any(is_own))
}

fn pending_reason(deployment: &BoshDeployment, secrets: &Versions, links: &Versions) -> Option<String> {
    let status = deployment.status.clone().unwrap_or_default();
    let is_old = |input: &Input| match input.kind {
        InputKind::Link => {
            let provider = input.name.strip_prefix("deployment/").and_then(|name| links.get(name));
            provider.is_some_and(|digest| *digest != input.digest)
        }
        _ => present(deployment, input, secrets).is_some_and(|digest| *digest != input.digest),
    };
    if let Some(ignored) = deployment.spec.instances.iter().find(|one| one.desired.ignored) {
        return Some(format!("instance '{}' is ignored", ignored.name));
    }
    if status.inputs.is_empty() || status.observed_generation != deployment.metadata.generation {
        return Some(status.message.unwrap_or_else(|| "is not applied yet".into()));
    }
    if let Some(input) = status.inputs.iter().find(|input| is_old(input)) {
        let cause = status
            .message
            .map(|message| format!(" ({message})"))
            .unwrap_or_default();
        return Some(format!("has not applied '{}' yet{cause}", input.name));
    }
    unready_reason(&status)
}

/// Why not all instances run what was applied last.
fn unready_reason(status: &BoshDeploymentStatus) -> Option<String> {
    let of = |kind: &str| status.conditions.iter().find(|one| one.kind == kind);
    let applied = of("Applied").filter(|one| one.status == ConditionStatus::True);
    let rolled_out = of(PROGRESSING).filter(|one| one.reason == ROLLED_OUT);
    let waiting = [("Applied", applied), (PROGRESSING, rolled_out)];
    if let Some((kind, _)) = waiting.iter().find(|(_, found)| found.is_none()) {
        let text = of(kind).map(|one| format!("{}: {}", one.reason, one.message));
        return Some(text.unwrap_or_else(|| "is not applied yet".into()));
    }
    let is_ready = status.total_instance_groups == status.deployed_instance_groups;
    let message = || {
        status
            .message
            .clone()
            .unwrap_or_else(|| "not all instance groups are ready".into())
    };
    (!is_ready).then(message)
}

/// The present digest of the Secret that an input is a version of, if it is one of these.
fn present<'v>(deployment: &BoshDeployment, input: &Input, secrets: &'v Versions) -> Option<&'v String> {
    if input.kind != InputKind::Variable {
        return None;
    }
    let given = deployment.spec.vars.iter().find(|one| one.name == input.name);
    if let Some(given) = given {
        return secrets.get(&given.secret);
    }
    let names = names(deployment)?;
    let of = |name: Result<String, _>| secrets.get(&name.ok()?);
    of(names.variable(&input.name)).or_else(|| of(names.implicit_variable(&input.name)))
}

fn names(deployment: &BoshDeployment) -> Option<Names> {
    Names::new(&deployment.name_any(), "", "").ok()
}

fn inputs(deployment: &BoshDeployment) -> impl Iterator<Item = &Input> {
    deployment.status.iter().flat_map(|status| &status.inputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn deployment(name: &str, inputs: &Value, reason: &str) -> BoshDeployment {
        let condition = |kind: &str, reason: &str| {
            json!({"type": kind, "status": "True", "reason": reason, "message": "words",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        serde_json::from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment",
            "metadata": {"name": name, "generation": 2},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"observedGeneration": 2, "inputs": inputs, "totalInstanceGroups": 1, "deployedInstanceGroups": 1,
                "conditions": [condition("Applied", "Applied"), condition(PROGRESSING, reason)]},
        }))
        .unwrap()
    }

    fn input(kind: &str, name: &str, digest: &str) -> Value {
        json!({"kind": kind, "name": name, "digest": digest})
    }

    fn versions(all: &[(&str, &str)]) -> Versions {
        all.iter()
            .map(|(name, digest)| ((*name).into(), (*digest).into()))
            .collect()
    }

    #[test]
    fn users_run_with_a_secret_once_it_is_applied_and_rolled_out() {
        let secrets = versions(&[("d.var-ca", "2")]);
        let pending =
            |inputs: &Value, reason: &str| pending(&[deployment("d", inputs, reason)], &secrets, &Versions::new());
        assert_eq!(pending(&json!([input("variable", "ca", "2")]), ROLLED_OUT), [""; 0]);
        let old = json!([input("variable", "ca", "1")]);
        assert_eq!(pending(&old, ROLLED_OUT), ["deployment 'd': has not applied 'ca' yet"]);
        let rolling = pending(&json!([input("variable", "ca", "2")]), "Updating");
        assert_eq!(rolling, ["deployment 'd': Updating: words"]);
        assert_eq!(
            pending(&json!([input("variable", "other", "1")]), "Updating"),
            [""; 0],
            "no user"
        );
        assert_eq!(
            pending(&json!([]), ROLLED_OUT),
            ["deployment 'd': is not applied yet"],
            "it may have read it"
        );
    }

    #[test]
    fn deployments_that_take_links_and_given_values_are_users() {
        let secrets = versions(&[("d.var-ca", "2")]);
        let links = versions(&[("d", "9")]);
        let mut given = deployment("given", &json!([input("variable", "their_ca", "1")]), ROLLED_OUT);
        given.spec.vars = serde_json::from_value(json!([{"name": "their_ca", "secret": "d.var-ca"}])).unwrap();
        let all = [
            deployment("d", &json!([input("variable", "ca", "2")]), ROLLED_OUT),
            deployment("linked", &json!([input("link", "deployment/d", "8")]), ROLLED_OUT),
            deployment("up-to-date", &json!([input("link", "deployment/d", "9")]), ROLLED_OUT),
            deployment("other", &json!([input("link", "deployment/given", "1")]), "Updating"),
            given,
        ];
        let found = pending(&all, &secrets, &links);
        assert_eq!(
            found,
            [
                "deployment 'linked': has not applied 'deployment/d' yet",
                "deployment 'other': Updating: words",
                "deployment 'given': has not applied 'their_ca' yet",
            ]
        );
        let names: Vec<String> = users(&all, &secrets).into_iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["d", "linked", "up-to-date", "other", "given"]);
    }

    #[test]
    fn an_ignored_instance_keeps_the_old_value() {
        let mut one = deployment("d", &json!([input("variable", "ca", "2")]), ROLLED_OUT);
        one.spec.instances = serde_json::from_value(json!([{"name": "web/0", "ignored": true}])).unwrap();
        let found = pending(&[one], &versions(&[("d.var-ca", "2")]), &Versions::new());
        assert_eq!(found, ["deployment 'd': instance 'web/0' is ignored"]);
    }

    #[test]
    fn the_newest_links_are_those_of_the_highest_version() {
        let secret = |name: &str| ObjectMeta {
            name: Some(name.into()),
            uid: Some(name.into()),
            ..ObjectMeta::default()
        };
        let secrets = [
            secret("d.links-v9"),
            secret("d.links-v10"),
            secret("e.links-v1"),
            secret("d.links-vx"),
        ];
        let found = newest_links(&[deployment("d", &json!([]), ROLLED_OUT)], &secrets);
        assert_eq!(found, [("d".to_string(), version_digest(&secrets[1]))].into());
    }

    #[test]
    fn a_version_has_a_digest_of_its_own() {
        let meta = |version: &str| ObjectMeta {
            uid: Some("u".into()),
            resource_version: Some(version.into()),
            ..ObjectMeta::default()
        };
        assert_ne!(version_digest(&meta("1")), version_digest(&meta("2")));
        assert_eq!(version_digest(&meta("1")).len(), DIGEST_DIGITS);
    }
}

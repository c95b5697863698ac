//! Finds the problems of a deployment in what was read of it. Pure.

use super::foreign;
use super::problem::{Kind, Problem, Subject};
use crate::nodes::{self, Nodes};
use boson_api::stateful_set::PROGRESSING;
use boson_api::{BoshDeployment, QuarksStatefulSet, ReferenceType, instance_group};
use boson_cluster::pods::claims;
use boson_look::instances::Instance;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kube::api::ObjectMeta;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// After the time at which a pod should be gone.
const STUCK_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);

#[derive(Default)]
pub struct Snapshot {
    pub instances: Vec<Instance>,
    pub groups: Vec<QuarksStatefulSet>,
    pub claims: Vec<PersistentVolumeClaim>,
    /// Without the permission, empty.
    pub nodes: Nodes,
    /// Names of Secrets and of ConfigMaps; none: they may not be listed.
    pub secrets: Option<BTreeSet<String>>,
    pub config_maps: Option<BTreeSet<String>>,
    pub objects: Vec<OwnObject>,
    /// What was not checked, and why.
    pub notes: Vec<String>,
}

/// An object of the operator.
pub struct OwnObject {
    /// `apps/v1`
    pub api_version: &'static str,
    pub kind: &'static str,
    pub metadata: ObjectMeta,
}

/// The problems of a deployment, those of instances first.
pub fn problems(deployment: &BoshDeployment, seen: &Snapshot, now: Timestamp) -> Vec<Problem> {
    let mut all: Vec<Problem> = seen
        .instances
        .iter()
        .filter_map(|one| instance_problem(deployment, one, seen, now))
        .collect();
    all.extend(disk_problems(seen));
    all.extend(missing_objects(deployment, seen));
    all.extend(changed_objects(seen));
    all.sort_by_key(|one| one.kind);
    all
}

fn instance_problem(
    deployment: &BoshDeployment,
    instance: &Instance,
    seen: &Snapshot,
    now: Timestamp,
) -> Option<Problem> {
    let problem = |kind, description: String, subject| {
        Some(Problem {
            kind,
            description,
            subject,
        })
    };
    let Some(pod) = &instance.pod else {
        // A rollout is about to create it.
        let is_missing = !instance.is_stopped(&deployment.spec) && !is_rolling(&instance.group, seen);
        let description = format!("Pod of instance '{instance}' is missing: see `host status`.");
        return is_missing.then(|| problem(Kind::MissingVm, description, Subject::Nothing))?;
    };
    let (name, subject) = (pod.name_any(), || Subject::Pod(Box::new(pod.clone())));
    let found = nodes::name(instance).and_then(|node| Some((node, seen.nodes.get(node)?)));
    if let Some((node, None)) = found {
        let description = format!("Pod '{name}' of instance '{instance}' is lost: its node '{node}' does not exist.");
        return problem(Kind::MissingVm, description, subject());
    }
    if let Some(gone) = &pod.metadata.deletion_timestamp {
        let is_stuck = now.duration_since(gone.0) > STUCK_TIMEOUT;
        let description = format!(
            "Pod '{name}' of instance '{instance}' should have been deleted at {}.",
            gone.0
        );
        return is_stuck.then(|| problem(Kind::StuckVm, description, subject()))?;
    }
    let (node, _) = found.filter(|(_, node)| {
        node.as_ref()
            .is_some_and(|node| nodes::ready_status(node) != Some("True"))
    })?;
    let description =
        format!("Pod '{name}' of instance '{instance}' is not responding: its node '{node}' is not ready.");
    problem(Kind::UnresponsiveAgent, description, subject())
}

/// Whether the newest change of a group is not rolled out.
fn is_rolling(group: &str, seen: &Snapshot) -> bool {
    let is_of = |set: &&QuarksStatefulSet| instance_group(*set) == group;
    let found = seen.groups.iter().find(is_of).and_then(|set| set.status.as_ref());
    found.is_none_or(|status| status.condition(PROGRESSING).is_none() || status.rollout().is_some())
}

/// Claims that pods use, and that do not exist or have lost their volumes.
fn disk_problems(seen: &Snapshot) -> Vec<Problem> {
    let mut users: BTreeMap<&str, Vec<&Instance>> = BTreeMap::new();
    for instance in &seen.instances {
        for claim in instance.pod.iter().flat_map(claims) {
            users.entry(claim).or_default().push(instance);
        }
    }
    let problem = |(name, users): (&str, Vec<&Instance>)| {
        let found = seen
            .claims
            .iter()
            .find(|claim| claim.metadata.name.as_deref() == Some(name));
        let phase = found.and_then(|claim| claim.status.as_ref()?.phase.as_deref());
        let what = match (found, phase) {
            (None, _) => "is missing",
            (Some(_), Some("Lost")) => "has lost its PersistentVolume",
            _ => return None,
        };
        let of = users.first().map(ToString::to_string).unwrap_or_default();
        let pods = users.iter().filter_map(|one| one.pod.clone()).collect();
        Some(Problem {
            kind: Kind::MissingDisk,
            description: format!("Disk '{name}' ({of}) {what}."),
            subject: found.map_or(Subject::Nothing, |claim| Subject::Claim(Box::new(claim.clone()), pods)),
        })
    };
    users.into_iter().filter_map(problem).collect()
}

/// Secrets and ConfigMaps that the deployment or its pods need, and that do not exist.
fn missing_objects(deployment: &BoshDeployment, seen: &Snapshot) -> Vec<Problem> {
    let mut needed: BTreeMap<(&str, String), String> = BTreeMap::new();
    let spec = &deployment.spec;
    let name = format!("the BOSHDeployment '{}'", deployment.name_any());
    for document in spec.documents() {
        match document.kind {
            ReferenceType::Configmap => needed.insert(("ConfigMap", document.name.clone()), name.clone()),
            ReferenceType::Secret => needed.insert(("Secret", document.name.clone()), name.clone()),
            ReferenceType::Url => None,
        };
    }
    for variable in &spec.vars {
        needed.insert(("Secret", variable.secret.clone()), name.clone());
    }
    for pod in seen.instances.iter().filter_map(|one| one.pod.as_ref()) {
        for reference in references(&json!(pod.spec)) {
            needed
                .entry(reference)
                .or_insert_with(|| format!("pod '{}'", pod.name_any()));
        }
    }
    let is_missing = |kind: &str, name: &String| {
        let known = if kind == "Secret" {
            &seen.secrets
        } else {
            &seen.config_maps
        };
        known.as_ref().is_some_and(|known| !known.contains(name))
    };
    let missing = needed.into_iter().filter(|((kind, name), _)| is_missing(kind, name));
    let problem = |((kind, name), user): ((&str, String), String)| Problem {
        kind: Kind::MissingSecret,
        description: format!("{kind} '{name}' is missing, which {user} needs."),
        subject: Subject::Nothing,
    };
    missing.map(problem).collect()
}

/// The Secrets and ConfigMaps that a pod cannot start without.
fn references(spec: &Value) -> BTreeSet<(&'static str, String)> {
    let mut all = BTreeSet::new();
    collect_references(spec, &mut all);
    all
}

/// The depth is that of a pod, which the API server has checked.
fn collect_references(value: &Value, all: &mut BTreeSet<(&'static str, String)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, all)),
        Value::Object(members) => {
            for (key, inner) in members {
                let (kind, member) = match key.as_str() {
                    "secret" if inner.get("secretName").is_some() => ("Secret", "secretName"),
                    "secret" | "secretRef" | "secretKeyRef" => ("Secret", "name"),
                    "configMap" | "configMapRef" | "configMapKeyRef" => ("ConfigMap", "name"),
                    _ => {
                        collect_references(inner, all);
                        continue;
                    }
                };
                let is_optional = inner.get("optional").and_then(Value::as_bool) == Some(true);
                let name = inner.get(member).and_then(Value::as_str).filter(|_| !is_optional);
                all.extend(name.map(|name| (kind, name.to_string())));
            }
        }
        _ => {}
    }
}

/// Objects of the operator with fields of others.
fn changed_objects(seen: &Snapshot) -> Vec<Problem> {
    let problem = |object: &OwnObject| {
        let OwnObject {
            api_version,
            kind,
            metadata,
        } = object;
        let fields = foreign::fields(metadata);
        let (name, resource_version) = (metadata.name.as_deref()?, metadata.resource_version.as_deref()?);
        let texts = fields.iter().map(|(manager, fields)| {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| field.trim_start_matches('/').replace('/', "."))
                .collect();
            format!("{} by '{manager}'", fields.join(", "))
        });
        let texts: Vec<String> = texts.collect();
        let object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": metadata.namespace, "resourceVersion": resource_version},
        });
        let mut pointers: Vec<String> = fields.into_values().flatten().collect();
        pointers.sort();
        pointers.dedup();
        (!pointers.is_empty()).then(|| Problem {
            kind: Kind::ChangedObject,
            description: format!("{kind} '{name}' was changed: {}.", texts.join("; ")),
            subject: Subject::Fields(object, pointers),
        })
    };
    seen.objects.iter().filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::super::problem::table;
    use super::*;
    use boson_manifest::labels;
    use k8s_openapi::api::core::v1::Node;
    use serde_json::from_value;

    fn deployment(instances: &Value) -> BoshDeployment {
        from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "d"},
            "spec": {"manifest": {"type": "configmap", "name": "m"}, "vars": [{"name": "v", "secret": "given"}],
                "instances": instances},
        }))
        .unwrap()
    }

    fn instance(index: usize, pod: Option<Value>) -> Instance {
        Instance {
            group: "web".into(),
            index: Some(index),
            az: String::new(),
            pod: pod.map(|pod| from_value(pod).unwrap()),
        }
    }

    fn pod(name: &str, node: &str) -> Value {
        json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": []}})
    }

    fn group(reason: &str) -> QuarksStatefulSet {
        from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": "d-web", "labels": {labels::INSTANCE_GROUP_NAME: "web"}}, "spec": {"template": {}},
            "status": {"conditions": [{"type": PROGRESSING, "status": "True", "reason": reason, "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }))
        .unwrap()
    }

    fn node(ready: &str) -> Option<Node> {
        from_value(json!({"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": ready}]}})).unwrap()
    }

    fn found(deployment: &BoshDeployment, seen: &Snapshot) -> Vec<String> {
        let now = "2026-11-28T10:05:00Z".parse().unwrap();
        let problems = problems(deployment, seen, now);
        assert_eq!(table(&problems).count, problems.len());
        let text = |one: &Problem| format!("{}: {}", one.kind.name(), one.description);
        problems.iter().map(text).collect()
    }

    #[test]
    fn pods_are_lost_with_their_nodes() {
        let mut going = pod("web-3", "up");
        going["metadata"]["deletionTimestamp"] = "2026-11-28T10:00:00Z".into();
        let seen = Snapshot {
            instances: vec![
                instance(0, Some(pod("web-0", "gone"))),
                instance(1, Some(pod("web-1", "down"))),
                instance(2, Some(pod("web-2", "up"))),
                instance(3, Some(going)),
                instance(4, None),
            ],
            groups: vec![group("RolledOut")],
            nodes: [("gone", None), ("down", node("Unknown")), ("up", node("True"))]
                .map(|(name, node)| (name.to_string(), node))
                .into(),
            ..Snapshot::default()
        };
        let wanted = [
            "missing_vm: Pod 'web-0' of instance 'web/0' is lost: its node 'gone' does not exist.",
            "missing_vm: Pod of instance 'web/4' is missing: see `host status`.",
            "unresponsive_agent: Pod 'web-1' of instance 'web/1' is not responding: its node 'down' is not ready.",
            "stuck_vm: Pod 'web-3' of instance 'web/3' should have been deleted at 2026-11-28T10:00:00Z.",
        ];
        assert_eq!(found(&deployment(&json!([])), &seen), wanted);
    }

    #[test]
    fn a_pod_is_not_missing_if_it_is_stopped_or_about_to_be_created() {
        let seen = |reason| Snapshot {
            instances: vec![instance(4, None)],
            groups: vec![group(reason)],
            ..Snapshot::default()
        };
        assert_eq!(found(&deployment(&json!([])), &seen("RolledOut")).len(), 1);
        assert_eq!(found(&deployment(&json!([])), &seen("Updating")), [""; 0]);
        let stopped = deployment(&json!([{"name": "web", "stopped": true}]));
        assert_eq!(found(&stopped, &seen("RolledOut")), [""; 0]);
    }

    #[test]
    fn claims_and_secrets_of_pods_are_found_missing() {
        let mut user = pod("web-0", "up");
        user["spec"]["volumes"] = json!([
            {"name": "a", "persistentVolumeClaim": {"claimName": "lost"}},
            {"name": "b", "persistentVolumeClaim": {"claimName": "missing"}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "bound"}},
            {"name": "d", "secret": {"secretName": "there"}},
            {"name": "e", "secret": {"secretName": "optional", "optional": true}},
            {"name": "f", "projected": {"sources": [{"secret": {"name": "projected"}}, {"configMap": {"name": "c"}}]}},
        ]);
        let claim = |name: &str, phase: &str| {
            from_value(json!({"metadata": {"name": name}, "status": {"phase": phase}})).unwrap()
        };
        let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        let seen = Snapshot {
            instances: vec![instance(0, Some(user))],
            claims: vec![claim("lost", "Lost"), claim("bound", "Bound")],
            secrets: names(&["there", "given"]),
            config_maps: names(&["m"]),
            ..Snapshot::default()
        };
        let wanted = [
            "missing_disk: Disk 'lost' (web/0) has lost its PersistentVolume.",
            "missing_disk: Disk 'missing' (web/0) is missing.",
            "missing_secret: ConfigMap 'c' is missing, which pod 'web-0' needs.",
            "missing_secret: Secret 'projected' is missing, which pod 'web-0' needs.",
        ];
        assert_eq!(found(&deployment(&json!([])), &seen), wanted);
        let unknown = Snapshot {
            secrets: None,
            config_maps: names(&[]),
            ..Snapshot::default()
        };
        let wanted = ["missing_secret: ConfigMap 'm' is missing, which the BOSHDeployment 'd' needs."];
        assert_eq!(found(&deployment(&json!([])), &unknown), wanted);
    }

    #[test]
    fn fields_of_others_are_a_problem() {
        let fields = |manager: &str, field: &str| json!({"manager": manager, "fieldsV1": {"f:spec": {field: {}}}});
        let metadata = json!({"name": "d-web", "namespace": "n", "resourceVersion": "7",
            "managedFields": [fields("boson-deployment", "f:ports"), fields("kubectl-edit", "f:externalName")]});
        let seen = Snapshot {
            objects: vec![OwnObject {
                api_version: "v1",
                kind: "Service",
                metadata: from_value(metadata).unwrap(),
            }],
            ..Snapshot::default()
        };
        let wanted = ["changed_object: Service 'd-web' was changed: spec.externalName by 'kubectl-edit'."];
        assert_eq!(found(&deployment(&json!([])), &seen), wanted);
    }
}

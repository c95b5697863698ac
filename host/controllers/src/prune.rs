//! What `host prune` deletes: QuarksSecrets of variables that a deployment's manifest no longer has, with the Secrets that they made, unless
//! something still refers to them.

use crate::api::{BoshDeployment, ConditionStatus, QuarksSecret};
use crate::client::{Cluster, Error, resource};
use crate::deployment::variable_of;
use crate::objects;
use boson_deployment::labels;
use kube::{Resource, ResourceExt};
use serde_json::Value;

/// Kinds whose objects may refer to the Secret of a variable.
const READERS: [(&str, &str); 9] = [
    (labels::API_VERSION, "BOSHDeployment"),
    (labels::API_VERSION, "QuarksSecret"),
    (labels::API_VERSION, "QuarksStatefulSet"),
    (labels::API_VERSION, "QuarksJob"),
    ("v1", "Pod"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "Ingress"),
];

/// What was found.
#[derive(Debug, Default)]
pub struct Pruning {
    /// To delete.
    pub remove: Vec<QuarksSecret>,
    /// What stays: its name, and what refers to it.
    pub keep: Vec<(String, String)>,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The API server.
    #[error(transparent)]
    Api(#[from] Error),
    /// There is no such deployment.
    #[error("there is no BOSHDeployment '{0}' in namespace '{1}'")]
    NoDeployment(String, String),
    /// Its variables are not known to be what the manifest says.
    #[error(
        "BOSHDeployment '{0}' is not applied as it stands, so nobody knows which variables it has; see its conditions"
    )]
    Unsettled(String),
}

// === impl Pruning ===

impl Pruning {
    /// Looks at what a deployment's status says of removed variables, and at everything that may refer to them.
    ///
    /// # Errors
    /// See [`PruneError`].
    pub async fn find(cluster: &Cluster, namespace: &str, name: &str) -> Result<Self, PruneError> {
        let Some(deployment) = cluster.get::<BoshDeployment>(namespace, name).await? else {
            return Err(PruneError::NoDeployment(name.into(), namespace.into()));
        };
        if !is_settled(&deployment) {
            return Err(PruneError::Unsettled(name.into()));
        }
        let removed = &deployment
            .status
            .as_ref()
            .map(|status| status.removed_variables.clone());
        let removed = removed.as_deref().unwrap_or_default();
        let uid = deployment.meta().uid.as_deref().unwrap_or_default();
        let all: Vec<QuarksSecret> = cluster.list(namespace, "").await?;
        let candidates = all
            .into_iter()
            .filter(|secret| objects::has_owner(secret, uid) && removed.contains(&variable_of(secret)))
            .collect();
        let mut readers = Vec::new();
        for (api_version, kind) in READERS {
            readers.extend(cluster.list_any(&resource(api_version, kind), namespace, "").await?);
        }
        Ok(Self::of(candidates, &readers))
    }

    /// Deletes one, if it is still what was found; the Secret that it made goes with it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn delete(cluster: &Cluster, secret: &QuarksSecret) -> Result<(), Error> {
        cluster.delete(secret).await
    }

    /// Those that nothing refers to but others that go.
    fn of(candidates: Vec<QuarksSecret>, readers: &[Value]) -> Self {
        let texts: Vec<(String, String)> = readers.iter().map(|reader| (title(reader), content(reader))).collect();
        let mut pruning = Self {
            remove: candidates,
            keep: Vec::new(),
        };
        loop {
            let going: Vec<String> = pruning.remove.iter().map(|one| title_of("QuarksSecret", one)).collect();
            let reader = |one: &QuarksSecret| {
                let quoted = format!("\"{}\"", one.spec.secret_name);
                let mut found = texts
                    .iter()
                    .filter(|(title, text)| !going.contains(title) && text.contains(&quoted));
                found.next().map(|(title, _)| title.clone())
            };
            let Some((at, title)) = pruning
                .remove
                .iter()
                .enumerate()
                .find_map(|(at, one)| Some((at, reader(one)?)))
            else {
                return pruning;
            };
            pruning.keep.push((pruning.remove.remove(at).name_any(), title));
        }
    }
}

fn is_settled(deployment: &BoshDeployment) -> bool {
    let status = deployment.status.iter();
    let mut conditions = status.flat_map(|status| &status.conditions);
    conditions.any(|one| {
        one.kind == "Applied"
            && one.status == ConditionStatus::True
            && one.observed_generation == deployment.meta().generation
    })
}

/// `QuarksSecret 'nats.var-ca'`.
fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    format!("{} '{}'", text(&object["kind"]), text(&object["metadata"]["name"]))
}

fn title_of(kind: &str, object: &impl ResourceExt) -> String {
    format!("{kind} '{}'", object.name_any())
}

/// What an object says that it wants. Its status may name Secrets that it once had.
fn content(object: &Value) -> String {
    match objects::is_going(object) {
        true => String::new(),
        false => object["spec"].to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret(name: &str, authority: Option<&str>) -> Value {
        let mut value = json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksSecret", "metadata": {"name": format!("d.var-{name}")},
            "spec": {"type": "password", "secretName": format!("d.var-{name}")}
        });
        if let Some(authority) = authority {
            let key = |key: &str| json!({"name": format!("d.var-{authority}"), "key": key});
            value["spec"]["type"] = "certificate".into();
            value["spec"]["request"] = json!({"certificate": {"commonName": "c", "isCA": false,
                "CARef": key("certificate"), "CAKeyRef": key("private_key")}});
        }
        value
    }

    fn pruning(candidates: &[&Value], readers: &[&Value]) -> (Vec<String>, Vec<(String, String)>) {
        let typed = |value: &&Value| serde_json::from_value((*value).clone()).unwrap();
        let readers: Vec<Value> = readers.iter().map(|value| (*value).clone()).collect();
        let found = Pruning::of(candidates.iter().map(typed).collect(), &readers);
        (found.remove.iter().map(ResourceExt::name_any).collect(), found.keep)
    }

    #[test]
    fn what_something_refers_to_stays_and_so_does_what_that_refers_to() {
        let (old, authority, leaf) = (secret("old", None), secret("ca", None), secret("leaf", Some("ca")));
        let all = [&old, &authority, &leaf];
        let (gone, kept) = pruning(&all, &all);
        assert_eq!(gone, ["d.var-old", "d.var-ca", "d.var-leaf"]);
        assert!(kept.is_empty(), "they refer to each other only");
        let pod = json!({"kind": "Pod", "metadata": {"name": "p"},
            "spec": {"volumes": [{"secret": {"secretName": "d.var-leaf"}}]}, "status": {"x": "d.var-old"}});
        let (gone, kept) = pruning(&all, &[&old, &authority, &leaf, &pod]);
        assert_eq!(gone, ["d.var-old"]);
        let because = |name: &str, title: &str| (name.to_string(), title.to_string());
        assert_eq!(
            kept,
            [
                because("d.var-leaf", "Pod 'p'"),
                because("d.var-ca", "QuarksSecret 'd.var-leaf'")
            ]
        );
    }
}

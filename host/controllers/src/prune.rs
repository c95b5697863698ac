//! What `host prune` deletes: generated values of variables that the manifest no longer has, and those that were
//! retained after the deletion of their deployment, unless another object still refers to them.

use crate::deployment::{outlives_deployment, variable_of};
use crate::secret::retained_by;
use boson_api::{BoshDeployment, QuarksSecret};
use boson_cluster::client::{AnyObject, Cluster, Error, resource};
use boson_cluster::objects::{self, versioned};
use boson_manifest::labels::{self, secret_kind};
use boson_manifest::names::{NameError, Names};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
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
    pub remove: Vec<Leftover>,
    /// Values to keep, each with an object that refers to it.
    pub keep: Vec<(Leftover, String)>,
    /// Claims of a deleted deployment: their data may be useless without the values.
    pub claims: Vec<String>,
}

/// A generated value that is no longer requested.
#[derive(Debug)]
pub struct Leftover {
    /// Its QuarksSecret; none if that was deleted with the deployment.
    pub object: Option<QuarksSecret>,
    /// The Secret, if it is not deleted with the QuarksSecret.
    pub secret: Option<ObjectMeta>,
}

/// Why pruning is not possible.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    #[error(transparent)]
    Api(#[from] Error),
    /// Neither the deployment nor a retained value of it exists.
    #[error("there is no BOSHDeployment '{0}' in namespace '{1}', and no retained value of one")]
    NoDeployment(String, String),
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The variables of the present manifest are not known.
    #[error(
        "the present state of BOSHDeployment '{0}' is not applied, so its variables are not known; see its conditions"
    )]
    Unsettled(String),
}

// === impl Leftover ===

impl Leftover {
    /// Name of the Secret with the value.
    pub fn secret_name(&self) -> &str {
        let asked = self.object.as_ref().map(|object| object.spec.secret_name.as_str());
        let name = self.secret.as_ref().and_then(|meta| meta.name.as_deref());
        // Each has one of them: see `candidates`.
        asked.or(name).unwrap_or_default()
    }

    /// The [`title`] of its object.
    fn title(&self) -> String {
        let kind = self.object.as_ref().map_or("Secret", |_| "QuarksSecret");
        format!("{kind} '{}'", self.name())
    }

    /// Its own name.
    pub fn name(&self) -> String {
        match &self.object {
            Some(object) => object.name_any(),
            None => self.secret_name().to_string(),
        }
    }
}

// === impl Pruning ===

impl Pruning {
    /// Finds the removed variables in the status of a deployment, or the retained values of a deleted one, and
    /// everything that may refer to them.
    ///
    /// # Errors
    /// See [`PruneError`].
    pub async fn find(cluster: &Cluster, namespace: &str, name: &str) -> Result<Self, PruneError> {
        let deployment = cluster.get::<BoshDeployment>(namespace, name).await?;
        if deployment.as_ref().is_some_and(|deployment| !deployment.is("Applied")) {
            return Err(PruneError::Unsettled(name.into()));
        }
        let label = Names::new(name, namespace, "")?.deployment();
        let ours = format!("{}={label}", labels::DEPLOYMENT_NAME);
        let generated = format!("{ours},{}={}", labels::SECRET_KIND, secret_kind::GENERATED);
        // Before the QuarksSecrets, so that a value that is requested meanwhile is found.
        let secrets = cluster.list_metadata::<Secret>(namespace, &generated).await?;
        let all: Vec<QuarksSecret> = cluster.list(namespace, "").await?;
        let candidates = candidates(deployment.as_ref(), secrets, all);
        let mut claims = Vec::new();
        if deployment.is_none() {
            if candidates.is_empty() {
                return Err(PruneError::NoDeployment(name.into(), namespace.into()));
            }
            let found = cluster.list_metadata::<PersistentVolumeClaim>(namespace, &ours).await?;
            claims.extend(
                found
                    .into_iter()
                    .filter(outlives_deployment)
                    .filter_map(|claim| claim.name),
            );
        }
        let mut readers = Vec::new();
        for (api_version, kind) in READERS {
            readers.extend(cluster.list_any(&resource(api_version, kind), namespace, "").await?);
        }
        Ok(Self {
            claims,
            ..Self::of(candidates, &readers)
        })
    }

    /// Deletes one, if it has not changed. The QuarksSecret first: else the operator would generate the value again. If
    /// this is interrupted, the next run finds only the Secret.
    ///
    /// # Errors
    /// See [`Error`].
    #[expect(clippy::disallowed_methods, reason = "`host prune` calls it, no controller")]
    pub async fn delete(cluster: &Cluster, leftover: &Leftover) -> Result<(), Error> {
        if let Some(object) = &leftover.object {
            cluster.delete(object).await?;
        }
        match &leftover.secret {
            Some(meta) => cluster.delete(&versioned::with_metadata(meta)).await,
            None => Ok(()),
        }
    }

    /// Splits candidates: those are removed that only other removed ones refer to.
    fn of(candidates: Vec<Leftover>, readers: &[Value]) -> Self {
        let texts: Vec<(String, String)> = readers.iter().map(|reader| (title(reader), content(reader))).collect();
        let mut pruning = Self {
            remove: candidates,
            ..Self::default()
        };
        loop {
            let going: Vec<String> = pruning.remove.iter().map(Leftover::title).collect();
            let reader = |one: &Leftover| {
                let quoted = format!("\"{}\"", one.secret_name());
                let mut all = texts.iter();
                let found = all.find(|(title, text)| !going.contains(title) && text.contains(&quoted));
                found.map(|(title, _)| title.clone())
            };
            let mut removed = pruning.remove.iter().enumerate();
            let Some((at, title)) = removed.find_map(|(at, one)| Some((at, reader(one)?))) else {
                return pruning;
            };
            pruning.keep.push((pruning.remove.remove(at), title));
        }
    }
}

/// The values that are no longer requested: of variables that `deployment` no longer has, and retained ones without a
/// QuarksSecret. `secrets`: the generated ones with the label of the deployment.
fn candidates(deployment: Option<&BoshDeployment>, secrets: Vec<ObjectMeta>, all: Vec<QuarksSecret>) -> Vec<Leftover> {
    let status = deployment.and_then(|deployment| deployment.status.as_ref());
    let removed = status.map_or(&[][..], |status| &status.removed_variables);
    let uid = deployment.and_then(|deployment| deployment.meta().uid.as_deref());
    let retained: Vec<ObjectMeta> = secrets.into_iter().filter(is_retained).collect();
    let is_kept = |meta: &ObjectMeta| all.iter().any(|one| retained_by(meta) == one.metadata.name.as_deref());
    let mut found: Vec<Leftover> = retained
        .iter()
        .filter(|meta| !is_kept(meta))
        .map(|meta| Leftover {
            object: None,
            secret: Some(meta.clone()),
        })
        .collect();
    let removed = all
        .into_iter()
        .filter(|one| uid.is_some_and(|uid| objects::has_owner(one, uid)) && removed.contains(&variable_of(one)));
    found.extend(removed.map(|object| {
        Leftover {
            secret: retained
                .iter()
                .find(|meta| {
                    retained_by(meta) == object.metadata.name.as_deref()
                        && meta.name.as_ref() == Some(&object.spec.secret_name)
                })
                .cloned(),
            object: Some(object),
        }
    }));
    found
}

/// Whether the operator retained it without an owner.
fn is_retained(meta: &ObjectMeta) -> bool {
    let owners = meta.owner_references.iter().flatten().next();
    retained_by(meta).is_some() && owners.is_none() && meta.deletion_timestamp.is_none()
}

/// `QuarksSecret 'nats.var-ca'`.
fn title(object: &Value) -> String {
    let [kind, name] = [object.kind(), object.name()].map(Option::unwrap_or_default);
    format!("{kind} '{name}'")
}

/// The object without its status, which may name Secrets that it once used.
fn content(object: &Value) -> String {
    let spec = object.spec().filter(|_| !object.is_going());
    spec.map(Value::to_string).unwrap_or_default()
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
        let typed = |value: &&Value| Leftover {
            object: Some(serde_json::from_value((*value).clone()).unwrap()),
            secret: None,
        };
        let readers: Vec<Value> = readers.iter().map(|value| (*value).clone()).collect();
        let found = Pruning::of(candidates.iter().map(typed).collect(), &readers);
        let keep = found.keep.iter().map(|(one, title)| (one.name(), title.clone()));
        (found.remove.iter().map(Leftover::name).collect(), keep.collect())
    }

    #[test]
    fn what_something_refers_to_stays_and_so_does_what_that_refers_to() {
        let (old, authority, leaf) = (secret("old", None), secret("ca", None), secret("leaf", Some("ca")));
        let all = [&old, &authority, &leaf];
        let (removed, kept) = pruning(&all, &all);
        assert_eq!(removed, ["d.var-old", "d.var-ca", "d.var-leaf"]);
        assert!(kept.is_empty(), "they refer to each other only");
        let pod = json!({"kind": "Pod", "metadata": {"name": "p"},
            "spec": {"volumes": [{"secret": {"secretName": "d.var-leaf"}}]}, "status": {"x": "d.var-old"}});
        let (removed, kept) = pruning(&all, &[&old, &authority, &leaf, &pod]);
        assert_eq!(removed, ["d.var-old"]);
        let because = |name: &str, title: &str| (name.to_string(), title.to_string());
        assert_eq!(
            kept,
            [
                because("d.var-leaf", "Pod 'p'"),
                because("d.var-ca", "QuarksSecret 'd.var-leaf'")
            ]
        );
    }

    fn retained(name: &str, by: Option<&str>) -> ObjectMeta {
        let by = by.map(|by| (labels::RETAINED_BY.to_string(), by.to_string()));
        ObjectMeta {
            name: Some(name.into()),
            annotations: Some(by.into_iter().collect()),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn retained_values_of_a_deleted_deployment_are_removed_and_others_stay() {
        let secrets = || {
            let mut owned = retained("d.var-owned", Some("d.var-owned/1"));
            owned.owner_references = Some(vec![Default::default()]);
            vec![
                retained("d.var-old", Some("d.var-old/1")),
                retained("d.var-mine", None),
                owned,
            ]
        };
        let names = |found: &[Leftover]| found.iter().map(Leftover::name).collect::<Vec<_>>();
        let found = candidates(None, secrets(), vec![]);
        assert_eq!(names(&found), ["d.var-old"]);
        assert!(found[0].object.is_none() && found[0].secret.is_some());
        // A value that is requested again has its QuarksSecret again.
        let again = || serde_json::from_value::<QuarksSecret>(secret("old", None)).unwrap();
        assert_eq!(names(&candidates(None, secrets(), vec![again()])), [""; 0]);
        // A removed variable is removed with its Secret, which has no owner.
        let mut mine = again();
        mine.metadata.owner_references = Some(vec![
            serde_json::from_value(json!({"apiVersion": labels::API_VERSION,
            "kind": "BOSHDeployment", "name": "d", "uid": "u"}))
            .unwrap(),
        ]);
        let deployment = serde_json::from_value::<BoshDeployment>(
            json!({"apiVersion": labels::API_VERSION, "kind": "BOSHDeployment",
            "metadata": {"name": "d", "uid": "u"}, "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"removedVariables": ["d.var-old"]}}),
        );
        let deployment = deployment.unwrap();
        let found = candidates(Some(&deployment), secrets(), vec![mine]);
        assert_eq!(names(&found), ["d.var-old"]);
        assert!(found[0].object.is_some() && found[0].secret.is_some());
    }
}

//! Rotation on demand: a ConfigMap labelled `quarks.cloudfoundry.org/secret-rotation` lists QuarksSecrets, as JSON
//! under the key `secrets`.
//!
//! Each of them gets an annotation with the ID of the rotation, and its controller generates a value for each new ID.
//! So a rotation that is interrupted and repeated, by this operator or another, is still one rotation.

use super::MANAGER;
use super::stored::marks::{self, digest};
use crate::controller::{AnyController, Controller, Next, Planned, Report, Watched};
use boson_api::QuarksSecret;
use boson_cluster::client::{Cluster, Error, ErrorKind, Events, Identity, Notice};
use boson_cluster::objects::annotation;
use boson_cluster::reconcile::watches::Watches;
use boson_manifest::labels;
use boson_manifest::names::MAX_SUBDOMAIN_LENGTH;
use boson_manifest::syntax::is_subdomain;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::runtime::watcher::Config;
use serde_json::json;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The key of the list.
const LIST_KEY: &str = "secrets";
/// Names in one list: each costs two calls, and the next list waits until this one is done.
const MAX_LISTED_NAMES: usize = 256;

/// The controller of these ConfigMaps.
struct Rotations {
    events: Events,
}

/// The request in a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RotationRequest {
    /// Nothing, or nothing new.
    Nothing,
    /// A new value for each of these.
    Rotation {
        /// Unique ID of this ConfigMap and list.
        id: String,
        /// Names of QuarksSecrets, in the same namespace.
        names: BTreeSet<String>,
    },
    /// The list is invalid, for this reason.
    Refused(String),
}

/// The request in a ConfigMap with this UID. Pure.
pub fn requested_rotation(map: &ConfigMap, uid: &str) -> RotationRequest {
    let Some(list) = map.data.as_ref().and_then(|data| data.get(LIST_KEY)) else {
        return RotationRequest::Nothing;
    };
    let id = digest(&[uid, list]);
    let done = annotation(&map.metadata, marks::ROTATED);
    if done == Some(id.as_str()) || map.metadata.deletion_timestamp.is_some() {
        return RotationRequest::Nothing;
    }
    match names(list) {
        Ok(names) => RotationRequest::Rotation { id, names },
        Err(why) => RotationRequest::Refused(why),
    }
}

/// The names in a list, each once.
fn names(list: &str) -> Result<BTreeSet<String>, String> {
    let names: BTreeSet<String> = serde_json::from_str(list)
        .map_err(|_| format!("the key '{LIST_KEY}' must hold a JSON list of names of QuarksSecrets"))?;
    if names.len() > MAX_LISTED_NAMES {
        let number = names.len();
        return Err(format!(
            "the list has {number} names, more than {MAX_LISTED_NAMES}; use several ConfigMaps"
        ));
    }
    // Names become part of a URL path.
    if let Some(bad) = names.iter().find(|name| !is_subdomain(name)) {
        let shown: String = bad.chars().take(MAX_SUBDOMAIN_LENGTH).collect();
        return Err(format!("{shown:?} is not a name of a QuarksSecret; nothing is rotated"));
    }
    Ok(names)
}

/// `instance`: name of this process.
pub(crate) fn controller(cluster: Cluster, instance: &str) -> Arc<dyn AnyController> {
    let events = Events::new(cluster, MANAGER, instance);
    Arc::new(Rotations { events })
}

// === impl Rotations ===

impl Controller for Rotations {
    const NAME: &'static str = "secret-rotation";
    const MAX_CONCURRENCY: u16 = 1;

    type Object = ConfigMap;
    /// The request is in the ConfigMap itself.
    type Observed = ();
    type Need = Infallible;
    type Plan = RotationRequest;
    type Outcome = Option<Notice>;
    type Status = ();

    fn events(&self) -> &Events {
        &self.events
    }

    fn watch(self: &Arc<Self>, namespace: &Option<String>) -> Watched<ConfigMap> {
        let labelled = Config::default().labels(labels::SECRET_ROTATION);
        let (store, queue) = Watches::of(&self.events.cluster().client(), namespace, labelled).queue();
        Watched::new(store, queue)
    }

    async fn observe(&self, _: &ConfigMap) -> Result<ControlFlow<Action, Self::Observed>, Error> {
        Ok(ControlFlow::Continue(()))
    }

    fn plan(object: &ConfigMap, _: &(), _: Timestamp) -> Result<Planned<Self>, Error> {
        Ok(Planned::Act(requested_rotation(object, Identity::of(object)?.uid)))
    }

    async fn act(&self, object: &Arc<ConfigMap>, _: (), plan: RotationRequest) -> Result<Option<Notice>, Error> {
        rotate(self.events.cluster(), object, plan).await
    }

    fn status(_: &ConfigMap, notice: Option<Notice>, _: Timestamp) -> Report<Self> {
        Report {
            events_after: notice.into_iter().collect(),
            ..Report::next(Next::Wait(Action::await_change()))
        }
    }
}

/// Annotates the QuarksSecrets to rotate, then marks the ConfigMap as done. Returns the event to emit.
///
/// # Errors
/// See [`Error`].
async fn rotate(cluster: &Cluster, map: &ConfigMap, asked: RotationRequest) -> Result<Option<Notice>, Error> {
    let namespace = Identity::of(map)?.namespace;
    let (id, names) = match asked {
        RotationRequest::Nothing => return Ok(None),
        RotationRequest::Refused(why) => return Ok(Some(Notice::warning("BadRotation", why))),
        RotationRequest::Rotation { id, names } => (id, names),
    };
    let mut missing = Vec::new();
    for name in &names {
        match request_rotation(cluster, namespace, name, &id).await {
            Err(error) if error.kind == ErrorKind::NotFound => missing.push(name.as_str()),
            other => other?,
        }
    }
    let annotation = json!({ "metadata": { "annotations": { marks::ROTATED: id } } });
    cluster.merge(MANAGER, map, annotation).await?;
    Ok(Some(if missing.is_empty() {
        Notice::normal("Rotated", format!("{} secrets get new values", names.len()))
    } else {
        Notice::warning("NotFound", format!("there is no QuarksSecret {}", missing.join(", ")))
    }))
}

async fn request_rotation(cluster: &Cluster, namespace: &str, name: &str, id: &str) -> Result<(), Error> {
    let object: Option<QuarksSecret> = cluster.get(namespace, name).await?;
    let Some(object) = object else {
        return Err(Error::missing::<QuarksSecret>(name));
    };
    if annotation(&object.metadata, marks::ROTATION) == Some(id) {
        return Ok(());
    }
    let annotation = json!({ "metadata": { "annotations": { marks::ROTATION: id } } });
    cluster.merge(MANAGER, &object, annotation).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(list: &str) -> ConfigMap {
        ConfigMap {
            data: Some([(LIST_KEY.to_string(), list.to_string())].into()),
            ..ConfigMap::default()
        }
    }

    fn id(map: &ConfigMap, uid: &str) -> String {
        match requested_rotation(map, uid) {
            RotationRequest::Rotation { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_list_is_processed_once_and_a_changed_list_again() {
        let mut first = map(r#"["a"]"#);
        let done = id(&first, "1");
        first.metadata.annotations = Some([(marks::ROTATED.to_string(), done.clone())].into());
        assert_eq!(requested_rotation(&first, "1"), RotationRequest::Nothing);
        first.data = Some([(LIST_KEY.to_string(), r#"["a", "b"]"#.to_string())].into());
        assert_ne!(id(&first, "1"), done);
        assert_ne!(id(&map(r#"["a"]"#), "2"), done, "created again, it is another rotation");
    }

    #[test]
    fn an_invalid_list_is_reported() {
        let why = |list: &str| match requested_rotation(&map(list), "1") {
            RotationRequest::Refused(why) => why,
            other => panic!("{other:?}"),
        };
        assert!(why("a, b").contains("a JSON list"));
        assert!(why(r#"["a", "../secrets/a"]"#).starts_with("\"../secrets/a\" is not a name"));
        assert!(why(r#"["A"]"#).starts_with("\"A\" is not a name"));
        let many: Vec<String> = (0..250_000).map(|number| format!("a{number}")).collect();
        assert!(why(&json!(many).to_string()).contains("250000 names, more than 256;"));
        assert!(why(&json!(["ä".repeat(1 << 20)]).to_string()).len() < 1000);
        assert_eq!(requested_rotation(&ConfigMap::default(), "1"), RotationRequest::Nothing);
    }

    #[test]
    fn a_name_is_rotated_once_however_often_it_is_listed() {
        let list = json!(vec!["a"; 250_000]).to_string();
        let request = requested_rotation(&map(&list), "1");
        assert!(matches!(request, RotationRequest::Rotation { names, .. } if names.len() == 1));
    }
}

//! A link that a deployment provides, as its Secret stores it. Pure. Of the values, only what is needed stays in
//! memory: their lengths, and one digest.

use super::consumed::{Consumed, LinkName};
use super::digest::of_parts;
use boson_cluster::objects::{annotation, label};
use boson_manifest::labels::{self, DEPLOYMENT_NAME, ENTANGLEMENT, LINK};
use boson_pipeline::listing::first_of;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A link and its Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub link: LinkName,
    /// Name of the Secret.
    pub secret: String,
    pub version: String,
    pub keys: Vec<Key>,
    /// Digest of name and data.
    pub content: [u8; 32],
}

/// A key of a link's Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub name: String,
    /// Bytes of its value.
    pub length: usize,
    /// Whether the value can be that of an environment variable: those end at the first NUL.
    pub is_text: bool,
}

// === impl Link ===

impl Link {
    /// The link in a Secret, if it is this one of this deployment: names of different links may be equal once they are
    /// sanitized, and only the operator makes Secrets with this label.
    pub fn of(secret: &Secret, deployment: &str, wanted: &LinkName) -> Option<Self> {
        let name = secret.metadata.name.clone()?;
        if provided_link(&secret.metadata, deployment).as_ref() != Some(wanted) {
            return None;
        }
        let data = secret.data.iter().flatten();
        let values = data
            .clone()
            .flat_map(|(key, value)| [key.as_bytes(), value.0.as_slice()]);
        let content = of_parts([name.as_bytes()].into_iter().chain(values));
        let key = |(key, value): (&String, &k8s_openapi::ByteString)| Key {
            name: key.clone(),
            length: value.0.len(),
            is_text: !value.0.contains(&0),
        };
        Some(Self {
            link: wanted.clone(),
            secret: name,
            version: secret.metadata.resource_version.clone().unwrap_or_default(),
            keys: data.map(key).collect(),
            content,
        })
    }
}

/// The link that the Secret with this metadata holds for this deployment.
pub(crate) fn provided_link(meta: &ObjectMeta, deployment: &str) -> Option<LinkName> {
    let is_marked = label(meta, ENTANGLEMENT) == Some("true");
    let is_owned = owner(meta) == Some(deployment);
    if !is_marked || !is_owned || meta.deletion_timestamp.is_some() {
        return None;
    }
    LinkName::of(&serde_json::from_str(annotation(meta, LINK)?).ok()?).ok()
}

/// The BOSHDeployment that owns the Secret with this metadata.
pub(crate) fn owner(meta: &ObjectMeta) -> Option<&str> {
    let owners = meta.owner_references.iter().flatten();
    let mut ours = owners.filter(|owner| owner.kind == "BOSHDeployment" && owner.api_version == labels::API_VERSION);
    ours.next().map(|owner| owner.name.as_str())
}

/// The selector of the Secrets of a deployment's links.
pub(crate) fn selector(deployment_label: &str) -> String {
    format!("{DEPLOYMENT_NAME}={deployment_label},{ENTANGLEMENT}=true")
}

/// Why a pod cannot get a link.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct MissingLinkError {
    pub why: String,
    /// Whether it may exist later: the same pod can be created again.
    pub may_come: bool,
}

/// Says why a link is missing. `exists`: whether the deployment exists; `others`: the links that it provides.
pub(crate) fn missing_link(
    namespace: &str,
    consumed: &Consumed,
    wanted: &LinkName,
    exists: bool,
    mut others: Vec<LinkName>,
) -> MissingLinkError {
    let deployment = &consumed.deployment;
    if !exists {
        let annotation = labels::DEPLOYMENT;
        let why = format!(
            "namespace '{namespace}' has no BOSHDeployment '{deployment}', which the annotation {annotation} names"
        );
        return MissingLinkError { why, may_come: true };
    }
    others.sort();
    let of_name = others.iter().filter(|other| other.name == wanted.name);
    let kinds: Vec<String> = of_name.map(|other| format!("'{}'", other.kind)).collect();
    let is_wrong_kind = !kinds.is_empty();
    let found = match (is_wrong_kind, others.as_slice()) {
        (true, _) => format!("its link '{}' has the type {}", wanted.name, kinds.join(", ")),
        (false, []) => "it provides no link with properties yet".to_string(),
        (false, all) => {
            let named = all.iter().map(|other| format!("'{}' ({})", other.name, other.kind));
            let named: Vec<String> = named.collect();
            format!("it provides {}", first_of(&named, MAX_NAMED_LINKS, ", "))
        }
    };
    MissingLinkError {
        why: format!("BOSHDeployment '{deployment}' provides no {wanted} with properties; {found}"),
        may_come: !is_wrong_kind,
    }
}

const MAX_NAMED_LINKS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret() -> Secret {
        serde_json::from_value(json!({
            "metadata": {
                "name": "link-cf-nats-nats",
                "labels": {ENTANGLEMENT: "true", DEPLOYMENT_NAME: "cf"},
                "annotations": {LINK: r#"{"name":"nats","type":"nats"}"#},
                "ownerReferences": [{"apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "name": "cf", "uid": "u"}],
            },
            "data": {"a": "AGI=", "b.c": "eA=="},
        }))
        .unwrap()
    }

    fn nats() -> LinkName {
        LinkName {
            kind: "nats".into(),
            name: "nats".into(),
        }
    }

    #[test]
    fn only_a_secret_of_the_operator_is_a_link() {
        let link = Link::of(&secret(), "cf", &nats()).unwrap();
        let keys: Vec<_> = link
            .keys
            .iter()
            .map(|key| (key.name.as_str(), key.length, key.is_text))
            .collect();
        assert_eq!(keys, [("a", 2, false), ("b.c", 1, true)]);
        assert_eq!(Link::of(&secret(), "other", &nats()), None);
        let other = LinkName {
            kind: "na".into(),
            name: "ts-nats".into(),
        };
        assert_eq!(
            Link::of(&secret(), "cf", &other),
            None,
            "its Secret would have the same name"
        );
        for change in [
            |secret: &mut Secret| drop(secret.metadata.labels.as_mut().unwrap().remove(ENTANGLEMENT)),
            |secret: &mut Secret| secret.metadata.owner_references = None,
            |secret: &mut Secret| secret.metadata.annotations = None,
        ] {
            let mut changed = secret();
            change(&mut changed);
            assert_eq!(Link::of(&changed, "cf", &nats()), None);
        }
    }

    #[test]
    fn the_content_is_that_of_the_data_alone() {
        let content = |secret: &Secret| Link::of(secret, "cf", &nats()).unwrap().content;
        let mut changed = secret();
        changed.metadata.resource_version = Some("7".into());
        changed.metadata.uid = Some("other".into());
        assert_eq!(content(&changed), content(&secret()));
        changed.data.as_mut().unwrap().get_mut("a").unwrap().0.push(0);
        assert_ne!(content(&changed), content(&secret()));
    }

    #[test]
    fn a_missing_link_is_explained_and_may_come_unless_its_type_is_wrong() {
        let consumed = Consumed {
            deployment: "cf".into(),
            links: vec![nats()],
        };
        let link = |name: &str, kind: &str| LinkName {
            kind: kind.into(),
            name: name.into(),
        };
        let of = |exists, others| {
            let missing = missing_link("n", &consumed, &nats(), exists, others);
            (missing.why, missing.may_come)
        };
        let (why, may_come) = of(false, Vec::new());
        assert!(
            why.starts_with("namespace 'n' has no BOSHDeployment 'cf'") && may_come,
            "{why}"
        );
        let (why, may_come) = of(true, Vec::new());
        assert!(
            why.ends_with("it provides no link with properties yet") && may_come,
            "{why}"
        );
        let (why, may_come) = of(true, vec![link("nats", "bus"), link("db", "sql")]);
        assert!(
            why.ends_with("its link 'nats' has the type 'bus'") && !may_come,
            "{why}"
        );
        let (why, may_come) = of(true, vec![link("db", "sql"), link("api", "http")]);
        assert!(
            why.ends_with("it provides 'api' (http), 'db' (sql)") && may_come,
            "{why}"
        );
    }
}

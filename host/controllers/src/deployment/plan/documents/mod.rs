//! The Secrets between the steps of a conversion. Pure.

pub mod garbage;
mod pending_change;
pub mod provenance;
mod stored;

pub use pending_change::PendingChange;
pub use stored::Stored;

use crate::codes;
use boson_cluster::objects::versioned::{Content, Series};
use boson_document::Tree;
use boson_manifest::labels::{self, secret_type};
use boson_manifest::names::{NameError, Names, label_value};
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::stored_documents::{self, Texts};
use boson_pipeline::plain;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::BTreeMap;

/// What the objects of a deployment are named after, and who owns them.
#[derive(Clone, Copy, Debug)]
pub struct Ownership<'a> {
    pub names: &'a Names,
    pub namespace: &'a str,
    pub owner: &'a OwnerReference,
}

// === impl Ownership ===

impl Ownership<'_> {
    /// The selector of all objects with the label of the deployment.
    pub fn selector(self) -> String {
        format!("{}={}", labels::DEPLOYMENT_NAME, self.names.deployment())
    }

    /// The Secret with the manifest after ops, and with the change that waits.
    ///
    /// # Errors
    /// It is larger than a Secret may be.
    pub fn with_ops(self, document: &Tree, pending: Option<&PendingChange>) -> Result<Secret, Diagnostic> {
        let labels = self.labels(secret_type::WITH_OPS, None);
        let name = self.names.with_ops();
        let mut texts = stored_documents::manifest(document);
        texts.extend(pending.map(PendingChange::texts).unwrap_or_default());
        let content = content(&name, texts)?;
        let mut annotations = plain::tags(document, None);
        annotations.extend(content.annotations);
        Ok(Secret {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(self.namespace.into()),
                labels: Some(labels),
                annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
                owner_references: Some(vec![self.owner.clone()]),
                ..ObjectMeta::default()
            },
            data: Some(content.data),
            type_: Some("Opaque".into()),
            ..Secret::default()
        })
    }

    /// The versions of the desired manifest.
    pub fn desired(self) -> Series {
        self.series(self.names.desired_manifest(None), secret_type::DESIRED, None)
    }

    /// The versions of the links that the deployment provides.
    pub fn links(self) -> Series {
        self.series(self.names.links(None), secret_type::LINKS, None)
    }

    /// The versions of the links from outside of the deployment.
    pub fn external_links(self) -> Series {
        self.series(self.names.external_links(None), secret_type::EXTERNAL_LINKS, None)
    }

    /// The versions of a group's resolved document.
    ///
    /// # Errors
    /// The group name has no character that a Kubernetes name may have.
    pub fn resolved(self, group: &str) -> Result<Series, NameError> {
        Ok(self.series(self.names.resolved(group, None)?, secret_type::RESOLVED, Some(group)))
    }

    /// The versions of a group's rendered BPM configuration.
    ///
    /// # Errors
    /// The group name has no character that a Kubernetes name may have.
    pub fn bpm(self, group: &str) -> Result<Series, NameError> {
        Ok(self.series(self.names.bpm(group, None)?, secret_type::BPM, Some(group)))
    }

    fn series(self, name: String, kind: &str, group: Option<&str>) -> Series {
        Series {
            name,
            namespace: self.namespace.into(),
            labels: self.labels(kind, group),
            owner: self.owner.clone(),
        }
    }

    fn labels(self, kind: &str, group: Option<&str>) -> BTreeMap<String, String> {
        let mut labels: BTreeMap<String, String> = [
            (labels::DEPLOYMENT_NAME.to_string(), self.names.deployment()),
            (labels::SECRET_TYPE.to_string(), kind.to_string()),
        ]
        .into();
        labels.extend(group.map(|group| (labels::INSTANCE_GROUP_NAME.to_string(), label_value(group))));
        labels
    }
}

pub struct Document<'s> {
    pub series: &'s Series,
    pub texts: Texts,
    pub annotations: BTreeMap<String, String>,
}

/// Whether a Secret has the wanted content, labels and annotations.
pub fn is_up_to_date(wanted: &Secret, live: &Secret) -> bool {
    let content = Content {
        data: wanted.data.clone().unwrap_or_default(),
        ..Content::default()
    };
    let present = live.metadata.annotations.as_ref();
    let is_present = |(key, value)| present.and_then(|all| all.get(key)) == Some(value);
    let mut annotations = wanted.metadata.annotations.iter().flatten();
    content.is_in(live) && live.metadata.labels == wanted.metadata.labels && annotations.all(is_present)
}

/// The content of the Secret or series of this name.
///
/// # Errors
/// They are larger than a Secret may be.
pub fn content(name: &str, texts: Texts) -> Result<Content, Diagnostic> {
    let bytes = texts.into_iter();
    let data = bytes.map(|(key, text)| (key, ByteString(text.into_bytes()))).collect();
    Content::of(data).map_err(|error| {
        Diagnostic::error(codes::DEPLOYMENT_TOO_LARGE, format!("Secret '{name}': {error}"))
            .help("have fewer or smaller instance groups in one deployment, or move large files into a release")
    })
}

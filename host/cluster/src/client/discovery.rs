//! Whether the API server has a kind.

use super::error::Subject;
use super::{Cluster, Error, Fault, Verb, resource};
use boson_pipeline::bundle::kinds::Kind;

/// How the API server has a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// Its objects are in namespaces, and its plural is the known one.
    Namespaced,
    /// Its objects are in no namespace.
    ClusterScoped,
    /// It has this plural instead.
    OtherPlural(String),
    /// Not at all: its definition is missing, or lacks this version.
    No,
}

// === impl Cluster ===

impl Cluster {
    /// How the API server has a kind. Every authenticated user may ask that.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn served(&self, kind: &Kind) -> Result<Served, Error> {
        let mut known = resource(kind.api_version, kind.kind);
        if let Some(plural) = kind.plural {
            known.plural = plural.to_string();
        }
        let (client, subject) = (self.client(), Subject::of_resource(&known));
        let ask = || client.list_api_group_resources(kind.api_version);
        let list = match self.call(&subject, Verb::Get, kind.api_version, ask).await {
            Ok(list) => list,
            Err(error) if error.fault == Fault::NotFound => return Ok(Served::No),
            Err(error) => return Err(error),
        };
        let is_it = |found: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource| {
            // Without its subresources.
            found.kind == kind.kind && !found.name.contains('/')
        };
        Ok(match list.resources.iter().find(is_it) {
            None => Served::No,
            Some(found) if !found.namespaced => Served::ClusterScoped,
            Some(found) if found.name != known.plural => Served::OtherPlural(found.name.clone()),
            Some(_) => Served::Namespaced,
        })
    }
}

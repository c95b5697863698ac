//! Whether the API server has a kind.

use super::error::Subject;
use super::{Cluster, Error, resource};
use boson_pipeline::bundle::kinds::Kind;
use hyper::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResource, APIResourceList};
use kube::core::request::Error as RequestError;

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
        let request = Request::get(format!("/apis/{}", kind.api_version)).body(Vec::new());
        let request = request.map_err(RequestError::BuildRequest);
        let subject = Subject::of_resource(&known);
        let Some(list) = self
            .find::<APIResourceList>(&subject, kind.api_version, request)
            .await?
        else {
            return Ok(Served::No);
        };
        let is_it = |found: &&APIResource| {
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

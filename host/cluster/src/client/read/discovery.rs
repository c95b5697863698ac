//! Whether the API server has a kind, or a subresource.

use crate::client::call::Subject;
use crate::client::{Cluster, Error, Verb, resource_of};
use boson_pipeline::bundle::kinds::Kind;
use hyper::Request;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResource, APIResourceList};
use kube::core::request::Error as RequestError;

/// The version of the core kinds.
const CORE_API_VERSION: &str = "v1";

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
        let known = resource_of(kind);
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

    /// Whether a subresource of pods can be patched, such as `pods/resize`. Every authenticated user may ask that.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn has_part(&self, part: &str) -> Result<bool, Error> {
        let request = Request::get(format!("/api/{CORE_API_VERSION}")).body(Vec::new());
        let request = request.map_err(RequestError::BuildRequest);
        let subject = Subject::of::<Pod>();
        let list: Option<APIResourceList> = self.find(&subject, CORE_API_VERSION, request).await?;
        let can_patch = |found: &APIResource| found.verbs.iter().any(|verb| verb == Verb::Patch.as_str());
        let mut all = list.iter().flat_map(|list| &list.resources);
        Ok(all.any(|found| found.name == part && can_patch(found)))
    }
}

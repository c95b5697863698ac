//! Reads of single objects, of lists, whole or only their metadata, and of what the API server has.

mod discovery;

pub use discovery::Served;

use super::call::{Built, Subject};
use super::{Cluster, Error, Kind, Verb, path};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{GetParams, ListParams, ObjectMeta};
use kube::core::{ObjectList, PartialObjectMeta};

const MAX_PAGE_OBJECTS: u32 = 500;

// === impl Cluster ===

impl Cluster {
    /// The present object. A quorum read, never from a cache, because decisions about secrets depend on it.
    ///
    /// # Errors
    /// See [`Error`]. A missing object is no error.
    pub async fn get<K: Kind>(&self, namespace: &str, name: &str) -> Result<Option<K>, Error> {
        let request = path::<K>(namespace).get(name, &GetParams::default());
        self.find(&Subject::of::<K>(), name, request).await
    }

    /// The namespace itself.
    ///
    /// # Errors
    /// See [`Error`]. A missing namespace is no error.
    pub async fn namespace(&self, name: &str) -> Result<Option<Namespace>, Error> {
        self.get_global(name).await
    }

    /// All objects with these labels.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list<K: Kind>(&self, namespace: &str, labels: &str) -> Result<Vec<K>, Error> {
        let query = ListParams::default().labels(labels);
        self.objects(namespace, &query, labels).await
    }

    /// All objects with these labels, like [`Cluster::list`], read in pages: an answer has little time, and whole pods
    /// of a large deployment have many megabytes.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list_in_pages<K: Kind>(&self, namespace: &str, labels: &str) -> Result<Vec<K>, Error> {
        let mut query = ListParams::default().labels(labels).limit(MAX_PAGE_OBJECTS);
        let mut all = Vec::new();
        loop {
            let request = path::<K>(namespace).list(&query);
            let page: ObjectList<K> = self.call(&Subject::of::<K>(), Verb::List, labels, request).await?;
            all.extend(page.items);
            match page.metadata.continue_.filter(|more| !more.is_empty()) {
                Some(more) => query.continue_token = Some(more),
                None => return Ok(all),
            }
        }
    }

    /// All objects with these fields.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list_with_fields<K: Kind>(&self, namespace: &str, fields: &str) -> Result<Vec<K>, Error> {
        let query = ListParams::default().fields(fields);
        self.objects(namespace, &query, fields).await
    }

    /// The metadata of all objects with these labels.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list_metadata<K: Kind>(&self, namespace: &str, labels: &str) -> Result<Vec<ObjectMeta>, Error> {
        let request = path::<K>(namespace).list_metadata(&ListParams::default().labels(labels));
        self.all_metadata_of(&Subject::of::<K>(), labels, request).await
    }

    /// The metadata of all objects with these labels and fields: fields can select by the status, which metadata does
    /// not contain.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list_metadata_with_fields<K: Kind>(
        &self,
        namespace: &str,
        labels: &str,
        fields: &str,
    ) -> Result<Vec<ObjectMeta>, Error> {
        let query = ListParams::default().labels(labels).fields(fields);
        let request = path::<K>(namespace).list_metadata(&query);
        self.all_metadata_of(&Subject::of::<K>(), labels, request).await
    }

    async fn objects<K: Kind>(&self, namespace: &str, query: &ListParams, what: &str) -> Result<Vec<K>, Error> {
        let request = path::<K>(namespace).list(query);
        let list: ObjectList<K> = self.call(&Subject::of::<K>(), Verb::List, what, request).await?;
        Ok(list.items)
    }

    /// Only the metadata of a list.
    pub(super) async fn all_metadata_of(
        &self,
        subject: &Subject,
        what: &str,
        request: Built,
    ) -> Result<Vec<ObjectMeta>, Error> {
        let list: ObjectList<PartialObjectMeta> = self.call(subject, Verb::List, what, request).await?;
        Ok(list.items.into_iter().map(|object| object.metadata).collect())
    }
}

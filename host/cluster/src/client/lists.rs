//! Lists of objects, whole or only their metadata.

use super::error::Subject;
use super::{Cluster, Error, Kind, Verb};
use kube::api::{Api, ListParams, ObjectMeta};

// === impl Cluster ===

impl Cluster {
    /// All objects with these labels.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list<K: Kind>(&self, namespace: &str, labels: &str) -> Result<Vec<K>, Error> {
        let query = ListParams::default().labels(labels);
        self.objects(namespace, &query, labels).await
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
        let query = ListParams::default().labels(labels);
        self.metadata::<K>(namespace, &query, labels).await
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
        self.metadata::<K>(namespace, &query, labels).await
    }

    async fn objects<K: Kind>(&self, namespace: &str, query: &ListParams, what: &str) -> Result<Vec<K>, Error> {
        let api: Api<K> = self.api(namespace);
        let list = self
            .call(&Subject::of::<K>(), Verb::List, what, || api.list(query))
            .await?;
        Ok(list.items)
    }

    async fn metadata<K: Kind>(
        &self,
        namespace: &str,
        query: &ListParams,
        what: &str,
    ) -> Result<Vec<ObjectMeta>, Error> {
        let api: Api<K> = self.api(namespace);
        let list = self
            .call(&Subject::of::<K>(), Verb::List, what, || api.list_metadata(query))
            .await?;
        Ok(list.items.into_iter().map(|object| object.metadata).collect())
    }
}

//! A document between two steps of a conversion, as its Secret stores it.

use boson_cluster::objects::versioned::Series;
use k8s_openapi::api::core::v1::Secret;

/// A stored version of a series.
pub(super) struct Kept {
    pub series: String,
    pub secret: Secret,
}

// === impl Kept ===

impl Kept {
    pub(super) fn new(series: &Series, secret: Secret) -> Self {
        Self {
            series: series.name.clone(),
            secret,
        }
    }

    /// Name of its Secret.
    pub(super) fn name(&self) -> String {
        self.secret.metadata.name.clone().unwrap_or_default()
    }

    /// The text under a key.
    pub(super) fn find(&self, key: &str) -> Option<&[u8]> {
        let data = self.secret.data.as_ref().and_then(|data| data.get(key));
        data.map(|bytes| bytes.0.as_slice())
    }

    /// The text under a key; empty if there is none.
    pub(super) fn bytes(&self, key: &str) -> &[u8] {
        self.find(key).unwrap_or_default()
    }
}

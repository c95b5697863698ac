//! Reads the metadata of objects and of pod templates, and Secrets. Pure.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub fn annotation<'m>(metadata: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// A text in a Secret.
pub fn entry(secret: &Secret, key: &str) -> Option<String> {
    let bytes = secret.data.as_ref()?.get(key)?;
    String::from_utf8(bytes.0.clone()).ok()
}

pub fn label<'m>(metadata: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

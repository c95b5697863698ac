//! Reads the metadata of objects and of pod templates. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The value of an annotation.
pub fn annotation<'m>(metadata: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The value of a label.
pub fn label<'m>(metadata: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

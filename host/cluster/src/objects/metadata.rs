//! Reads the metadata of objects and of pod templates. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub fn annotation<'m>(metadata: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

pub fn label<'m>(metadata: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

//! Entries of Secrets.

use k8s_openapi::api::core::v1::Secret;

pub fn entry(secret: &Secret, key: &str) -> Option<String> {
    let bytes = secret.data.as_ref()?.get(key)?;
    String::from_utf8(bytes.0.clone()).ok()
}

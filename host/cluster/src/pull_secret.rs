//! Credentials of registries in pull Secrets.

use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;

const CONFIG_KEY: &str = ".dockerconfigjson";
/// Key of the older form, which lacks the outermost member.
const OLD_CONFIG_KEY: &str = ".dockercfg";

/// The content of a pull Secret. Its debug form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PullSecret(pub Vec<u8>);

// === impl PullSecret ===

impl PullSecret {
    /// The docker config in a Secret, in the present or the older form.
    pub fn of(secret: Secret) -> Option<Self> {
        let mut data = secret.data?;
        if let Some(config) = data.remove(CONFIG_KEY) {
            return Some(Self(config.0));
        }
        let auths: Value = serde_json::from_slice(&data.remove(OLD_CONFIG_KEY)?.0).ok()?;
        let config = serde_json::json!({ "auths": auths });
        Some(Self(config.to_string().into_bytes()))
    }
}

impl std::fmt::Debug for PullSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PullSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::ByteString;

    #[test]
    fn both_forms_of_a_docker_config_are_read() {
        let secret = |key: &str, text: &str| Secret {
            data: Some([(key.to_string(), ByteString(text.into()))].into()),
            ..Secret::default()
        };
        let text =
            |key: &str, text: &str| PullSecret::of(secret(key, text)).map(|found| String::from_utf8(found.0).unwrap());
        assert_eq!(text(CONFIG_KEY, r#"{"auths":{}}"#).as_deref(), Some(r#"{"auths":{}}"#));
        let wrapped = text(OLD_CONFIG_KEY, r#"{"r":{"auth":"YTpi"}}"#);
        assert_eq!(wrapped.as_deref(), Some(r#"{"auths":{"r":{"auth":"YTpi"}}}"#));
        assert_eq!(text("other", "{}"), None);
    }
}

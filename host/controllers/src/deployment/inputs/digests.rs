//! The inputs of a deployment, each with a digest that reveals no value. The digests show what caused a change, and let
//! clients wait for one. Pure.

use boson_api::deployment::{Input, InputKind};
use boson_cluster::{consumers, objects};
use boson_pipeline::digest::sha256;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

/// Digits of a digest: it distinguishes states, and protects nothing.
const DIGEST_DIGITS: usize = 16;

/// The present state of something that the specification refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub kind: InputKind,
    /// `configmap/scale`.
    pub name: String,
    /// None if it does not exist.
    pub digest: Option<String>,
    pub is_url: bool,
}

// === impl Source ===

impl Source {
    /// The same, as an input of the deployment.
    pub fn input(&self) -> Input {
        Input {
            kind: self.kind,
            name: self.name.clone(),
            digest: self.digest.clone().unwrap_or_default(),
        }
    }
}

/// The digest of public content.
pub fn of_bytes(bytes: &[u8]) -> String {
    let mut digits = sha256(bytes);
    digits.truncate(DIGEST_DIGITS);
    digits
}

/// The digest of a Secret, which reveals nothing about its content.
pub fn of_secret(meta: &ObjectMeta) -> String {
    consumers::version_digest(meta)
}

/// The value of a variable, in this Secret.
pub fn variable(name: &str, meta: &ObjectMeta) -> Input {
    Input {
        kind: InputKind::Variable,
        name: name.into(),
        digest: of_secret(meta),
    }
}

/// One digest of all that users edit: documents in their order, and given Secrets.
pub fn digest(sources: &[Source]) -> String {
    let one = |source: &Source| -> Value {
        // Clients cannot know what a web server answers to the operator.
        let digest = source.digest.as_ref().filter(|_| !source.is_url);
        json!([source.name, digest])
    };
    objects::digest(&sources.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_digest_stands_for_content_order_and_absence_but_not_for_what_a_server_answers() {
        let source = |name: &str, digest: Option<&str>| Source {
            kind: InputKind::Ops,
            name: name.into(),
            digest: digest.map(str::to_string),
            is_url: name.starts_with("https:"),
        };
        let (a, b) = (source("configmap/a", Some("1")), source("configmap/b", Some("1")));
        let base = digest(&[a.clone(), b.clone()]);
        assert_eq!(base, digest(&[a.clone(), b.clone()]));
        for other in [
            vec![b.clone(), a.clone()],
            vec![a.clone(), source("configmap/b", Some("2"))],
            vec![a.clone(), source("configmap/b", None)],
            vec![a],
        ] {
            assert_ne!(base, digest(&other), "{other:?}");
        }
        let url = |content| digest(&[source("https://h/m", Some(content))]);
        assert_eq!(url("1"), url("2"));
    }
}

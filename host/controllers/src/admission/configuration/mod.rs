//! The configurations by which the API server sends requests to the webhook. Pure.

mod deployments;
pub(super) mod owner;
mod pods;

pub(super) use deployments::deployments;
pub(super) use pods::pods;

use super::Way;
use super::material::Material;
use boson_cluster::namespaces::Namespaces;
use boson_manifest::labels;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, RuleWithOperations, ServiceReference, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference,
};

/// How many seconds the API server waits. An answer takes a few tenths; users must not be delayed longer.
pub(super) const REVIEW_TIMEOUT_SECONDS: i32 = 5;
/// How many seconds the API server waits for the answer to a deletion, which is only a warning.
pub(super) const DELETION_TIMEOUT_SECONDS: i32 = 3;

/// What the configurations depend on.
pub(super) struct Inputs<'a> {
    pub name: &'a str,
    /// Namespace of the operator.
    pub namespace: &'a str,
    /// What the configuration is deleted with.
    pub owner: OwnerReference,
    pub way: &'a Way,
    pub served: &'a Namespaces,
    pub material: &'a Material,
}

// === impl Inputs ===

impl Inputs<'_> {
    fn metadata(&self) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name.into()),
            labels: Some([(MANAGED_BY.to_string(), BOSON.to_string())].into()),
            owner_references: Some(vec![self.owner.clone()]),
            ..ObjectMeta::default()
        }
    }

    fn selector(&self) -> LabelSelector {
        match self.served {
            Namespaces::Fixed(names) => LabelSelector {
                match_expressions: Some(vec![LabelSelectorRequirement {
                    key: "kubernetes.io/metadata.name".into(),
                    operator: "In".into(),
                    values: Some(names.iter().cloned().collect()),
                }]),
                ..LabelSelector::default()
            },
            Namespaces::Monitored(id) => LabelSelector {
                match_labels: Some([(labels::MONITORED.to_string(), id.clone())].into()),
                ..LabelSelector::default()
            },
        }
    }

    /// `what`: the last part of the path.
    fn client(&self, what: &str) -> WebhookClientConfig {
        let path = format!("/{}/{what}", self.material.path);
        let config = WebhookClientConfig {
            ca_bundle: Some(ByteString(self.material.bundle().into_bytes())),
            ..WebhookClientConfig::default()
        };
        match self.way {
            Way::Service(name) => WebhookClientConfig {
                service: Some(ServiceReference {
                    namespace: self.namespace.into(),
                    name: name.clone(),
                    path: Some(path),
                    port: Some(443),
                }),
                ..config
            },
            Way::Url(url) => WebhookClientConfig {
                url: Some(format!("{}{path}", url.trim_end_matches('/'))),
                ..config
            },
        }
    }
}

/// A rule for these operations on objects in namespaces. `[group, version, plural]`: their resource.
fn rule([group, version, plural]: [&str; 3], operations: &[&str]) -> RuleWithOperations {
    let all = |texts: &[&str]| Some(texts.iter().map(ToString::to_string).collect());
    RuleWithOperations {
        api_groups: all(&[group]),
        api_versions: all(&[version]),
        operations: all(operations),
        resources: all(&[plural]),
        scope: Some("Namespaced".into()),
    }
}

fn condition(name: &str, expression: &str) -> MatchCondition {
    MatchCondition {
        name: name.into(),
        expression: expression.into(),
    }
}

/// The certificate authorities of a webhook, which the API server trusts.
pub(super) fn authorities(client: &WebhookClientConfig) -> Option<String> {
    String::from_utf8(client.ca_bundle.as_ref()?.0.clone()).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::material::{Step, make};
    use super::*;

    /// Calls `with` with the inputs of this test.
    pub(in super::super) fn inputs<T>(way: &Way, served: &Namespaces, with: impl Fn(&Inputs<'_>) -> T) -> T {
        let material = make(Step::Make, None, &["w.n.svc".into()]).unwrap();
        with(&Inputs {
            name: "c",
            namespace: "n",
            owner: OwnerReference::default(),
            way,
            served,
            material: &material,
        })
    }

    #[test]
    fn only_served_namespaces_are_selected_and_the_secret_path_leads_to_the_webhook() {
        let monitored = Namespaces::Monitored("id".into());
        inputs(&Way::Service("w".into()), &monitored, |inputs| {
            let labels = inputs.selector().match_labels.unwrap();
            assert_eq!(labels["quarks.cloudfoundry.org/monitored"], "id");
            let client = inputs.client("x");
            assert_eq!(authorities(&client), Some(inputs.material.bundle()));
            let path = client.service.unwrap().path;
            assert_eq!(path, Some(format!("/{}/x", inputs.material.path)));
        });
        let fixed = Namespaces::Fixed(["a".to_string()].into());
        inputs(&Way::Url("https://h:1/".into()), &fixed, |inputs| {
            let url = inputs.client("x").url;
            assert_eq!(url, Some(format!("https://h:1/{}/x", inputs.material.path)));
            let expressions = inputs.selector().match_expressions.unwrap();
            assert_eq!(expressions[0].values, Some(vec!["a".to_string()]));
        });
    }
}

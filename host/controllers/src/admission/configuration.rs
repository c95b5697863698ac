//! The ValidatingWebhookConfiguration. Pure.

use super::Way;
use super::material::Material;
use boson_cluster::namespaces::Namespaces;
use boson_manifest::labels;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference,
};

/// How many seconds the API server waits. An answer takes a few tenths; an optional check must not delay users longer.
pub(super) const PATIENCE: i32 = 5;

/// What the configuration depends on.
pub(super) struct Inputs<'a> {
    pub name: &'a str,
    /// Namespace of the operator, and its UID.
    pub namespace: (&'a str, &'a str),
    pub way: &'a Way,
    pub served: &'a Namespaces,
    pub material: &'a Material,
}

/// The desired object.
pub(super) fn configuration(inputs: &Inputs<'_>) -> ValidatingWebhookConfiguration {
    let (namespace, uid) = inputs.namespace;
    ValidatingWebhookConfiguration {
        metadata: ObjectMeta {
            name: Some(inputs.name.into()),
            labels: Some([(MANAGED_BY.to_string(), BOSON.to_string())].into()),
            // It is deleted with the operator's namespace.
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".into(),
                kind: "Namespace".into(),
                name: namespace.into(),
                uid: uid.into(),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        webhooks: Some(vec![webhook(inputs)]),
    }
}

fn webhook(inputs: &Inputs<'_>) -> ValidatingWebhook {
    let condition = |name: &str, expression: &str| MatchCondition {
        name: name.into(),
        expression: expression.into(),
    };
    ValidatingWebhook {
        name: format!("boshdeployments.{}", labels::GROUP),
        admission_review_versions: vec!["v1".into()],
        side_effects: "None".into(),
        // An unavailable operator must not block users: the controller reports the same errors later.
        failure_policy: Some("Ignore".into()),
        timeout_seconds: Some(PATIENCE),
        rules: Some(vec![RuleWithOperations {
            api_groups: Some(vec![labels::GROUP.into()]),
            api_versions: Some(vec!["v1alpha1".into()]),
            operations: Some(vec!["CREATE".into(), "UPDATE".into()]),
            resources: Some(vec!["boshdeployments".into()]),
            scope: Some("Namespaced".into()),
        }]),
        namespace_selector: Some(selector(inputs.served)),
        match_conditions: Some(vec![
            condition("stays", "!has(object.metadata.deletionTimestamp)"),
            condition(
                "asks-for-something-else",
                "request.operation == 'CREATE' || object.spec != oldObject.spec",
            ),
        ]),
        client_config: client(inputs),
        ..ValidatingWebhook::default()
    }
}

fn selector(served: &Namespaces) -> LabelSelector {
    match served {
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

fn client(inputs: &Inputs<'_>) -> WebhookClientConfig {
    let path = format!("/{}", inputs.material.path);
    let config = WebhookClientConfig {
        ca_bundle: Some(ByteString(inputs.material.bundle().into_bytes())),
        ..WebhookClientConfig::default()
    };
    match inputs.way {
        Way::Service(name) => WebhookClientConfig {
            service: Some(ServiceReference {
                namespace: inputs.namespace.0.into(),
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

/// The certificate authorities in the configuration, which the API server trusts.
pub(super) fn published(live: &ValidatingWebhookConfiguration) -> Option<String> {
    let webhook = live.webhooks.as_ref()?.first()?;
    String::from_utf8(webhook.client_config.ca_bundle.as_ref()?.0.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::super::material::{Step, made};
    use super::*;

    #[test]
    fn failures_do_not_block_and_only_served_namespaces_are_reviewed() {
        let material = made(Step::Make, None, &["w.n.svc".into()]).unwrap();
        let of = |way: &Way, served: &Namespaces| {
            configuration(&Inputs {
                name: "c",
                namespace: ("n", "u"),
                way,
                served,
                material: &material,
            })
        };
        let service = of(&Way::Service("w".into()), &Namespaces::Monitored("id".into()));
        let first = |configuration: &ValidatingWebhookConfiguration| configuration.webhooks.clone().unwrap().remove(0);
        let webhook = first(&service);
        assert_eq!(webhook.failure_policy.as_deref(), Some("Ignore"));
        let labels = webhook.namespace_selector.unwrap().match_labels.unwrap();
        assert_eq!(labels["quarks.cloudfoundry.org/monitored"], "id");
        let path = webhook.client_config.service.unwrap().path;
        assert_eq!(path, Some(format!("/{}", material.path)));
        assert_eq!(published(&service), Some(material.bundle()));
        let url = of(
            &Way::Url("https://h:1/".into()),
            &Namespaces::Fixed(["a".to_string()].into()),
        );
        let webhook = first(&url);
        assert_eq!(
            webhook.client_config.url,
            Some(format!("https://h:1/{}", material.path))
        );
        let expressions = webhook.namespace_selector.unwrap().match_expressions.unwrap();
        assert_eq!(expressions[0].values, Some(vec!["a".to_string()]));
    }
}

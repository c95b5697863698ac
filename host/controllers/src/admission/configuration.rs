//! The ValidatingWebhookConfiguration. Pure.

use super::Way;
use super::material::Material;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_cluster::namespaces::Namespaces;
use boson_manifest::labels;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use serde_json::{Value, json};

/// How many seconds the API server waits. An answer takes a few tenths; an optional check must not delay users longer.
pub(super) const PATIENCE: u64 = 5;

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
pub(super) fn configuration(inputs: &Inputs<'_>) -> Value {
    let (namespace, uid) = inputs.namespace;
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": uid});
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {
            "name": inputs.name,
            "labels": {MANAGED_BY: BOSON},
            // It is deleted with the operator's namespace.
            "ownerReferences": [owner],
        },
        "webhooks": [{
            "name": format!("boshdeployments.{}", labels::GROUP),
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            // An unavailable operator must not block users: the controller reports the same errors later.
            "failurePolicy": "Ignore",
            "timeoutSeconds": PATIENCE,
            "rules": [{
                "apiGroups": [labels::GROUP],
                "apiVersions": ["v1alpha1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["boshdeployments"],
                "scope": "Namespaced",
            }],
            "namespaceSelector": selector(inputs.served),
            "matchConditions": [
                {"name": "stays", "expression": "!has(object.metadata.deletionTimestamp)"},
                {"name": "asks-for-something-else", "expression": "request.operation == 'CREATE' || object.spec != oldObject.spec"},
            ],
            "clientConfig": client(inputs),
        }],
    })
}

fn selector(served: &Namespaces) -> Value {
    match served {
        Namespaces::Fixed(names) => json!({"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": names},
        ]}),
        Namespaces::Monitored(id) => json!({"matchLabels": {labels::MONITORED: id}}),
    }
}

fn client(inputs: &Inputs<'_>) -> Value {
    let path = format!("/{}", inputs.material.path);
    let bundle = STANDARD.encode(inputs.material.bundle());
    match inputs.way {
        Way::Service(name) => json!({
            "service": {"namespace": inputs.namespace.0, "name": name, "path": path, "port": 443},
            "caBundle": bundle,
        }),
        Way::Url(url) => json!({"url": format!("{}{path}", url.trim_end_matches('/')), "caBundle": bundle}),
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
        let webhook = &service["webhooks"][0];
        assert_eq!(webhook["failurePolicy"], "Ignore");
        assert_eq!(
            webhook["namespaceSelector"]["matchLabels"]["quarks.cloudfoundry.org/monitored"],
            "id"
        );
        assert_eq!(
            webhook["clientConfig"]["service"]["path"],
            format!("/{}", material.path)
        );
        let typed: ValidatingWebhookConfiguration = serde_json::from_value(service).unwrap();
        assert_eq!(published(&typed), Some(material.bundle()));
        let url = of(
            &Way::Url("https://h:1/".into()),
            &Namespaces::Fixed(["a".to_string()].into()),
        );
        let webhook = &url["webhooks"][0];
        assert_eq!(webhook["clientConfig"]["url"], format!("https://h:1/{}", material.path));
        assert_eq!(
            webhook["namespaceSelector"]["matchExpressions"][0]["values"],
            json!(["a"])
        );
    }
}

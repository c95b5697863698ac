//! The ValidatingWebhookConfiguration for deployments. Pure.

use super::{Inputs, PATIENCE, condition};
use crate::admission::DEPLOYMENTS;
use boson_manifest::labels;
use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ValidatingWebhook, ValidatingWebhookConfiguration,
};

/// The desired object.
pub(in crate::admission) fn deployments(inputs: &Inputs<'_>) -> ValidatingWebhookConfiguration {
    ValidatingWebhookConfiguration {
        metadata: inputs.metadata(),
        webhooks: Some(vec![webhook(inputs)]),
    }
}

fn webhook(inputs: &Inputs<'_>) -> ValidatingWebhook {
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
        namespace_selector: Some(inputs.selector()),
        match_conditions: Some(vec![
            condition("stays", "!has(object.metadata.deletionTimestamp)"),
            condition(
                "asks-for-something-else",
                "request.operation == 'CREATE' || object.spec != oldObject.spec",
            ),
        ]),
        client_config: inputs.client(DEPLOYMENTS),
        ..ValidatingWebhook::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::inputs;
    use super::*;
    use crate::admission::Way;
    use boson_cluster::namespaces::Namespaces;

    #[test]
    fn failures_do_not_block() {
        let monitored = Namespaces::Monitored("id".into());
        let configuration = inputs(&Way::Service("w".into()), &monitored, deployments);
        let webhook = configuration.webhooks.unwrap().remove(0);
        assert_eq!(webhook.failure_policy.as_deref(), Some("Ignore"));
    }
}

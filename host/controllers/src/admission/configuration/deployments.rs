//! The ValidatingWebhookConfiguration for deployments and their deletion. Pure.

use super::{Inputs, REVIEW_TIMEOUT_SECONDS, condition, deletions};
use crate::admission::DEPLOYMENTS;
use boson_manifest::labels;
use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ValidatingWebhook, ValidatingWebhookConfiguration,
};

/// The desired object.
pub(in crate::admission) fn deployments(inputs: &Inputs<'_>) -> ValidatingWebhookConfiguration {
    ValidatingWebhookConfiguration {
        metadata: inputs.metadata(),
        webhooks: Some(vec![webhook(inputs), deletions::webhook(inputs)]),
    }
}

fn webhook(inputs: &Inputs<'_>) -> ValidatingWebhook {
    ValidatingWebhook {
        name: format!("boshdeployments.{}", labels::GROUP),
        admission_review_versions: vec!["v1".into()],
        side_effects: "None".into(),
        // An unavailable operator must not block users: the controller reports the same errors later.
        failure_policy: Some("Ignore".into()),
        timeout_seconds: Some(REVIEW_TIMEOUT_SECONDS),
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
        let webhooks = configuration.webhooks.unwrap();
        assert_eq!(webhooks.len(), 2);
        for webhook in webhooks {
            assert_eq!(webhook.failure_policy.as_deref(), Some("Ignore"), "{}", webhook.name);
        }
    }

    #[test]
    fn the_conditions_of_a_deletion_do_not_read_the_new_object() {
        let monitored = Namespaces::Monitored("id".into());
        let configuration = inputs(&Way::Service("w".into()), &monitored, deployments);
        let webhooks = configuration.webhooks.unwrap();
        let deletions = webhooks
            .iter()
            .find(|webhook| webhook.rules.as_ref().unwrap()[0].operations == Some(vec!["DELETE".to_string()]));
        for condition in deletions.unwrap().match_conditions.iter().flatten() {
            assert!(!condition.expression.contains("(object."), "{}", condition.expression);
            assert!(!condition.expression.contains(" object."), "{}", condition.expression);
        }
    }
}

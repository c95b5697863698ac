//! The ValidatingWebhookConfiguration for deployments and their deletion. Pure.

use super::{DELETION_TIMEOUT_SECONDS, Inputs, REVIEW_TIMEOUT_SECONDS, condition, rule};
use crate::admission::{DELETIONS, DEPLOYMENTS};
use boson_manifest::labels;
use k8s_openapi::api::admissionregistration::v1::{ValidatingWebhook, ValidatingWebhookConfiguration};

pub(in crate::admission) fn deployments(inputs: &Inputs<'_>) -> ValidatingWebhookConfiguration {
    let changes = ValidatingWebhook {
        name: format!("boshdeployments.{}", labels::GROUP),
        timeout_seconds: Some(REVIEW_TIMEOUT_SECONDS),
        match_conditions: Some(vec![
            condition("stays", "!has(object.metadata.deletionTimestamp)"),
            condition(
                "asks-for-something-else",
                "request.operation == 'CREATE' || object.spec != oldObject.spec",
            ),
        ]),
        ..webhook(inputs, DEPLOYMENTS, &["CREATE", "UPDATE"])
    };
    // A webhook of its own, because a deletion has no new object: the conditions of the other one would fail on it.
    let deletions = ValidatingWebhook {
        name: format!("deletions.boshdeployments.{}", labels::GROUP),
        timeout_seconds: Some(DELETION_TIMEOUT_SECONDS),
        match_conditions: Some(vec![
            condition("stays", "!has(oldObject.metadata.deletionTimestamp)"),
            // Nobody reads a warning when a namespace is deleted with all that it has.
            condition(
                "is-asked-by-a-user",
                "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && \
                 request.userInfo.username != 'system:kube-controller-manager'",
            ),
        ]),
        ..webhook(inputs, DELETIONS, &["DELETE"])
    };
    ValidatingWebhookConfiguration {
        metadata: inputs.metadata(),
        webhooks: Some(vec![changes, deletions]),
    }
}

/// What both have in common. `what`: the last part of the path.
fn webhook(inputs: &Inputs<'_>, what: &str, operations: &[&str]) -> ValidatingWebhook {
    ValidatingWebhook {
        admission_review_versions: vec!["v1".into()],
        side_effects: "None".into(),
        // An unavailable operator must not block users: the controller reports the same errors later, and a deletion
        // only gets a warning.
        failure_policy: Some("Ignore".into()),
        rules: Some(vec![rule([labels::GROUP, "v1alpha1", "boshdeployments"], operations)]),
        namespace_selector: Some(inputs.selector()),
        client_config: inputs.client(what),
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

//! The webhook for deletions of deployments: a part of the ValidatingWebhookConfiguration. Pure.
//!
//! It is a webhook of its own, because a deletion has no new object: the conditions of the webhook for deployments
//! would fail on it.

use super::{DELETION_TIMEOUT_SECONDS, Inputs, condition};
use crate::admission::DELETIONS;
use boson_manifest::labels;
use k8s_openapi::api::admissionregistration::v1::{RuleWithOperations, ValidatingWebhook};

pub(super) fn webhook(inputs: &Inputs<'_>) -> ValidatingWebhook {
    ValidatingWebhook {
        name: format!("deletions.boshdeployments.{}", labels::GROUP),
        admission_review_versions: vec!["v1".into()],
        side_effects: "None".into(),
        // It only warns: a deployment must be deletable without an operator.
        failure_policy: Some("Ignore".into()),
        timeout_seconds: Some(DELETION_TIMEOUT_SECONDS),
        rules: Some(vec![RuleWithOperations {
            api_groups: Some(vec![labels::GROUP.into()]),
            api_versions: Some(vec!["v1alpha1".into()]),
            operations: Some(vec!["DELETE".into()]),
            resources: Some(vec!["boshdeployments".into()]),
            scope: Some("Namespaced".into()),
        }]),
        namespace_selector: Some(inputs.selector()),
        match_conditions: Some(vec![
            condition("stays", "!has(oldObject.metadata.deletionTimestamp)"),
            // Nobody reads a warning when a namespace is deleted with all that it has.
            condition(
                "is-asked-by-a-user",
                "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && \
                 request.userInfo.username != 'system:kube-controller-manager'",
            ),
        ]),
        client_config: inputs.client(DELETIONS),
        ..ValidatingWebhook::default()
    }
}

//! The MutatingWebhookConfiguration for pods that ask for links. Pure.

use super::{Inputs, REVIEW_TIMEOUT_SECONDS, condition, rule};
use crate::admission::PODS;
use boson_manifest::labels;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

pub(in crate::admission) fn pods(inputs: &Inputs<'_>) -> MutatingWebhookConfiguration {
    let annotation = labels::CONSUMES;
    let webhook = MutatingWebhook {
        // It is part of the API server's message if the operator does not answer.
        name: format!("links-of-pods.{}", labels::GROUP),
        admission_review_versions: vec!["v1".into()],
        side_effects: "None".into(),
        // Without its links, a pod would run with the wrong configuration. Controllers of pods try again.
        failure_policy: Some("Fail".into()),
        reinvocation_policy: Some("Never".into()),
        timeout_seconds: Some(REVIEW_TIMEOUT_SECONDS),
        rules: Some(vec![rule(["", "v1", "pods"], &["CREATE"])]),
        namespace_selector: Some(inputs.selector()),
        // The API server evaluates it itself, so other pods do not depend on the operator. An expression that fails
        // would reject the pod, so it must not.
        match_conditions: Some(vec![condition(
            "asks-for-links",
            &format!("has(object.metadata.annotations) && '{annotation}' in object.metadata.annotations"),
        )]),
        client_config: inputs.client(PODS),
        ..MutatingWebhook::default()
    };
    MutatingWebhookConfiguration {
        metadata: inputs.metadata(),
        webhooks: Some(vec![webhook]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::inputs;
    use super::*;
    use crate::admission::Way;
    use boson_cluster::namespaces::Namespaces;

    #[test]
    fn only_new_pods_that_ask_are_sent() {
        let monitored = Namespaces::Monitored("id".into());
        let configuration = inputs(&Way::Service("w".into()), &monitored, pods);
        let webhook = configuration.webhooks.unwrap().remove(0);
        assert_eq!(webhook.failure_policy.as_deref(), Some("Fail"));
        assert_eq!(webhook.rules.unwrap()[0].operations, Some(vec!["CREATE".to_string()]));
        assert_eq!(
            webhook.match_conditions.unwrap()[0].expression,
            "has(object.metadata.annotations) && 'quarks.cloudfoundry.org/consumes' in object.metadata.annotations"
        );
        assert!(webhook.namespace_selector.unwrap().match_labels.is_some());
    }
}

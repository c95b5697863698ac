//! The owners of the configurations: Kubernetes deletes an object with its owner. Pure.
//!
//! A configuration without an operator behind it refuses pods that ask for links. So the ClusterRole that permits to
//! write a configuration owns it: both are deleted together, by each way to uninstall the operator, also by those that
//! keep its namespace.

use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

/// Name of the ClusterRole that permits to write the configuration for deployments (`deploy/webhook`).
pub(in crate::admission) const ROLE_FOR_DEPLOYMENTS: &str = "boson-webhook";
/// The same for pods (`deploy/links`).
pub(in crate::admission) const ROLE_FOR_PODS: &str = "boson-links-webhook";

/// The reference to the role, if it permits to write the configuration of this name. Otherwise the role is that of
/// another operator, and this one got its permissions in another way.
pub(in crate::admission) fn role(role: &ClusterRole, configuration: &str) -> Option<OwnerReference> {
    let rules = role.rules.iter().flatten();
    let mut names = rules.flat_map(|rule| rule.resource_names.iter().flatten());
    let permits = names.any(|name| name == configuration);
    role.owner_ref(&()).filter(|_| permits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::rbac::v1::PolicyRule;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    #[test]
    fn only_the_role_for_this_configuration_owns_it() {
        let rule = |name: &str| PolicyRule {
            resource_names: Some(vec![name.into()]),
            ..PolicyRule::default()
        };
        let metadata = ObjectMeta {
            name: Some(ROLE_FOR_PODS.into()),
            uid: Some("u".into()),
            ..ObjectMeta::default()
        };
        let found = ClusterRole {
            metadata,
            rules: Some(vec![rule("boson.a"), rule(ROLE_FOR_PODS)]),
            ..ClusterRole::default()
        };
        let owner = role(&found, "boson.a").unwrap();
        assert_eq!(
            (owner.api_version.as_str(), owner.kind.as_str()),
            ("rbac.authorization.k8s.io/v1", "ClusterRole")
        );
        assert_eq!((owner.name.as_str(), owner.uid.as_str()), (ROLE_FOR_PODS, "u"));
        // With `blockOwnerDeletion`, the operator would need one more permission.
        assert_eq!((owner.controller, owner.block_owner_deletion), (None, None));
        assert_eq!(role(&found, "boson.b"), None);
    }
}

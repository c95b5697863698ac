//! ServiceAccounts that the operator creates in the namespaces of deployments, each with its own Role.

use crate::client::{Cluster, Error, FieldManager};
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A ServiceAccount, its Role and its RoleBinding, all with one name.
#[derive(Clone, Debug)]
pub struct Account {
    pub name: &'static str,
    pub rules: Vec<PolicyRule>,
    /// Whether its pods mount a token by default.
    pub mounts_token: bool,
}

pub fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.into()]),
        resources: Some(vec![resource.into()]),
        verbs: verbs.iter().map(|verb| (*verb).to_string()).collect(),
        ..PolicyRule::default()
    }
}

// === impl Account ===

impl Account {
    /// Creates what is missing, and corrects what differs.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn make(&self, cluster: &Cluster, manager: FieldManager, namespace: &str) -> Result<(), Error> {
        let (wanted_role, wanted_binding, wanted) =
            (self.role(namespace), self.binding(namespace), self.account(namespace));
        // The account last: no pod starts without it, so none starts without its permissions.
        let found: Option<Role> = cluster.get(namespace, self.name).await?;
        if found.is_none_or(|found| found.rules != wanted_role.rules) {
            cluster.apply(manager, &wanted_role).await?;
        }
        let found: Option<RoleBinding> = cluster.get(namespace, self.name).await?;
        if found
            .is_none_or(|found| found.subjects != wanted_binding.subjects || found.role_ref != wanted_binding.role_ref)
        {
            cluster.apply(manager, &wanted_binding).await?;
        }
        let found: Option<ServiceAccount> = cluster.get(namespace, self.name).await?;
        if found.is_none_or(|found| found.automount_service_account_token != wanted.automount_service_account_token) {
            cluster.apply(manager, &wanted).await?;
        }
        Ok(())
    }

    fn metadata(&self, namespace: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name.into()),
            namespace: Some(namespace.into()),
            labels: Some([(MANAGED_BY.to_string(), BOSON.to_string())].into()),
            ..ObjectMeta::default()
        }
    }

    fn account(&self, namespace: &str) -> ServiceAccount {
        ServiceAccount {
            metadata: self.metadata(namespace),
            automount_service_account_token: Some(self.mounts_token),
            ..ServiceAccount::default()
        }
    }

    fn role(&self, namespace: &str) -> Role {
        Role {
            metadata: self.metadata(namespace),
            rules: Some(self.rules.clone()),
        }
    }

    fn binding(&self, namespace: &str) -> RoleBinding {
        RoleBinding {
            metadata: self.metadata(namespace),
            role_ref: RoleRef {
                api_group: "rbac.authorization.k8s.io".into(),
                kind: "Role".into(),
                name: self.name.into(),
            },
            subjects: Some(vec![Subject {
                kind: "ServiceAccount".into(),
                name: self.name.into(),
                namespace: Some(namespace.into()),
                ..Subject::default()
            }]),
        }
    }
}

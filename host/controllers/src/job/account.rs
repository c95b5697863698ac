//! The ServiceAccount of pods that keep output: one in each namespace, with a Role that lets it read pods and write Secrets, nothing else.
//!
//! Of Secrets it has get and list, because the number of a new version follows from those that are there. RBAC cannot bound a create by name. Its
//! token is mounted into our own container only.

use crate::client::{Cluster, Error, FieldManager};
use boson_deployment::labels;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Name of the account, its Role and its RoleBinding.
pub(super) const NAME: &str = "boson-output";

/// Which account pods get, and what is wrong with it if something is.
pub(super) enum Account {
    /// This one.
    Named(String),
    /// The namespace names one that is not there.
    Missing(String),
}

/// Makes ours, or finds the one that the namespace names by its label.
///
/// # Errors
/// See [`Error`].
pub(super) async fn account(cluster: &Cluster, manager: FieldManager, namespace: &str) -> Result<Account, Error> {
    let there = cluster.namespace(namespace).await?;
    let labelled = there.and_then(|there| there.metadata.labels?.remove(labels::QUARKS_JOB_SERVICE_ACCOUNT));
    if let Some(name) = labelled.filter(|name| !name.is_empty()) {
        let found: Option<ServiceAccount> = cluster.get(namespace, &name).await?;
        return Ok(match found {
            Some(_) => Account::Named(name),
            None => Account::Missing(name),
        });
    }
    let (wanted_role, wanted_binding, wanted) = (role(namespace), binding(namespace), ours(namespace));
    // The account last: while it is missing no pod starts, so none starts without its rights.
    let found: Option<Role> = cluster.get(namespace, NAME).await?;
    if found.is_none_or(|found| found.rules != wanted_role.rules) {
        cluster.apply(manager, &wanted_role).await?;
    }
    let found: Option<RoleBinding> = cluster.get(namespace, NAME).await?;
    if found.is_none_or(|found| found.subjects != wanted_binding.subjects || found.role_ref != wanted_binding.role_ref)
    {
        cluster.apply(manager, &wanted_binding).await?;
    }
    let found: Option<ServiceAccount> = cluster.get(namespace, NAME).await?;
    if found.is_none_or(|found| found.automount_service_account_token != wanted.automount_service_account_token) {
        cluster.apply(manager, &wanted).await?;
    }
    Ok(Account::Named(NAME.into()))
}

fn metadata(namespace: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(NAME.into()),
        namespace: Some(namespace.into()),
        labels: Some([(MANAGED_BY.to_string(), BOSON.to_string())].into()),
        ..ObjectMeta::default()
    }
}

fn ours(namespace: &str) -> ServiceAccount {
    ServiceAccount {
        metadata: metadata(namespace),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}

fn role(namespace: &str) -> Role {
    let rule = |resource: &str, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec![resource.into()]),
        verbs: verbs.iter().map(|verb| (*verb).to_string()).collect(),
        ..PolicyRule::default()
    };
    Role {
        metadata: metadata(namespace),
        rules: Some(vec![
            rule("pods", &["get"]),
            rule("secrets", &["get", "list", "create", "update"]),
        ]),
    }
}

fn binding(namespace: &str) -> RoleBinding {
    RoleBinding {
        metadata: metadata(namespace),
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".into(),
            kind: "Role".into(),
            name: NAME.into(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".into(),
            name: NAME.into(),
            namespace: Some(namespace.into()),
            ..Subject::default()
        }]),
    }
}

//! The ServiceAccount of pods that keep output: one in each namespace, with a Role that lets it read pods and write Secrets, nothing else.
//!
//! Of Secrets it has get and list, because the number of a new version follows from those that are there. RBAC cannot bound a create by name. Its
//! token is mounted into our own container only.

use crate::account::{Account as Made, rule};
use crate::client::{Cluster, Error, FieldManager};
use boson_deployment::labels;
use k8s_openapi::api::core::v1::ServiceAccount;

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
    ours().make(cluster, manager, namespace).await?;
    Ok(Account::Named(NAME.into()))
}

fn ours() -> Made {
    Made {
        name: NAME,
        rules: vec![
            rule("", "pods", &["get"]),
            rule("", "secrets", &["get", "list", "create", "update"]),
        ],
        mounts_token: false,
    }
}

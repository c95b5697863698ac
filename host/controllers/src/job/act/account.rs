//! The ServiceAccount of pods that store output: one in each namespace, with a Role that allows it only to read pods
//! and write Secrets.
//!
//! It may get and list Secrets, because the number of a new version follows from the existing ones. RBAC cannot
//! restrict `create` by name. Only our own container mounts its token.

use crate::job::run::JobError;
use boson_cluster::client::{Cluster, FieldManager};
use boson_cluster::objects::account::{Account, rule};
use boson_manifest::labels;
use k8s_openapi::api::core::v1::ServiceAccount;

/// Name of the account, its Role and its RoleBinding.
const ACCOUNT_NAME: &str = "boson-output";

/// The account of the pods: creates ours, or finds the one that a label of the namespace names.
///
/// # Errors
/// The namespace names an account that does not exist, or a call failed.
pub(super) async fn account(cluster: &Cluster, manager: FieldManager, namespace: &str) -> Result<String, JobError> {
    let there = cluster.namespace(namespace).await?;
    let labelled = there.and_then(|there| there.metadata.labels?.remove(labels::QUARKS_JOB_SERVICE_ACCOUNT));
    if let Some(name) = labelled.filter(|name| !name.is_empty()) {
        let found: Option<ServiceAccount> = cluster.get(namespace, &name).await?;
        return match found {
            Some(_) => Ok(name),
            None => Err(JobError::Waits(format!(
                "waiting for ServiceAccount '{name}', which the namespace names"
            ))),
        };
    }
    let ours = Account {
        name: ACCOUNT_NAME,
        rules: vec![
            rule("", "pods", &["get"]),
            rule("", "secrets", &["get", "list", "create", "update"]),
        ],
        mounts_token: false,
    };
    ours.make(cluster, manager, namespace).await?;
    Ok(ACCOUNT_NAME.into())
}

//! Pull Secrets: the operator reads images with the same Secrets as the pods of the deployment. Like the kubelet, it
//! uses those that the group names and those of its ServiceAccount, and ignores missing ones.

use crate::deployment::error::DeployError;
use crate::deployment::memory::Source;
use crate::deployment::observe;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::pull_secret::PullSecret;
use boson_document::Tree;
use boson_manifest::group::InstanceGroup;
use boson_manifest::names;
use k8s_openapi::api::core::v1::ServiceAccount;
use std::collections::BTreeSet;

/// The ServiceAccount of pods by default.
const DEFAULT_ACCOUNT: &str = "default";

/// The contents of all pull Secrets that exist, those that groups name first.
pub async fn contents(run: &Reconcile<'_>, manifest: &Tree) -> Result<Vec<PullSecret>, DeployError> {
    let mut contents = Vec::new();
    for name in names(run, manifest).await? {
        contents.extend(observe::secret(run, &name).await?.and_then(PullSecret::of));
    }
    Ok(contents)
}

/// Names of the Secrets that pods of the conversion pull release images with: those of releases with credentials, those
/// that agent settings name, and those of the ServiceAccounts of the deployment's pods. The pods of the conversion run
/// as another account.
pub async fn names_in_pods(run: &Reconcile<'_>, manifest: &Tree) -> Result<Vec<String>, DeployError> {
    let releases = manifest.items("releases").iter();
    let with_credentials = releases.filter(|release| has_credentials(release));
    let releases = with_credentials.filter_map(|release| release.str("name"));
    let mut all: Vec<String> = releases
        .filter_map(|name| run.names.release_credentials(name).ok())
        .collect();
    all.extend(names(run, manifest).await?);
    Ok(in_pods(all))
}

/// Names of the Secrets that the deployment's own pods pull with, those that groups name first. They and the accounts
/// are remembered.
async fn names(run: &Reconcile<'_>, manifest: &Tree) -> Result<Vec<String>, DeployError> {
    let (mut names, accounts) = wanted(manifest);
    let mut sources: BTreeSet<Source> = accounts.iter().cloned().map(Source::Account).collect();
    let (key, pulls) = (run.key(), &run.context.memory.pulls);
    // Both are remembered before they are read, so that no change is lost. Nor is one of what an earlier step has read.
    pulls.set(&key, &pulls.of(&key) | &sources);
    for account in accounts {
        for name in of_account(run, account).await? {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    sources.extend(names.iter().cloned().map(Source::Secret));
    pulls.set(&key, sources);
    Ok(names)
}

/// Names of the Secrets of a ServiceAccount, which is read once for all steps.
async fn of_account(run: &Reconcile<'_>, account: String) -> Result<Vec<String>, DeployError> {
    if let Some(read) = run.account_secrets.lock().get(&account) {
        return Ok(read.clone());
    }
    let found: Option<ServiceAccount> = run.context.cluster.get(run.namespace, &account).await?;
    let references = found.and_then(|account| account.image_pull_secrets).unwrap_or_default();
    let names: Vec<String> = references.into_iter().map(|reference| reference.name).collect();
    run.account_secrets.lock().insert(account, names.clone());
    Ok(names)
}

/// Whether the manifest gives a release credentials for its image.
pub fn has_credentials(release: &Tree) -> bool {
    release
        .get("credentials")
        .is_some_and(|credentials| !credentials.is_null())
}

/// The Secrets that groups name, in their order, and the ServiceAccounts that they run as.
fn wanted(manifest: &Tree) -> (Vec<String>, BTreeSet<String>) {
    let (mut secrets, mut accounts) = (Vec::new(), BTreeSet::new());
    // A placeholder without a value is no name.
    let is_name = |name: &str| !name.is_empty() && names::subdomain(name) == name;
    for group in InstanceGroup::all(manifest) {
        let settings = group.settings().unwrap_or(&Tree::Null);
        let named = settings.items("imagePullSecrets").iter();
        for name in named
            .filter_map(|reference| reference.str("name"))
            .filter(|name| is_name(name))
        {
            if !secrets.iter().any(|known| known == name) {
                secrets.push(name.to_string());
            }
        }
        let account = settings.str("serviceAccountName").unwrap_or(DEFAULT_ACCOUNT);
        if is_name(account) {
            accounts.insert(account.to_string());
        }
    }
    (secrets, accounts)
}

/// Sorted, because the order of the Secrets of a ServiceAccount is arbitrary, and a conversion job reruns when its pod
/// template changes.
fn in_pods(names: Vec<String>) -> Vec<String> {
    BTreeSet::from_iter(names).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn groups_name_secrets_and_accounts() {
        let manifest = json::parse(
            r#"{"instance_groups": [
                {"name": "a", "env": {"bosh": {"agent": {"settings": {"imagePullSecrets": [{"name": "x"}, {"name": "y"}], "serviceAccountName": "s"}}}}},
                {"name": "b", "env": {"bosh": {"agent": {"settings": {"imagePullSecrets": [{"name": "x"}]}}}}},
                {"name": "c"},
                {"name": "d", "env": {"bosh": {"agent": {"settings": {"imagePullSecrets": [{"name": "((p))"}], "serviceAccountName": "((a))"}}}}}]}"#,
        )
        .unwrap();
        let (secrets, accounts) = wanted(&manifest);
        assert_eq!(secrets, ["x", "y"]);
        assert_eq!(accounts.into_iter().collect::<Vec<_>>(), ["default", "s"]);
    }

    #[test]
    fn pods_pull_with_the_same_in_one_order() {
        let all = ["b", "d.release-r", "a", "b"].map(String::from);
        assert_eq!(in_pods(all.into()), ["a", "b", "d.release-r"]);
    }
}

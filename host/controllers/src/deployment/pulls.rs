//! Pull Secrets: the operator reads images with the same Secrets as the pods of the deployment. Like the kubelet, it uses those that the group names
//! and those of its ServiceAccount, and ignores missing ones.

use super::flow::Flow;
use super::stop::Stop;
use crate::conversion::PullSecret;
use boson_api::BoshDeployment;
use boson_document::{Pointer, Tree};
use boson_manifest::names;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

/// Key of a pull Secret.
const CONFIG: &str = ".dockerconfigjson";
/// Key of the older form, which lacks the outermost member.
const OLD_CONFIG: &str = ".dockercfg";
/// The ServiceAccount of pods by default.
const DEFAULT_ACCOUNT: &str = "default";

/// An object that a deployment pulls images with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Secret(String),
    Account(String),
}

/// What each deployment pulled with at its last reconcile, by namespace and name: a change of these requeues it.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    all: Mutex<HashMap<(String, String), BTreeSet<Source>>>,
}

// === impl Pulls ===

impl Pulls {
    fn remember(&self, namespace: &str, deployment: &str, sources: BTreeSet<Source>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((namespace.into(), deployment.into()), sources);
    }

    /// The deployment is deleted.
    pub(super) fn forget(&self, namespace: &str, deployment: &str) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(namespace.into(), deployment.into()));
    }

    /// The deployments of a namespace that pull with this.
    pub(super) fn users(&self, namespace: Option<String>, source: &Source) -> Vec<ObjectRef<BoshDeployment>> {
        let namespace = namespace.unwrap_or_default();
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter()
            .filter(|((of, _), sources)| *of == namespace && sources.contains(source))
            .map(|((_, deployment), _)| ObjectRef::new(deployment).within(&namespace))
            .collect()
    }
}

// === impl Flow ===

impl Flow<'_> {
    /// The contents of all pull Secrets that exist, those that groups name first.
    pub(super) async fn pull_secrets(&self, manifest: &Tree) -> Result<Vec<PullSecret>, Stop> {
        let mut contents = Vec::new();
        for name in self.pull_names(manifest).await? {
            contents.extend(self.secret(&name).await?.and_then(content));
        }
        Ok(contents)
    }

    /// Names of the Secrets that the deployment's own pods pull with, those that groups name first. They and the accounts are remembered.
    pub(super) async fn pull_names(&self, manifest: &Tree) -> Result<Vec<String>, Stop> {
        let (mut names, accounts) = wanted(manifest);
        let mut sources: BTreeSet<Source> = accounts.iter().cloned().map(Source::Account).collect();
        for account in accounts {
            let found: Option<ServiceAccount> = self.context.cluster.get(self.namespace, &account).await?;
            let references = found.and_then(|account| account.image_pull_secrets).unwrap_or_default();
            for reference in references {
                if !names.contains(&reference.name) {
                    names.push(reference.name);
                }
            }
        }
        sources.extend(names.iter().cloned().map(Source::Secret));
        // Remembered before they are read, so that no change is lost.
        let deployment = self.object.name_any();
        self.context.pulls.remember(self.namespace, &deployment, sources);
        Ok(names)
    }
}

/// The Secrets that groups name, in their order, and the ServiceAccounts that they run as.
fn wanted(manifest: &Tree) -> (Vec<String>, BTreeSet<String>) {
    let (mut secrets, mut accounts) = (Vec::new(), BTreeSet::new());
    let place = Pointer::from(["env", "bosh", "agent", "settings"].map(String::from).to_vec());
    // A placeholder without a value is no name.
    let is_name = |name: &str| !name.is_empty() && names::subdomain(name) == name;
    for group in manifest.items("instance_groups") {
        let settings = place.find(group).unwrap_or(&Tree::Null);
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

/// Sorted, because the order of the Secrets of a ServiceAccount is arbitrary, and a conversion job reruns when its pod template changes.
pub(super) fn in_pods(names: Vec<String>) -> Vec<String> {
    BTreeSet::from_iter(names).into_iter().collect()
}

/// The docker config in a pull Secret.
fn content(secret: Secret) -> Option<PullSecret> {
    let mut data = secret.data?;
    if let Some(config) = data.remove(CONFIG) {
        return Some(PullSecret(config.0));
    }
    let auths: Value = serde_json::from_slice(&data.remove(OLD_CONFIG)?.0).ok()?;
    let config = serde_json::json!({ "auths": auths });
    Some(PullSecret(config.to_string().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;
    use k8s_openapi::ByteString;

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

    #[test]
    fn both_forms_of_a_docker_config_are_read() {
        let secret = |key: &str, text: &str| Secret {
            data: Some([(key.to_string(), ByteString(text.into()))].into()),
            ..Secret::default()
        };
        let text = |key: &str, text: &str| content(secret(key, text)).map(|found| String::from_utf8(found.0).unwrap());
        assert_eq!(text(CONFIG, r#"{"auths":{}}"#).as_deref(), Some(r#"{"auths":{}}"#));
        let wrapped = text(OLD_CONFIG, r#"{"r":{"auth":"YTpi"}}"#);
        assert_eq!(wrapped.as_deref(), Some(r#"{"auths":{"r":{"auth":"YTpi"}}}"#));
        assert_eq!(text("other", "{}"), None);
    }

    #[test]
    fn a_change_requeues_the_deployments_that_pull_with_it() {
        let pulls = Pulls::default();
        let secret = Source::Secret("x".into());
        pulls.remember("n", "d", [secret.clone()].into());
        let users = |namespace: &str, source: &Source| pulls.users(Some(namespace.into()), source).len();
        assert_eq!(users("n", &secret), 1);
        assert_eq!(users("m", &secret), 0);
        assert_eq!(users("n", &Source::Account("x".into())), 0);
        pulls.forget("n", "d");
        assert_eq!(users("n", &secret), 0);
    }
}

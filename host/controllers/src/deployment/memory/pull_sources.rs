//! What each deployment pulls images with: a change of these objects requeues it.

use super::by_deployment::ByDeployment;
use boson_api::BoshDeployment;
use kube::runtime::reflector::ObjectRef;
use std::collections::BTreeSet;

/// An object that a deployment pulls images with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Secret(String),
    Account(String),
}

// === impl ByDeployment ===

impl ByDeployment<BTreeSet<Source>> {
    /// The deployments of a namespace that pull with this.
    pub fn users(&self, namespace: Option<String>, source: &Source) -> Vec<ObjectRef<BoshDeployment>> {
        let namespace = namespace.unwrap_or_default();
        let all = self.all.lock();
        all.iter()
            .filter(|((of, _), sources)| *of == namespace && sources.contains(source))
            .map(|((_, deployment), _)| ObjectRef::new(deployment).within(&namespace))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_requeues_the_deployments_that_pull_with_it() {
        let pulls: ByDeployment<BTreeSet<Source>> = ByDeployment::default();
        let key = ("n".to_string(), "d".to_string());
        let secret = Source::Secret("x".into());
        pulls.set(&key, [secret.clone()].into());
        let users = |namespace: &str, source: &Source| pulls.users(Some(namespace.into()), source).len();
        assert_eq!(users("n", &secret), 1);
        assert_eq!(users("m", &secret), 0);
        assert_eq!(users("n", &Source::Account("x".into())), 0);
        pulls.set(&key, BTreeSet::new());
        assert_eq!(users("n", &secret), 0);
    }
}

//! Objects that name a BOSHDeployment that does not exist: Secrets and Services that provide it a link, and workloads
//! whose pods consume its links. Each gets an event, because nothing else would say that the name is wrong.
//!
//! # Guarantees
//! An object is reported only after it was found twice, so that an object and its deployment can be created in any
//! order, and only if the API server itself has no such deployment. It is reported once an hour, the time that events
//! are kept, and once more when the deployment exists. At most [`MAX_EVENTS`] events are emitted at a time.

use boson_api::BoshDeployment;
use boson_cluster::client::{Cluster, Error, Kind, Notice};
use boson_manifest::names::Names;
use kube::ResourceExt;
use kube::runtime::reflector::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Between two checks. They read only what watches have stored.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Most events of a check, of each sort.
const MAX_EVENTS: usize = 32;
/// Checks until the same event is emitted again: an hour.
const CHECKS_UNTIL_REPEAT: u32 = 360;
/// The reason of the warning. A deployment that consumes a link of an unknown deployment has the same one.
const UNKNOWN_REASON: &str = "LinksUnknownDeployment";
/// The reason of the event after it.
const FOUND_REASON: &str = "LinksDeploymentFound";

/// An object that names a deployment. `W`: what identifies the object in its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Naming<W> {
    pub namespace: String,
    /// As the object names it.
    pub deployment: String,
    pub what: W,
}

/// Objects of one sort that name deployments.
pub(crate) trait Namers {
    /// Identifies an object in its namespace.
    type What: Clone + Ord + Send + Sync;
    /// The annotation that names the deployment.
    const KEY: &'static str;
    /// The end of the warning: what does not work.
    const EFFECT: &'static str;

    /// Those of now, as watches have stored them.
    fn all(&self) -> BTreeSet<Naming<Self::What>>;
    /// Emits an event about an object.
    fn emit(&self, one: &Naming<Self::What>, notice: &Notice) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The objects without a deployment.
#[derive(Debug)]
struct Orphans<W> {
    all: BTreeMap<Naming<W>, State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Noticed,
    Reported { checks: u32 },
}

/// What to report.
#[derive(Debug, PartialEq, Eq)]
struct Due<W> {
    /// Objects whose deployment seems not to exist.
    unknown: Vec<Naming<W>>,
    /// Objects that were reported, and whose deployment exists now.
    found: Vec<Naming<W>>,
}

/// Checks from time to time, for ever. `deployments`: as a watch has stored them.
pub(crate) async fn report<N: Namers, K: Kind + 'static>(cluster: &Cluster, deployments: &Store<K>, namers: &N) {
    let mut orphans = Orphans { all: BTreeMap::new() };
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let due = orphans.check(namers.all(), |one| is_in(deployments, one));
        for one in &due.found {
            emit(namers, one, &found_notice(one, N::KEY)).await;
        }
        match confirm_missing(cluster, due.unknown).await {
            Ok(confirmed) => {
                for one in confirmed {
                    emit(namers, &one, &unknown_notice(&one, N::KEY, N::EFFECT)).await;
                    orphans.mark_reported(&one);
                }
            }
            Err(error) => tracing::debug!(%error, "cannot check which deployments exist"),
        }
    }
}

async fn emit<N: Namers>(namers: &N, one: &Naming<N::What>, notice: &Notice) {
    if let Err(error) = namers.emit(one, notice).await {
        tracing::warn!(%error, "an event was lost");
    }
}

/// Whether the deployment that an object names is in a store of deployments.
fn is_in<K: Kind + 'static, W>(deployments: &Store<K>, one: &Naming<W>) -> bool {
    let found = deployments.find(|object| {
        object.namespace().as_deref() == Some(&one.namespace) && is_named(&object.name_any(), &one.deployment)
    });
    found.is_some()
}

// === impl Orphans ===

impl<W: Clone + Ord> Orphans<W> {
    /// What to report at this check. `naming`: the objects that name a deployment now.
    fn check(&mut self, naming: BTreeSet<Naming<W>>, exists: impl Fn(&Naming<W>) -> bool) -> Due<W> {
        // What was deleted, or names another deployment now, needs no event.
        self.all.retain(|one, _| naming.contains(one));
        let (mut unknown, mut found) = (Vec::new(), Vec::new());
        for one in naming {
            if exists(&one) {
                let was_reported = matches!(self.all.get(&one), Some(State::Reported { .. }));
                // Otherwise the next check reports it.
                if !was_reported || found.len() < MAX_EVENTS {
                    self.all.remove(&one);
                    found.extend(was_reported.then_some(one));
                }
                continue;
            }
            match self.all.get_mut(&one) {
                None => drop(self.all.insert(one, State::Noticed)),
                Some(State::Noticed) => unknown.push(one),
                Some(State::Reported { checks }) if *checks < CHECKS_UNTIL_REPEAT => *checks += 1,
                Some(state) => *state = State::Noticed,
            }
        }
        unknown.truncate(MAX_EVENTS);
        Due { unknown, found }
    }

    /// It was reported.
    fn mark_reported(&mut self, one: &Naming<W>) {
        self.all.insert(one.clone(), State::Reported { checks: 0 });
    }
}

/// Whether a deployment of this name is the one that an object names. Labels hold names as far as Kubernetes accepts
/// them there.
fn is_named(name: &str, as_named: &str) -> bool {
    name == as_named || Names::new(name, "", "").is_ok_and(|names| names.deployment() == as_named)
}

/// Keeps those whose deployment the API server does not have, either. The stores of watches may be behind, or empty
/// because a watch is forbidden.
async fn confirm_missing<W>(cluster: &Cluster, unknown: Vec<Naming<W>>) -> Result<Vec<Naming<W>>, Error> {
    let mut existing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in &unknown {
        if !existing.contains_key(&one.namespace) {
            let all = cluster.list_metadata::<BoshDeployment>(&one.namespace, "").await?;
            let names = all.into_iter().filter_map(|meta| meta.name).collect();
            existing.insert(one.namespace.clone(), names);
        }
    }
    let exists = |one: &Naming<W>| {
        let mut names = existing.get(&one.namespace).into_iter().flatten();
        names.any(|name| is_named(name, &one.deployment))
    };
    Ok(unknown.into_iter().filter(|one| !exists(one)).collect())
}

/// The warning. `key`: of the annotation; `effect`: what does not work.
fn unknown_notice<W>(one: &Naming<W>, key: &str, effect: &str) -> Notice {
    let note = format!(
        "{key} names the BOSHDeployment '{}', but namespace '{}' has none of that name; {effect}",
        one.deployment, one.namespace
    );
    Notice::warning(UNKNOWN_REASON, note)
}

/// The event after it.
fn found_notice<W>(one: &Naming<W>, key: &str) -> Notice {
    let note = format!("the BOSHDeployment '{}' that {key} names exists now", one.deployment);
    Notice::normal(FOUND_REASON, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(what: usize) -> Naming<usize> {
        Naming {
            namespace: "n".into(),
            deployment: "d".into(),
            what,
        }
    }

    fn one() -> BTreeSet<Naming<usize>> {
        [naming(1)].into()
    }

    #[test]
    fn an_object_is_reported_once_an_hour_and_when_its_deployment_exists() {
        let mut orphans = Orphans { all: BTreeMap::new() };
        let mut reported = 0;
        for _ in 0..=CHECKS_UNTIL_REPEAT + 4 {
            for due in orphans.check(one(), |_| false).unknown {
                orphans.mark_reported(&due);
                reported += 1;
            }
        }
        assert_eq!(reported, 2);
        let due = orphans.check(one(), |_| true);
        assert_eq!((due.unknown.len(), due.found.len()), (0, 1));
        let due = orphans.check(one(), |_| true);
        assert_eq!((due.unknown.len(), due.found.len()), (0, 0));
        assert!(orphans.all.is_empty());
    }

    #[test]
    fn an_object_that_comes_before_its_deployment_is_not_reported() {
        let mut orphans = Orphans { all: BTreeMap::new() };
        assert!(orphans.check(one(), |_| false).unknown.is_empty());
        let due = orphans.check(one(), |_| true);
        assert!(due.unknown.is_empty() && due.found.is_empty() && orphans.all.is_empty());
        assert!(orphans.check(one(), |_| false).unknown.is_empty());
        orphans.check(BTreeSet::new(), |_| false);
        assert!(orphans.all.is_empty(), "a deleted object is forgotten");
    }

    #[test]
    fn of_many_objects_all_are_reported_a_few_at_a_time() {
        let many: BTreeSet<_> = (0..100).map(naming).collect();
        let mut orphans = Orphans { all: BTreeMap::new() };
        let mut checks = Vec::new();
        for _ in 0..6 {
            let due = orphans.check(many.clone(), |_| false).unknown;
            due.iter().for_each(|one| orphans.mark_reported(one));
            checks.push(due.len());
        }
        assert_eq!(checks, [0, 32, 32, 32, 4, 0]);
        let found: Vec<usize> = (0..5)
            .map(|_| orphans.check(many.clone(), |_| true).found.len())
            .collect();
        assert_eq!(found, [32, 32, 32, 4, 0]);
    }

    #[test]
    fn a_label_names_a_deployment_as_far_as_labels_can() {
        assert!(is_named("my_dep", "my_dep") && is_named("my_dep", "my-dep"));
        assert!(!is_named("my_dep", "dep"));
    }
}

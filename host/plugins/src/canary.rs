//! A canary: a second version of a plugin, which some of the deployments use in place of the first, until conversions
//! of too many of them fail because of it. Pure.

use boson_cluster::client::NamespacedName;
use boson_cluster::objects;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Most deployments whose results are kept; a canary does not count others.
pub const MAX_COUNTED_DEPLOYMENTS: usize = 10_000;
/// Digits of a digest that choose the deployments of a percentage: as many as fit into a number.
const NUMBER_DIGITS: usize = 15;

/// Which deployments use a version, and when it is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canary {
    /// Share of the deployments that use it.
    pub percent: u64,
    /// Names of deployments that use it, too.
    pub deployments: Vec<String>,
    /// The share of these deployments whose conversion may fail because of it.
    pub max_failed_percent: u64,
    /// So many of them have to be converted before it is stopped.
    pub min_deployments: usize,
}

/// The last result of each deployment that a canary has converted: why that failed, if the canary was the cause.
#[derive(Debug, Default)]
pub struct Trial(Mutex<BTreeMap<NamespacedName, Option<String>>>);

// === impl Canary ===

impl Canary {
    /// Whether this deployment uses it. A higher percentage only adds deployments, because each has a fixed number.
    pub fn holds(&self, namespace: &str, deployment: &str) -> bool {
        self.deployments.iter().any(|one| one == deployment) || number(namespace, deployment) < self.percent
    }
}

// === impl Trial ===

impl Trial {
    /// Records the result of a conversion: only the last one of a deployment counts, because a failed one is repeated.
    pub fn note(&self, deployment: NamespacedName, failure: Option<String>) {
        let mut results = self.0.lock();
        if results.len() < MAX_COUNTED_DEPLOYMENTS || results.contains_key(&deployment) {
            results.insert(deployment, failure);
        }
    }

    /// Why the canary has to be stopped; none: it may be used.
    pub fn verdict(&self, canary: &Canary) -> Option<String> {
        let (results, most) = (self.0.lock(), canary.max_failed_percent);
        let failed: Vec<&str> = results.values().filter_map(Option::as_deref).collect();
        let (failures, all) = (failed.len() as u64, results.len() as u64);
        let is_known = results.len() >= canary.min_deployments;
        (is_known && failures * 100 > most * all).then(|| {
            // No names: the reason is shown in other namespaces, too.
            let reason = failed.last().copied().unwrap_or_default();
            format!("conversions of {failures} of {all} deployments failed because of it, more than {most} %: {reason}")
        })
    }
}

/// The number of a deployment from 0 to 99.
fn number(namespace: &str, deployment: &str) -> u64 {
    let digest = objects::digest(&serde_json::json!([namespace, deployment]));
    let digits = digest.get(..NUMBER_DIGITS).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or_default() % 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn canary(percent: u64) -> Canary {
        Canary {
            percent,
            deployments: Vec::new(),
            max_failed_percent: 0,
            min_deployments: 1,
        }
    }

    fn chosen(canary: &Canary) -> BTreeSet<String> {
        let names = (0..1000).map(|nth| format!("deployment-{nth}"));
        names.filter(|name| canary.holds("here", name)).collect()
    }

    #[test]
    fn a_higher_percentage_only_adds_deployments() {
        let mut before = BTreeSet::new();
        for percent in 0..=100 {
            let now = chosen(&canary(percent));
            assert!(before.is_subset(&now), "{percent} %");
            let wanted = usize::try_from(percent).unwrap() * 10;
            assert!(now.len().abs_diff(wanted) <= 50, "{percent} %: {}", now.len());
            before = now;
        }
        assert!(chosen(&canary(0)).is_empty());
        assert_eq!(before.len(), 1000);
    }

    #[test]
    fn the_choice_is_the_same_in_every_version_of_the_operator() {
        let numbers = ["nats", "cf", "postgres"].map(|name| number("here", name));
        assert_eq!(numbers, [19, 69, 78]);
        assert_ne!(number("here", "nats"), number("there", "nats"));
        let named = Canary {
            deployments: vec!["nats".into()],
            ..canary(0)
        };
        assert!(named.holds("here", "nats") && named.holds("there", "nats") && !named.holds("here", "cf"));
    }

    #[test]
    fn a_canary_is_stopped_by_the_share_of_deployments_that_fail_last() {
        let key = |name: u32| ("here".to_string(), name.to_string());
        for (max, min, failed, all, is_stopped) in [
            (0, 1, 0, 0, false),
            (0, 1, 0, 5, false),
            (0, 1, 1, 1, true),
            (0, 2, 1, 1, false),
            (0, 3, 1, 3, true),
            (50, 1, 1, 2, false),
            (50, 1, 2, 3, true),
            (100, 1, 3, 3, false),
        ] {
            let canary = Canary {
                max_failed_percent: max,
                min_deployments: min,
                ..canary(10)
            };
            let trial = Trial::default();
            for nth in 0..all {
                trial.note(key(nth), (nth < failed).then(|| "PluginTrapped".to_string()));
            }
            let verdict = trial.verdict(&canary);
            assert_eq!(
                verdict.is_some(),
                is_stopped,
                "{max} {min} {failed} of {all}: {verdict:?}"
            );
        }
        let trial = Trial::default();
        for _ in 0..9 {
            trial.note(key(1), Some("PluginTrapped".into()));
        }
        trial.note(key(2), None);
        let strict = Canary {
            max_failed_percent: 50,
            ..canary(10)
        };
        assert_eq!(trial.verdict(&strict), None, "repetitions of one deployment count once");
        let words = "conversions of 1 of 2 deployments failed because of it, more than 0 %: PluginTrapped";
        assert_eq!(trial.verdict(&canary(10)).unwrap(), words);
        trial.note(key(1), None);
        assert_eq!(trial.verdict(&canary(10)), None, "it succeeds now");
    }

    #[test]
    fn the_number_of_results_is_limited() {
        let trial = Trial::default();
        for nth in 0..=MAX_COUNTED_DEPLOYMENTS {
            trial.note(("here".into(), nth.to_string()), None);
        }
        assert_eq!(trial.0.lock().len(), MAX_COUNTED_DEPLOYMENTS);
    }
}

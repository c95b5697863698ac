//! The plugins that failed in the last conversion of each deployment: checks that were skipped, and plugins that
//! stopped it. They stay in its condition until it is converted again.

use super::Key;
use boson_plugins::PluginProblem;
use parking_lot::Mutex;
use std::collections::HashMap;

/// The failures, by deployment.
#[derive(Debug, Default)]
pub struct FailedPlugins {
    all: Mutex<HashMap<Key, Vec<PluginProblem>>>,
}

// === impl FailedPlugins ===

impl FailedPlugins {
    /// What has failed now.
    pub fn remember(&self, key: &Key, failed: Vec<PluginProblem>) {
        let mut all = self.all.lock();
        if failed.is_empty() {
            all.remove(key);
        } else {
            all.insert(key.clone(), failed);
        }
    }

    /// These problems, and those of the plugins that failed last.
    pub fn with(&self, key: &Key, mut plugin_problems: Vec<PluginProblem>) -> Vec<PluginProblem> {
        let all = self.all.lock();
        plugin_problems.extend(all.get(key).into_iter().flatten().cloned());
        plugin_problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_a_fault_until_the_next_conversion() {
        let problem = |reason: &str| PluginProblem {
            reason: reason.into(),
            message: "no".into(),
        };
        let (failed, key) = (FailedPlugins::default(), ("n".to_string(), "d".to_string()));
        failed.remember(&key, vec![problem("PluginTrapped")]);
        let refused = vec![problem("PluginRefused")];
        let both = [problem("PluginRefused"), problem("PluginTrapped")];
        assert_eq!(failed.with(&key, refused.clone()), both);
        assert_eq!(failed.with(&("n".into(), "e".into()), refused.clone()), refused);
        failed.remember(&key, Vec::new());
        assert_eq!(failed.with(&key, refused.clone()), refused);
    }
}

//! The checks that failed and were skipped at the last conversion of each deployment: they stay in its condition until
//! it is converted again.

use super::Key;
use crate::plugins::Fault;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The checks, by deployment.
#[derive(Debug, Default)]
pub struct SkippedChecks {
    all: Mutex<HashMap<Key, Vec<Fault>>>,
}

// === impl SkippedChecks ===

impl SkippedChecks {
    /// What was skipped now.
    pub fn remember(&self, key: &Key, skipped: Vec<Fault>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        match skipped.is_empty() {
            true => drop(all.remove(key)),
            false => drop(all.insert(key.clone(), skipped)),
        }
    }

    /// These faults, and those of the checks that were skipped last.
    pub fn with(&self, key: &Key, mut faults: Vec<Fault>) -> Vec<Fault> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        faults.extend(all.get(key).into_iter().flatten().cloned());
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_check_is_a_fault_until_the_next_conversion() {
        let fault = |reason: &str| Fault {
            reason: reason.into(),
            message: "no".into(),
        };
        let (skipped, key) = (SkippedChecks::default(), ("n".to_string(), "d".to_string()));
        skipped.remember(&key, vec![fault("PluginTrapped")]);
        let refused = vec![fault("PluginRefused")];
        let both = [fault("PluginRefused"), fault("PluginTrapped")];
        assert_eq!(skipped.with(&key, refused.clone()), both);
        assert_eq!(skipped.with(&("n".into(), "e".into()), refused.clone()), refused);
        skipped.remember(&key, Vec::new());
        assert_eq!(skipped.with(&key, refused.clone()), refused);
    }
}

//! A value for each deployment. One that is the default takes no memory.

use boson_cluster::client::NamespacedName;
use parking_lot::Mutex;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct ByDeployment<T> {
    pub(super) all: Mutex<HashMap<NamespacedName, T>>,
}

// === impl ByDeployment ===

impl<T: Clone + Default + PartialEq> ByDeployment<T> {
    /// Returns the value before.
    pub fn set(&self, key: &NamespacedName, value: T) -> T {
        let mut all = self.all.lock();
        let before = if value == T::default() {
            all.remove(key)
        } else {
            all.insert(key.clone(), value)
        };
        before.unwrap_or_default()
    }

    pub fn of(&self, key: &NamespacedName) -> T {
        self.all.lock().get(key).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_deployment_has_its_own_value_until_it_is_the_default_again() {
        let (postponed, key) = (ByDeployment::default(), ("n".to_string(), "d".to_string()));
        postponed.set(&key, true);
        assert!(postponed.of(&key) && !postponed.of(&("n".into(), "e".into())));
        postponed.set(&key, false);
        assert!(!postponed.of(&key) && postponed.all.lock().is_empty());
    }
}

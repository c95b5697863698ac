//! The instances that `--instance` selects: `GROUP`, `GROUP/INDEX` or `GROUP/first`.

use crate::selection::{Selection, SelectionError};
use boson_look::instances::Instance;
use std::fmt;
use std::str::FromStr;

/// BOSH's word for one instance of a group.
const FIRST_SUFFIX: &str = "/first";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    selection: Selection,
    first: bool,
}

// === impl Selected ===

impl Selected {
    /// Whether the only instance of an errand is one of them.
    pub fn selects_errand(&self, group: &str) -> bool {
        self.selection.selects(group, Some(0))
    }

    /// Those of these instances.
    ///
    /// # Errors
    /// No instance is selected.
    pub fn of(&self, instances: &[Instance]) -> Result<Vec<Instance>, SelectionError> {
        let mut found = self.selection.of(instances.to_vec())?;
        if self.first {
            found.truncate(1);
        }
        Ok(found)
    }
}

impl FromStr for Selected {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let group = text.strip_suffix(FIRST_SUFFIX);
        Ok(Self {
            selection: group.unwrap_or(text).parse()?,
            first: group.is_some(),
        })
    }
}

impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.selection, if self.first { FIRST_SUFFIX } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_instance_of_a_group_can_be_selected() {
        let instance = |index: usize| Instance {
            group: "web".into(),
            index: Some(index),
            az: String::new(),
            pod: None,
        };
        let all = [instance(0), instance(1)];
        let selected = |text: &str| -> Vec<String> {
            let selected: Selected = text.parse().unwrap();
            assert_eq!(selected.to_string(), text);
            let found = selected.of(&all).unwrap();
            found.iter().map(ToString::to_string).collect()
        };
        assert_eq!(selected("web"), ["web/0", "web/1"]);
        assert_eq!(selected("web/1"), ["web/1"]);
        assert_eq!(selected("web/first"), ["web/0"]);
        let errand: Selected = "web/first".parse().unwrap();
        assert!(errand.selects_errand("web") && !errand.selects_errand("smoke"));
    }
}

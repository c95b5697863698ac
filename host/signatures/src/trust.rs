//! Who may sign plugins.

use crate::key::Keys;
use crate::keyless::Identities;

/// Who may sign plugins. Each of the keys and identities counts.
#[derive(Debug, Default)]
pub struct Trust {
    pub keys: Keys,
    /// Those of keyless signatures.
    pub identities: Option<Identities>,
}

// === impl Trust ===

impl Trust {
    /// Whether nobody is trusted.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.identities.is_none()
    }
}

//! Why a value is generated.

use serde::Serialize;

/// Why a value is generated. Metrics have its name in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    Absent,
    Rotation,
    /// Type or options have changed.
    Request,
    /// The CA or the names of Services have changed: sign again, for the same key.
    Signature,
    /// The certificate will expire: renew it, for the same key.
    Expiry,
    Source,
}

// === impl Cause ===

impl Cause {
    pub fn keeps_key(self) -> bool {
        matches!(self, Self::Signature | Self::Expiry)
    }
}

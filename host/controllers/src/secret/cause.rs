//! Why a value is generated, and why it cannot be.

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

/// Why no value can be generated.
pub struct Problem {
    /// One word.
    pub reason: &'static str,
    /// A sentence, without values.
    pub message: String,
}

// === impl Cause ===

impl Cause {
    pub fn keeps_key(self) -> bool {
        matches!(self, Self::Signature | Self::Expiry)
    }
}

// === impl Problem ===

impl Problem {
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { reason, message }
    }

    /// A defect of the operator.
    pub fn defect(error: impl ToString) -> Self {
        Self::new("Defect", error.to_string())
    }

    /// The request itself is wrong.
    pub fn bad_request(message: &str) -> Self {
        Self::new("BadRequest", message)
    }

    /// Something is missing that may come.
    pub fn waiting(message: impl Into<String>) -> Self {
        Self::new("Waiting", message)
    }
}

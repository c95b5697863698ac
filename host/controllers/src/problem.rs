//! What a user has to resolve, as a condition reports it.

pub(crate) struct Problem {
    /// One word.
    pub reason: &'static str,
    /// A sentence, without secret values.
    pub message: String,
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

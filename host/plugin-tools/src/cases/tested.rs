//! Results of cases.

use boson_sandbox::Measures;

pub struct Tested {
    pub name: String,
    pub measures: Measures,
    pub outcome: Outcome,
}

// === impl Tested ===

impl Tested {
    /// It has passed, or there are errors.
    pub fn of(name: String, measures: Measures, errors: Vec<String>) -> Self {
        Self {
            name,
            measures,
            outcome: if errors.is_empty() {
                Outcome::Passed
            } else {
                Outcome::Failed(errors)
            },
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply is the expected one.
    Passed,
    /// The reply was written as the expected one.
    Updated,
    /// The lines say why.
    Failed(Vec<String>),
}

//! Results of cases.

use boson_sandbox::Measures;

/// The result of a case.
pub struct Tested {
    /// The name of the case.
    pub name: String,
    /// What the call used.
    pub measures: Measures,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a case ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply is the expected one.
    Passed,
    /// The reply was written as the expected one.
    Updated,
    /// The lines say why.
    Failed(Vec<String>),
}

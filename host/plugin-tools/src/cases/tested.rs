//! Results of cases.

use boson_sandbox::Measures;

pub struct Tested {
    pub name: String,
    pub measures: Measures,
    pub outcome: Outcome,
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

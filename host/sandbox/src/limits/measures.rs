//! What a call has used.

use std::time::Duration;

/// Resources used by a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measures {
    /// Units of fuel.
    pub fuel: u64,
    /// Bytes of linear memory at most.
    pub memory: usize,
    /// Wall clock, instantiation included.
    pub elapsed: Duration,
}

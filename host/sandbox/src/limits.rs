//! What one call of a plugin may use. One struct, each number with its unit and its reason.

use std::time::Duration;

/// Bounds of one call.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Units of fuel, about one WebAssembly instruction each. The rule: the same input fails the same way on every machine. A heavy template
    /// takes 2e7; the largest job known (50 templates) stays under 1e9.
    pub fuel: u64,
    /// Units of fuel of all calls of one conversion. A hundred times what one call may use.
    pub conversion_fuel: u64,
    /// Wall clock. The fence, in case that fuel does not see it: well above what `fuel` takes on a slow machine.
    pub deadline: Duration,
    /// Bytes, summed over all linear memories; less where the budget of the process is small. CRuby with its libraries and room for a call starts at 90 MiB; a 32 MiB manifest grows about eightfold as a tree.
    pub memory: usize,
    /// Bytes that a plugin may hand back in one call. A manifest is at most 32 MiB, and replies hold little more than one.
    pub output: usize,
    /// Elements of one table. CRuby has 52,000.
    pub table_elements: usize,
    /// Bytes of WebAssembly stack. CRuby's parser recurses; Ruby itself raises SystemStackError well before.
    pub stack: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 10_000_000_000,
            conversion_fuel: 1_000_000_000_000,
            deadline: Duration::from_secs(60),
            memory: 512 << 20,
            output: 64 << 20,
            table_elements: 60_000,
            stack: 1 << 20,
        }
    }
}

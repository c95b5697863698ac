//! Limits of calls, and what calls use of them.

pub(crate) mod account;
pub(crate) mod call_state;
pub(crate) mod measures;

use std::time::Duration;

/// Wrappers around a rule.
pub(crate) const MAX_WRAPPERS: u32 = 3;

/// Each number with its unit and its reason.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Units of fuel, about one WebAssembly instruction each. The rule: the same input fails the same way on every
    /// machine. A heavy template takes 2e7; the largest job known (50 templates) stays under 1e9.
    pub fuel: u64,
    /// Units of fuel of all calls of one conversion. A hundred times what one call may use.
    pub conversion_fuel: u64,
    /// Wall clock, for code that fuel does not count: well above the time of `fuel` on a slow machine.
    pub deadline: Duration,
    /// Bytes, summed over all linear memories; less where the budget of the process is small. CRuby with its libraries
    /// and room for a call starts at 90 MiB; a 32 MiB manifest grows about eightfold as a tree.
    pub memory: usize,
    /// Bytes that a plugin may hand back in one call. A manifest is at most 32 MiB, and replies hold little more than
    /// one.
    pub output: usize,
    /// Elements of one table. CRuby has 52,000.
    pub table_elements: usize,
    /// Core instances of a component. A component made by componentize-py has 38.
    pub core_instances: u32,
    /// Linear memories of a component. A component that is composed of several has one for each; QuickJS needs three.
    pub memories: u32,
    /// Tables of a component: for each memory its own, and those of the modules that wit-component puts in front of
    /// imports and between libraries.
    pub tables: u32,
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
            core_instances: 64,
            memories: 3,
            tables: 12,
            stack: 1 << 20,
        }
    }
}

/// The limit on a component's parts that an error of the engine is about, as a sentence. The engine has no type for
/// these errors, and each allocator has its own texts; with this, the same component fails with the same message in
/// both.
pub(crate) fn exceeded_limit(limits: &Limits, error: &wasmtime::Error) -> Option<String> {
    let text = format!("{error:#}");
    let counts = [
        (
            ["core module instances", "instance count too high"],
            limits.core_instances,
            "core instances",
        ),
        (
            ["linear memories", "memory count too high"],
            limits.memories,
            "memories",
        ),
        (
            ["tables, which exceeds", "table count too high"],
            limits.tables,
            "tables",
        ),
    ];
    let is_exceeded = |words: &[&str; 2]| words.iter().any(|words| text.contains(words));
    let (_, limit, parts) = counts.into_iter().find(|(words, ..)| is_exceeded(words))?;
    Some(format!("has more than {limit} {parts}"))
}

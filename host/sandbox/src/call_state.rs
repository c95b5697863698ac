//! What the store of a call carries, and how it limits the memory of the call.

use crate::limits::Limits;
use boson_budget::Share;
use std::fmt;
use std::sync::Arc;
use wasmtime::ResourceLimiter;

/// Bytes by which a share grows, if possible: requests for single pages would be thousands.
const STEP: u64 = 8 << 20;

/// What the store of a call carries: its limits, the memory it has, and what the budget gave it.
pub(crate) struct CallState {
    pub limits: Arc<Limits>,
    /// Bytes of all memories together.
    pub memory: usize,
    /// Bytes that it may have: its own limit, or less in a small container.
    pub memory_limit: usize,
    pub share: Share,
}

/// Raised from the limiter, so that a call ends at a request for too much memory instead of handling the failure
/// itself.
#[derive(Debug)]
pub(crate) struct TooMuch(pub &'static str);

/// Raised from the limiter if other calls hold the memory that this call needs.
#[derive(Debug)]
pub(crate) struct Crowded;

// === impl TooMuch ===

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asked for more {} than it may have", self.0)
    }
}

impl std::error::Error for TooMuch {}

// === impl Crowded ===

impl fmt::Display for Crowded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("others hold the memory")
    }
}

impl std::error::Error for Crowded {}

// === impl CallState ===

impl CallState {
    /// Reserves so many bytes in the budget.
    fn cover(&mut self, total: usize) -> bool {
        let total = total as u64;
        match total.checked_sub(self.share.bytes()) {
            None | Some(0) => true,
            Some(more) => {
                let room = (self.memory_limit as u64).saturating_sub(self.share.bytes());
                self.share.grow(more.max(STEP).min(room)) || self.share.grow(more)
            }
        }
    }
}

impl ResourceLimiter for CallState {
    /// Sums over all memories; wasmtime's own limiter bounds each alone.
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.memory_limit {
            return Err(TooMuch("memory").into());
        }
        if !self.cover(total) {
            return Err(Crowded.into());
        }
        self.memory = total;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.limits.table_elements {
            Err(TooMuch("table elements").into())
        } else {
            Ok(true)
        }
    }

    fn instances(&self) -> usize {
        count(self.limits.core_instances)
    }

    fn tables(&self) -> usize {
        count(self.limits.tables)
    }

    fn memories(&self) -> usize {
        count(self.limits.memories)
    }
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

//! What the store of a call carries, and how it limits the memory of the call.

use crate::limits::Limits;
use boson_budget::Share;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::ResourceLimiter;
use wasmtime::component::Val;

/// Bytes by which a share grows, if possible: requests for single pages would be thousands.
const SHARE_STEP_BYTES: u64 = 8 << 20;

/// What the store of a call carries: its limits, the memory it has, and what the budget gave it.
pub(crate) struct CallState {
    pub limits: Arc<Limits>,
    /// Bytes of all memories together, also those of the callers of a rule that is wrapped.
    pub memory: usize,
    /// Bytes of all memories together at most so far, also those of calls of the rule below.
    pub peak: usize,
    /// Bytes that it may have: its own limit, or less in a small container.
    pub memory_limit: usize,
    /// `None` while the rule below uses it.
    pub share: Option<Share>,
    /// When the call must have ended.
    pub ends: Instant,
    /// The rule that a wrapper calls.
    pub below: Option<Arc<dyn Below>>,
    /// Calls of that rule so far.
    pub calls_below: u32,
    /// Units of fuel that they used.
    pub fuel_below: u64,
    /// What the instance has printed so far, without what is over the limit.
    pub printed: Vec<u8>,
}

/// A call of an instance that has ended.
pub(crate) struct EndedCall<T> {
    pub result: wasmtime::Result<T>,
    /// Units of fuel that the instance itself has used.
    pub fuel: u64,
    pub state: CallState,
}

/// The rule that a wrapper calls.
pub(crate) trait Below: Send + Sync {
    /// Calls a function of the rule, within the call of the wrapper that has this state.
    fn call(&self, caller: &mut CallState, function: &str, arguments: &[Val]) -> wasmtime::Result<Val>;
}

/// Raised from the limiter, so that a call ends at a request for too much memory instead of handling the failure
/// itself.
#[derive(Debug, thiserror::Error)]
#[error("asked for more {0} than it may have")]
pub(crate) struct OverLimitError(pub &'static str);

/// Raised from the limiter if other calls hold the memory that this call needs.
#[derive(Debug, thiserror::Error)]
#[error("others hold the memory")]
pub(crate) struct MemoryHeldError;

// === impl CallState ===

impl CallState {
    /// Reserves so many bytes in the budget.
    fn reserve(&mut self, total: usize) -> bool {
        let total = total as u64;
        let Some(share) = &mut self.share else { return false };
        match total.checked_sub(share.bytes()) {
            None | Some(0) => true,
            Some(more) => {
                let room = (self.memory_limit as u64).saturating_sub(share.bytes());
                share.grow(more.max(SHARE_STEP_BYTES).min(room)) || share.grow(more)
            }
        }
    }
}

impl ResourceLimiter for CallState {
    /// Sums over all memories; wasmtime's own limiter bounds each alone.
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.memory_limit {
            return Err(OverLimitError("memory").into());
        }
        if !self.reserve(total) {
            return Err(MemoryHeldError.into());
        }
        self.memory = total;
        self.peak = self.peak.max(total);
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.limits.table_elements {
            Err(OverLimitError("table elements").into())
        } else {
            Ok(true)
        }
    }

    fn instances(&self) -> usize {
        self.limits.core_instances as usize
    }

    fn tables(&self) -> usize {
        self.limits.tables as usize
    }

    fn memories(&self) -> usize {
        self.limits.memories as usize
    }
}

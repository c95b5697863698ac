//! How a budget is divided. One table; every number follows from the memory of the process.

use crate::class::Class;

pub(crate) const MIB: u64 = 1 << 20;

/// Memory of one call of a plugin if several namespaces share the budget and it is large enough.
const CALL_BYTES: u64 = 512 * MIB;
/// Memory reserved for other uses during a compilation.
const RESERVED_BYTES: u64 = 256 * MIB;
/// The assumed minimum of a process: with less, no plugin would run.
const MIN_PROCESS_BYTES: u64 = 256 * MIB;
/// Calls at a time, at most: the sandbox reserves address space for as many.
const MAX_PLACES: u32 = 16;

/// Who shares the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// One user, who may have all of it.
    One,
    /// Namespaces, none of which may have more than half of anything.
    Namespaces,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// All of it, in bytes.
    pub bytes: u64,
    /// Calls at a time.
    pub places: u32,
    pub sharing: Sharing,
}

// === impl Plan ===

impl Plan {
    /// Plans the budget of a process that may use `memory` bytes on a machine with this many `cores`.
    ///
    /// Three eighths stay outside: the operator's own objects, the pages that plugins keep (128 MiB), and freed memory
    /// that is not returned to the system yet.
    pub fn new(memory: u64, cores: usize, sharing: Sharing) -> Self {
        let cores = u32::try_from(cores).unwrap_or(MAX_PLACES);
        Self {
            bytes: memory.max(MIN_PROCESS_BYTES) / 8 * 5,
            // Twice the cores, so that half of the places keeps all cores busy, and two namespaces get one half each.
            places: match sharing {
                Sharing::One => MAX_PLACES,
                Sharing::Namespaces => cores.saturating_mul(2).clamp(4, MAX_PLACES),
            },
            sharing,
        }
    }

    /// Bytes that a class may hold, all holders together.
    pub fn limit(&self, class: Class) -> u64 {
        let percent = |percent: u64| self.bytes / 100 * percent;
        match class {
            Class::Reading => percent(5),
            Class::Documents => percent(35),
            Class::Releases => percent(15),
            Class::Code => percent(5),
            Class::Compiling => self.bytes.saturating_sub(RESERVED_BYTES).max(self.bytes / 2),
            Class::Call => self.bytes,
        }
    }

    /// Bytes of a class that one holder may have.
    pub fn holder_limit(&self, class: Class) -> u64 {
        let most = self.limit(class);
        match (self.sharing, class) {
            // One compilation at a time is as large as it is.
            (Sharing::One, _) | (_, Class::Compiling) => most,
            (Sharing::Namespaces, Class::Call) => (most / 2).max(self.largest_call()),
            (Sharing::Namespaces, _) => most / 2,
        }
    }

    /// Calls that one holder may have at a time.
    pub fn places_of_one(&self) -> u32 {
        match self.sharing {
            Sharing::One => self.places,
            Sharing::Namespaces => (self.places / 2).max(1),
        }
    }

    /// The largest call that can always run eventually: the minimum that documents, releases and machine code leave.
    pub fn largest_call(&self) -> u64 {
        let firm = [Class::Reading, Class::Documents, Class::Releases, Class::Code].map(|class| self.limit(class));
        match self.sharing {
            Sharing::One => self.bytes,
            Sharing::Namespaces => CALL_BYTES.min(self.bytes - firm.iter().sum::<u64>()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_of_two_gibibytes_has_room_for_the_largest_call_of_two_namespaces() {
        let plan = Plan::new(2 << 30, 2, Sharing::Namespaces);
        assert_eq!(plan.bytes, 1280 * MIB);
        assert_eq!(plan.largest_call(), CALL_BYTES);
        assert!(plan.holder_limit(Class::Call) >= CALL_BYTES);
        assert_eq!((plan.places, plan.places_of_one()), (4, 2));
    }

    #[test]
    fn no_class_takes_what_a_call_needs() {
        for memory in [0, 1, 64 * MIB, 512 * MIB, 1 << 30, 2 << 30, 64 << 30, u64::MAX] {
            for sharing in [Sharing::One, Sharing::Namespaces] {
                let plan = Plan::new(memory, 4, sharing);
                let firm: u64 = [Class::Reading, Class::Documents, Class::Releases, Class::Code]
                    .map(|class| plan.limit(class))
                    .iter()
                    .sum();
                if sharing == Sharing::Namespaces {
                    assert!(firm + plan.largest_call() <= plan.bytes, "{memory}");
                }
                assert!(plan.largest_call() <= plan.holder_limit(Class::Call), "{memory}");
                assert!(plan.limit(Class::Compiling) <= plan.bytes, "{memory}");
            }
        }
    }

    #[test]
    fn a_command_has_all_for_itself() {
        let plan = Plan::new(1 << 30, 2, Sharing::One);
        assert_eq!((plan.places_of_one(), plan.largest_call()), (16, plan.bytes));
        assert_eq!(plan.holder_limit(Class::Call), plan.bytes);
    }
}

//! Numbers for tests with random inputs: the same seed always gives the same ones.

use std::ops::Range;

/// A generator of numbers: xorshift64*.
#[derive(Debug)]
pub struct Random(u64);

// === impl Random ===

impl Random {
    /// From this seed; neighbors give different numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below the limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    /// One of these.
    pub fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

/// The seeds of a run: those of `BOSON_FUZZ=1000..2000`, or else the first ones.
///
/// # Panics
/// The variable is no range.
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub fn seeds(first: Range<u64>) -> Range<u64> {
    let Ok(given) = std::env::var("BOSON_FUZZ") else {
        return first;
    };
    let (from, to) = given.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

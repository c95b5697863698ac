//! The memory limit of this process: its container's, or the user's.

use boson_budget::{Budget, Class, container};
use std::str::FromStr;

/// An amount of memory, written as Kubernetes writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(u64);

/// Units, as of Kubernetes' quantities, in bytes.
const UNITS: [(&str, u64); 8] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

/// Bytes that this process may take: those given, or the limit of its container, or half of the machine's.
pub fn or_found(given: Option<Memory>) -> u64 {
    given.map_or_else(container::memory, |memory| memory.0)
}

/// Bytes that the files which are given to a command may take together, as documents.
pub fn of_documents(given: Option<Memory>) -> u64 {
    Budget::of_one(or_found(given)).holder_limit(Class::Documents)
}

// === impl Memory ===

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = UNITS.into_iter().find(|(unit, _)| text.ends_with(unit));
        let (unit, bytes) = unit.unwrap_or(("", 1));
        let number = text.strip_suffix(unit).unwrap_or(text);
        let number: Option<u64> = number.parse().ok();
        let bytes = number
            .and_then(|number| number.checked_mul(bytes))
            .filter(|bytes| *bytes > 0);
        bytes
            .map(Self)
            .ok_or("expected a number of bytes, or a number with a unit: 2Gi, 1536Mi".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_kubernetes_writes_them() {
        for (text, bytes) in [
            ("2Gi", 2 << 30),
            ("1536Mi", 1536 << 20),
            ("500M", 500_000_000),
            ("4096", 4096),
        ] {
            assert_eq!(text.parse(), Ok(Memory(bytes)), "{text}");
        }
        for text in ["", "Gi", "2gb", "-1Gi", "0", "1.5Gi", "99999999999Ti"] {
            assert!(text.parse::<Memory>().is_err(), "{text}");
        }
        assert_eq!(or_found(Some(Memory(7))), 7);
        assert!(or_found(None) > 0);
    }
}

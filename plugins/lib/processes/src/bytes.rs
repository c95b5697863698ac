//! Amounts of memory by BPM's units, and as Kubernetes quantities.

/// BPM's words for a text that is no amount.
pub const BAD_AMOUNT: &str =
    "byte quantity must be a positive integer with a unit of measurement like M, MB, MiB, G, GiB, or GB";

/// Bytes of an amount as BPM reads it: a number and a mandatory unit, all units powers of 1024.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let split = text.find(|c: char| c.is_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let power = match unit {
        "B" => 0,
        "K" | "KB" | "KIB" => 1,
        "M" | "MB" | "MIB" => 2,
        "G" | "GB" | "GIB" => 3,
        "T" | "TB" | "TIB" => 4,
        "P" | "PB" | "PIB" => 5,
        "E" | "EB" | "EIB" => 6,
        _ => return None,
    };
    let amount: f64 = number.parse().ok()?;
    let bytes = amount * 1024_f64.powi(power);
    // An `as` conversion would quietly give the greatest integer for more than Kubernetes can hold.
    (amount >= 0.0 && bytes < 9_223_372_036_854_775_808.0).then_some(bytes as u64)
}

/// A Kubernetes quantity of bytes: the largest unit that loses nothing.
pub fn quantity(bytes: u64) -> String {
    let units = [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")];
    let fit = units
        .into_iter()
        .find(|(shift, _)| bytes != 0 && bytes.is_multiple_of(1 << shift));
    fit.map_or_else(
        || bytes.to_string(),
        |(shift, unit)| format!("{}{unit}", bytes >> shift),
    )
}

/// Bytes of so many MiB.
pub fn mebibytes(amount: u64) -> u64 {
    amount.saturating_mul(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_by_bpms_units() {
        for (text, bytes) in [
            ("512M", Some(512 << 20)),
            (" 1.5g ", Some(3 << 29)),
            ("1KiB", Some(1024)),
            ("10B", Some(10)),
            ("0M", Some(0)),
            ("1.0009B", Some(1)),
            ("2TB", Some(2 << 40)),
            ("1024", None),
            ("1e3M", None),
            ("-1M", None),
            ("M", None),
            ("", None),
            ("9E", None),
            ("7E", Some(7 << 60)),
            ("12 M", None),
            ("5X", None),
        ] {
            assert_eq!(parse(text), bytes, "{text:?}");
        }
    }

    #[test]
    fn quantities_lose_nothing() {
        for (bytes, text) in [
            (512 << 20, "512Mi"),
            (1 << 30, "1Gi"),
            (1000, "1000"),
            (0, "0"),
            (1536, "1536"),
            (3 << 10, "3Ki"),
        ] {
            assert_eq!(quantity(bytes), text);
        }
    }
}

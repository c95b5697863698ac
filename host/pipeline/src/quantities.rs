//! Quantities of Kubernetes, such as `1Gi`.

/// In bytes.
pub const MIB: u64 = 1 << 20;

/// A quantity in thousandths.
pub fn quantity(text: &str) -> Option<i128> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: i128 = match unit {
        "m" => 1,
        "" => 1_000,
        "k" => 1_000_000,
        "M" => 1_000_000_000,
        "G" => 1_000_000_000_000,
        "T" => 1_000_000_000_000_000,
        "Ki" => 1_000 << 10,
        "Mi" => 1_000 << 20,
        "Gi" => 1_000 << 30,
        "Ti" => 1_000 << 40,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 9 {
        return None;
    }
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    Some(mantissa.checked_mul(factor)? / scale)
}

//! Times in options, as kubectl takes them.

use std::time::Duration;

/// `30d`, `1h30m`, `90s`, `500ms`, or seconds.
///
/// # Errors
/// It has another form.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 90s, 5m or 1h30m".to_string();
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let (mut total, mut rest) = (Duration::ZERO, text);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = rest.split_at(digits);
        let number: u32 = number.parse().map_err(|_| wrong())?;
        let units = [
            ("ms", 1_u64),
            ("s", 1_000),
            ("m", 60_000),
            ("h", 3_600_000),
            ("d", 86_400_000),
        ];
        let found = units
            .iter()
            .find_map(|(name, millis)| Some((unit.strip_prefix(name)?, millis)));
        let (after, millis) = found.ok_or_else(wrong)?;
        total = total.saturating_add(Duration::from_millis(*millis).saturating_mul(number));
        rest = after;
    }
    (!text.is_empty()).then_some(total).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_for_kubectl() {
        for (text, millis) in [
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("30d", 2_592_000_000),
            ("0", 0),
            ("7", 7_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for bad in ["", "s", "5x", "1m-3s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}

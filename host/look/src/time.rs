//! Times as the BOSH CLI prints and reads them.

use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::civil::DateTime;
use k8s_openapi::jiff::tz::TimeZone;

/// `Sat Nov 28 10:00:00 UTC 2026`.
const PRINTED_FORMAT: &str = "%a %b %e %H:%M:%S UTC %Y";
/// `2026-11-28 10:00:00`.
const PLAIN_FORMAT: &str = "%Y-%m-%d %H:%M:%S";

pub fn format(time: Timestamp) -> String {
    time.strftime(PRINTED_FORMAT).to_string()
}

/// A time of an option: without a zone, it is UTC.
///
/// # Errors
/// It has none of the forms.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    let text = text.trim();
    let in_utc = |format: &str| {
        let time = DateTime::strptime(format, text).ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let found = text
        .parse()
        .ok()
        .or_else(|| in_utc(PLAIN_FORMAT))
        .or_else(|| in_utc(PRINTED_FORMAT));
    found.ok_or_else(|| format!("'{text}' is no time, such as '2026-11-28 10:00:00' or 2026-11-28T10:00:00Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_printed() {
        let time: Timestamp = "2026-11-08T10:00:00Z".parse().unwrap();
        assert_eq!(format(time), "Sun Nov  8 10:00:00 UTC 2026");
        let forms = [
            &format(time),
            "2026-11-08 10:00:00",
            "2026-11-08T10:00:00Z",
            "2026-11-08T12:00:00+02:00",
        ];
        for form in forms {
            assert_eq!(parse(form), Ok(time), "{form}");
        }
        assert!(parse("yesterday").is_err());
    }
}

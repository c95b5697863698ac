//! Times as the BOSH CLI prints and reads them.

use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::civil::DateTime;
use k8s_openapi::jiff::tz::TimeZone;

/// `Sat Nov 28 10:00:00 UTC 2026`.
const PRINTED: &str = "%a %b %e %H:%M:%S UTC %Y";
/// `2026-11-28 10:00:00`.
const PLAIN: &str = "%Y-%m-%d %H:%M:%S";

pub fn shown(time: Timestamp) -> String {
    time.strftime(PRINTED).to_string()
}

/// A time of an option: without a zone, it is UTC.
///
/// # Errors
/// It has none of the forms.
pub fn parsed(text: &str) -> Result<Timestamp, String> {
    let text = text.trim();
    let in_utc = |format: &str| {
        let time = DateTime::strptime(format, text).ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let found = text.parse().ok().or_else(|| in_utc(PLAIN)).or_else(|| in_utc(PRINTED));
    found.ok_or_else(|| format!("'{text}' is no time, such as '2026-11-28 10:00:00' or 2026-11-28T10:00:00Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_printed() {
        let time: Timestamp = "2026-11-08T10:00:00Z".parse().unwrap();
        assert_eq!(shown(time), "Sun Nov  8 10:00:00 UTC 2026");
        let forms = [
            &shown(time),
            "2026-11-08 10:00:00",
            "2026-11-08T10:00:00Z",
            "2026-11-08T12:00:00+02:00",
        ];
        for form in forms {
            assert_eq!(parsed(form), Ok(time), "{form}");
        }
        assert!(parsed("yesterday").is_err());
    }
}

//! When to retry a call at once, and when to leave it to the back-off of the object.

use super::ErrorKind;
use std::time::Duration;

const MAX_RETRIES: u32 = 2;
/// Pause before the second try; each further pause is four times as long.
const INITIAL_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Longest pause, even if the server asks for more: an object that waits longer is requeued.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(2);

/// How long to wait before the next try, if there is one. `tries`: those that failed before this one.
///
/// Only a quick answer that the server is busy is retried here. After [`crate::client::ANSWER_TIMEOUT`] without one,
/// the server is in trouble and needs the longer back-off of the object.
pub fn pause(kind: &ErrorKind, tries: u32) -> Option<Duration> {
    let asked = match kind {
        ErrorKind::Busy(asked) => *asked,
        ErrorKind::Connection => None,
        _ => return None,
    };
    let own = INITIAL_RETRY_DELAY * 4_u32.pow(tries.min(MAX_RETRIES));
    (tries < MAX_RETRIES).then(|| asked.unwrap_or(own).min(MAX_RETRY_DELAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_server_is_asked_three_times_within_five_seconds() {
        let pauses: Vec<Duration> = (0..).map_while(|tries| pause(&ErrorKind::Busy(None), tries)).collect();
        assert_eq!(pauses.len(), 2);
        assert!(pauses.iter().sum::<Duration>() < Duration::from_secs(5));
    }

    #[test]
    fn a_server_that_asks_for_an_hour_does_not_hold_the_object() {
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(pause(&ErrorKind::Busy(hour), 0), Some(MAX_RETRY_DELAY));
    }

    #[test]
    fn what_will_not_change_is_not_repeated() {
        for kind in [
            ErrorKind::Conflict,
            ErrorKind::NotFound,
            ErrorKind::AlreadyExists,
            ErrorKind::Forbidden,
            ErrorKind::Refused(None),
            ErrorKind::NoAnswer(Duration::from_secs(10)),
        ] {
            assert_eq!(pause(&kind, 0), None, "{kind:?}");
        }
    }
}

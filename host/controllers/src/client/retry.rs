//! When a call is tried again at once, and when it is left to the object's own back-off.

use super::Fault;
use std::time::Duration;

/// Tries after the first.
const MORE: u32 = 2;
/// Before the second try; it grows fourfold.
const FIRST: Duration = Duration::from_millis(200);
/// Whatever the server asks for: an object that waits longer gives its place to others.
const LONGEST: Duration = Duration::from_secs(2);

/// How long to wait before the next try, if there is one. `tries`: those that failed before this one.
///
/// Only an answer that came at once and said "not now" is worth another try here. After [`super::ANSWER`] without one, the server
/// is in trouble, and the object's back-off, which grows to minutes, is what helps it.
pub fn pause(fault: &Fault, tries: u32) -> Option<Duration> {
    let asked = match fault {
        Fault::Busy(asked) => *asked,
        Fault::Connection => None,
        _ => return None,
    };
    let own = FIRST * 4_u32.pow(tries.min(MORE));
    (tries < MORE).then(|| asked.unwrap_or(own).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_server_is_asked_three_times_within_five_seconds() {
        let pauses: Vec<Duration> = (0..).map_while(|tries| pause(&Fault::Busy(None), tries)).collect();
        assert_eq!(pauses.len(), 2);
        assert!(pauses.iter().sum::<Duration>() < Duration::from_secs(5));
    }

    #[test]
    fn a_server_that_asks_for_an_hour_does_not_hold_the_object() {
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(pause(&Fault::Busy(hour), 0), Some(LONGEST));
    }

    #[test]
    fn what_will_not_change_is_not_repeated() {
        for fault in [
            Fault::Conflict,
            Fault::NotFound,
            Fault::AlreadyExists,
            Fault::Forbidden,
            Fault::Refused(None),
            Fault::NoAnswer(Duration::from_secs(10)),
        ] {
            assert_eq!(pause(&fault, 0), None, "{fault:?}");
        }
    }
}

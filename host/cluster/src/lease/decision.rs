//! Decides who may hold the lease, from its content and how long it has not changed. Pure.

use k8s_openapi::api::coordination::v1::LeaseSpec;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The lease does not exist: create it.
    Create,
    /// It is free: take it.
    Take {
        /// How often the holder has changed, including this time.
        changes: i32,
    },
    /// We hold it: renew it.
    Renew,
    /// Another process holds it.
    Wait,
}

/// `silent`: how long the lease has not changed, by our clock.
pub fn decide(me: &str, exists: bool, spec: Option<&LeaseSpec>, silent: Duration) -> Step {
    if !exists {
        return Step::Create;
    }
    let holder = spec
        .and_then(|spec| spec.holder_identity.as_deref())
        .unwrap_or_default();
    if holder == me {
        return Step::Renew;
    }
    let length = spec
        .and_then(|spec| spec.lease_duration_seconds)
        .and_then(|seconds| u64::try_from(seconds).ok());
    let length = length.map_or(super::LEASE_DURATION, Duration::from_secs);
    if holder.is_empty() || silent > length {
        let changes = spec.and_then(|spec| spec.lease_transitions).unwrap_or(0);
        return Step::Take {
            changes: changes.saturating_add(1),
        };
    }
    Step::Wait
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn held(holder: &str, seconds: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.into()),
            lease_duration_seconds: Some(seconds),
            lease_transitions: Some(3),
            ..LeaseSpec::default()
        }
    }

    #[test]
    fn a_living_holder_is_waited_for_and_a_silent_one_replaced() {
        let lease = held("other", 15);
        let after = |seconds| decide("me", true, Some(&lease), Duration::from_secs(seconds));
        assert_eq!(after(15), Step::Wait);
        assert_eq!(after(16), Step::Take { changes: 4 });
    }

    #[test]
    fn a_lease_given_back_is_free_at_once() {
        assert_eq!(
            decide("me", true, Some(&held("", 1)), Duration::ZERO),
            Step::Take { changes: 4 }
        );
        assert_eq!(decide("me", true, None, Duration::ZERO), Step::Take { changes: 1 });
        assert_eq!(decide("me", false, None, Duration::ZERO), Step::Create);
    }

    #[test]
    fn a_leader_stops_before_another_may_start() {
        assert!(super::super::RENEW_TIMEOUT + super::super::READ_INTERVAL < super::super::LEASE_DURATION);
        let one_dead_connection = super::super::READ_INTERVAL + super::super::ANSWER_TIMEOUT;
        assert!(
            one_dead_connection + super::super::ANSWER_TIMEOUT < super::super::RENEW_TIMEOUT,
            "there is no time for a second try"
        );
    }

    proptest! {
        #[test]
        fn a_lease_that_changed_within_its_length_is_not_taken(me in "[a-c]", holder in "[a-c]", length in 1..100_i32, silent in 0..200_u64) {
            let step = decide(&me, true, Some(&held(&holder, length)), Duration::from_secs(silent));
            prop_assert_eq!(step == Step::Renew, me == holder);
            let taken = matches!(step, Step::Take { .. });
            prop_assert!(!taken || silent > length.unsigned_abs().into());
        }
    }
}
